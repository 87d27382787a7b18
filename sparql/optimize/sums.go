// COUNT over a UNION: the sum of the counts over its branches.

package optimize

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// sum adds up the counts of a group over the branches of a union; nil if the input has none, or the group does more. The
// counts of a branch may need no rows, and each branch has its own order of joins.
func (p *passes) sum(group *algebra.Group, at place) algebra.Node {
	more := func(a algebra.Aggregate) bool { return a.Agg.Func != ast.AggCount || a.Agg.Distinct }
	if len(group.Keys) > 0 || len(group.Aggregates) == 0 || at.columns == nil || slices.ContainsFunc(group.Aggregates, more) {
		return nil
	}
	var counts []algebra.Node
	for _, branch := range branches(group.Input, at) {
		counts = append(counts, &algebra.Group{Input: branch, Aggregates: group.Aggregates})
	}
	if counts == nil {
		return nil
	}
	sum := &algebra.Group{Input: &algebra.Union{Args: counts}}
	for _, a := range group.Aggregates {
		of := &ast.Var{Name: p.body.Scope.Name(a.Slot), Slot: a.Slot}
		sum.Aggregates = append(sum.Aggregates, algebra.Aggregate{Agg: &ast.Aggregate{Func: ast.AggSum, Arg: of}, Slot: a.Slot})
	}
	return sum
}

// branches returns nodes whose solutions together are those of n; nil if n has no union, or its other
// parts would run once for each branch and need not be joins over columns.
func branches(n algebra.Node, at place) (out []algebra.Node) {
	switch n := n.(type) {
	case *algebra.Union:
		return n.Args
	case *algebra.Filter:
		// A condition holds for a solution, whatever the others are.
		if !slices.ContainsFunc(n.Conds, func(e ast.Expr) bool { return !OfRowAlone(e) }) {
			for _, branch := range branches(n.Input, at) {
				out = append(out, &algebra.Filter{Input: branch, Conds: n.Conds})
			}
		}
	case *algebra.Join:
		i := slices.IndexFunc(n.Args, func(arg algebra.Node) bool { _, ok := arg.(*algebra.Union); return ok })
		if i < 0 || !at.overColumns(n.Args[i].(*algebra.Union).Args) || !at.overColumns(slices.Delete(slices.Clone(n.Args), i, i+1)) {
			return nil
		}
		for _, branch := range n.Args[i].(*algebra.Union).Args {
			args := slices.Clone(n.Args)
			args[i] = branch
			out = append(out, &algebra.Join{Args: args})
		}
	}
	return out
}

// overColumns reports whether all nodes are patterns over columns.
func (at place) overColumns(nodes []algebra.Node) bool {
	return !slices.ContainsFunc(nodes, func(n algebra.Node) bool {
		bgp, ok := n.(*algebra.BGP)
		return !ok || slices.ContainsFunc(bgp.Patterns, func(p algebra.TriplePattern) bool {
			_, ok := at.column(&p)
			return !ok
		})
	})
}
