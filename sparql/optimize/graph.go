// GRAPH: over which nodes one scan serves all graphs.

package optimize

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// OneScan reports whether GRAPH ?g over n may become patterns with the graph as a fourth
// variable. Every solution must bind it, and no node between may read it.
func OneScan(n algebra.Node, slot int) bool {
	// All leaves must be patterns.
	switch n := n.(type) {
	case *algebra.BGP:
		_, possible := algebra.Vars(n)
		return len(n.Patterns) > 0 && !possible.Has(slot)
	case *algebra.TextJoin:
		_, possible := algebra.Vars(n)
		return !possible.Has(slot) // it binds the graph of each literal
	case *algebra.Unfold:
		_, possible := algebra.Vars(n)
		return !possible.Has(slot) // the pattern with its term has the graph
	case *algebra.Join, *algebra.Filter, *algebra.LeftJoin, *algebra.Union:
		inputs := algebra.Inputs(n)
		for _, in := range inputs {
			if !OneScan(in, slot) {
				return false
			}
		}
		for _, e := range algebra.Exprs(n) {
			if ast.AnyExpr(e, func(x ast.Expr) bool {
				v, isVar := x.(*ast.Var)
				_, isExists := x.(*ast.Exists)
				return isExists || isVar && v.Slot == slot
			}) {
				return false
			}
		}
		return len(inputs) > 0
	}
	return false
}

// Matches reports whether n has a pattern. If so, an empty graph does not match.
func Matches(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.BGP:
		return len(n.Patterns) > 0
	case *algebra.Unit, *algebra.Table, *algebra.Path, *algebra.Union, *algebra.Group:
		return false
	case *algebra.LeftJoin:
		return Matches(n.Left)
	case *algebra.Minus:
		return Matches(n.Left)
	}
	for _, in := range algebra.Inputs(n) {
		if Matches(in) {
			return true
		}
	}
	return false
}
