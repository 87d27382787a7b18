// LIMIT over ORDER BY: the first rows of a sort.

package optimize

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// maxTop is the greatest limit for a heap. If the limit is greater, all rows are sorted.
const maxTop = 100_000

// Needed returns how many rows of its input a slice needs; 0 and false if these are all of them, or too many for a heap.
func Needed(n *algebra.Slice) (rows int64, ok bool) {
	rows = n.Limit + n.Offset - n.Skipped
	if n.Limit == ast.NoLimit || n.Limit < 0 || rows < 0 || rows > maxTop {
		return 0, false
	}
	return rows, true
}

// top limits a sort below a slice to the rows that the slice needs. Only a projection may stand between them, because
// it neither drops nor adds rows.
func top(_ *passes, n algebra.Node, _ place) algebra.Node {
	slice, ok := n.(*algebra.Slice)
	if !ok {
		return n
	}
	count, ok := Needed(slice)
	if !ok {
		return n
	}
	if input := topOf(slice.Input, count); input != nil {
		return algebra.WithInputs(n, []algebra.Node{input})
	}
	return n
}

// topOf returns a node that gives its first rows only; nil if it is not a projection of a sort.
func topOf(n algebra.Node, count int64) algebra.Node {
	switch n := n.(type) {
	case *algebra.OrderBy:
		return &algebra.Top{Input: n.Input, Keys: n.Keys, Count: count}
	case *algebra.Project:
		if input := topOf(n.Input, count); input != nil {
			return algebra.WithInputs(n, []algebra.Node{input})
		}
	}
	return nil
}
