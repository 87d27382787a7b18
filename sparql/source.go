package sparql

import "github.com/trefoildb/trefoil/sparql/exec"

// Source is a consistent state of a store, as queries read it.
type Source = exec.Source

// Rows iterates over version rows of a [Source].
type Rows = exec.Rows
