// GRAPH: one graph, all graphs in one scan, or one after the other.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// pushable reports whether GRAPH ?g over n may become patterns with the graph as a fourth
// variable. Every solution must bind it, and no node between may read it.
func pushable(n algebra.Node, slot int) bool {
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
			if !pushable(in, slot) {
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

// matches reports whether n has a pattern. If so, an empty graph does not match.
func matches(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.BGP:
		return len(n.Patterns) > 0
	case *algebra.Unit, *algebra.Table, *algebra.Path, *algebra.Union, *algebra.Group:
		return false
	case *algebra.LeftJoin:
		return matches(n.Left)
	case *algebra.Minus:
		return matches(n.Left)
	}
	for _, in := range algebra.Inputs(n) {
		if matches(in) {
			return true
		}
	}
	return false
}

func (c *compiler) graph(n *algebra.Graph, in stream, depth int) (stream, error) {
	set := c.dataset.namedSet()
	// 1. A graph by name. If it does not exist there is no solution, even of an empty pattern.
	if !n.Name.IsVar() {
		key := n.Name.Key
		exists := set == nil || set[key]
		if exists && set == nil && !matches(n.Input) {
			var err error
			if exists, err = c.query.HasGraph(key); err != nil {
				return in, err
			}
		}
		out, err := c.compile(n.Input, in, pattern.Graphs{Mode: pattern.OneGraph, Name: &key}, depth)
		if err != nil || exists {
			return out, err
		}
		out.rows = 0
		return c.traced(out, exec.Empty{}, "no such graph", n.Name.Term.String), nil
	}
	// 2. If patterns may have the variable as a fourth position, one scan serves all graphs.
	if pushable(n.Input, n.Name.Slot) {
		return c.compile(n.Input, in, pattern.Graphs{Mode: pattern.EachGraph, Slot: n.Name.Slot, Set: set}, depth)
	}
	// 3. Otherwise the input runs once for each graph, and its patterns share the name.
	name := ""
	sub := c.alone()
	sub.looped = true
	out, err := sub.compile(n.Input, in, pattern.Graphs{Mode: pattern.OneGraph, Name: &name}, depth)
	if err != nil {
		return in, err
	}
	loop := &exec.GraphLoop{Exec: c.query, Input: out.op, Name: &name, Slot: n.Name.Slot}
	if set != nil {
		loop.Only = []string{}
		for _, iri := range c.dataset.Named {
			loop.Only = append(loop.Only, solution.Encode(triple.NewIRI(iri)))
		}
	}
	out.bind(n.Name.Slot)
	return c.traced(out, loop, "each graph", names(c.body.Scope, setOf([]int{n.Name.Slot})), out.plan), nil
}
