// The options and the node of a graph, as its users see them.

package linkgraph

import (
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
)

// Options are the options of [Open]. The zero value is ready to use.
type Options = machine.Options

// Node is the node of a graph. *cluster.Node implements it.
type Node = derived.Node

const (
	// CopiesOfView is the value of Options.Copies that follows the cluster's number of copies.
	CopiesOfView = machine.CopiesOfView
	// MaxCopies is the greatest number of other machines with the cells of a partition.
	MaxCopies = machine.MaxCopies
)
