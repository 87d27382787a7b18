// COUNT over a UNION: the sum of the counts over its branches.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
)

// unionCount returns a group that adds up the counts of n over the branches of a union; nil if n is
// anything else. The counts of a branch may need no rows, and each branch has its own order of joins.
func (c *compiler) unionCount(n *algebra.Group, g pattern.Graphs) *algebra.Group {
	if len(n.Keys) > 0 || len(n.Aggregates) == 0 || c.feed != nil || c.columns == nil {
		return nil
	}
	for _, a := range n.Aggregates {
		if a.Agg.Func != ast.AggCount || a.Agg.Distinct {
			return nil
		}
	}
	var counts []algebra.Node
	for _, branch := range c.branches(n.Input, g) {
		counts = append(counts, &algebra.Group{Input: branch, Aggregates: n.Aggregates})
	}
	if counts == nil {
		return nil
	}
	sum := &algebra.Group{Input: &algebra.Union{Args: counts}}
	for _, a := range n.Aggregates {
		of := &ast.Var{Name: c.body.Scope.Name(a.Slot), Slot: a.Slot}
		sum.Aggregates = append(sum.Aggregates, algebra.Aggregate{Agg: &ast.Aggregate{Func: ast.AggSum, Arg: of}, Slot: a.Slot})
	}
	return sum
}

// branches returns nodes whose solutions together are those of n; nil if n has no union, or its other
// parts would run once for each branch and need not be joins over columns.
func (c *compiler) branches(n algebra.Node, g pattern.Graphs) (out []algebra.Node) {
	switch n := n.(type) {
	case *algebra.Union:
		return n.Args
	case *algebra.Filter:
		// A condition holds for a solution, whatever the others are.
		if !slices.ContainsFunc(n.Conds, func(e ast.Expr) bool { return !ofRowAlone(e) }) {
			for _, branch := range c.branches(n.Input, g) {
				out = append(out, &algebra.Filter{Input: branch, Conds: n.Conds})
			}
		}
	case *algebra.Join:
		i := slices.IndexFunc(n.Args, func(arg algebra.Node) bool { _, ok := arg.(*algebra.Union); return ok })
		if i < 0 || !c.overColumns(n.Args[i].(*algebra.Union).Args, g) || !c.overColumns(slices.Delete(slices.Clone(n.Args), i, i+1), g) {
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
func (c *compiler) overColumns(nodes []algebra.Node, g pattern.Graphs) bool {
	return !slices.ContainsFunc(nodes, func(n algebra.Node) bool {
		bgp, ok := n.(*algebra.BGP)
		return !ok || slices.ContainsFunc(bgp.Patterns, func(p algebra.TriplePattern) bool {
			return c.column(newPattern(p.Subject, p.Predicate, p.Object, g, nil)) == nil
		})
	})
}
