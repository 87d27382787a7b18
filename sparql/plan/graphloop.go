// GRAPH: one graph, all graphs in one scan, or one after the other.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// graph joins in with the solutions of a graph, or of each.
func (c *compiler) graph(n *algebra.Graph, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	set := c.dataset.namedSet()
	// 1. A graph by name. If it does not exist there is no solution, even of an empty pattern.
	if !n.Name.IsVar() {
		key := n.Name.Key
		exists := set == nil || set[key]
		if exists && set == nil && !optimize.Matches(n.Input) {
			var err error
			if exists, err = c.Exec.HasGraph(key); err != nil {
				return in, err
			}
		}
		out, err := c.compile(n.Input, in, at.WithGraphs(pattern.Graphs{Mode: pattern.OneGraph, Name: &key}), want)
		if err != nil || exists {
			return out, err
		}
		out.Rows = 0
		return c.Traced(out, exec.Empty{}, "no such graph", n.Name.Term.String), nil
	}
	// 2. If patterns may have the variable as a fourth position, one scan serves all graphs.
	if optimize.OneScan(n.Input, n.Name.Slot) {
		return c.compile(n.Input, in, at.WithGraphs(pattern.Graphs{Mode: pattern.EachGraph, Slot: n.Name.Slot, Set: set}), want)
	}
	// 3. Otherwise the input runs once for each graph, and its patterns share the name.
	name := ""
	below := at.Unfiltered().WithGraphs(pattern.Graphs{Mode: pattern.OneGraph, Name: &name})
	below.Looped = true
	out, err := c.compile(n.Input, in, below, order.Request{})
	if err != nil {
		return in, err
	}
	loop := &exec.GraphLoop{Exec: c.Exec, Input: out.Op, Name: &name, Slot: n.Name.Slot}
	if set != nil {
		loop.Only = []string{}
		for _, iri := range c.dataset.Named {
			loop.Only = append(loop.Only, solution.Encode(triple.NewIRI(iri)))
		}
	}
	out.Bind(n.Name.Slot)
	return c.Traced(out, loop, "each graph", c.VarsText(algebra.SetOf(n.Name.Slot)), out.Plan), nil
}
