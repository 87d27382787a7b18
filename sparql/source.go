// Names of package source for callers of this package.

package sparql

import (
	"github.com/trefoildb/trefoil/sparql/source"
)

// Source is a consistent state of a store, as queries read it.
type Source = source.Source

// Rows iterates over version rows of a [Source].
type Rows = source.Rows
