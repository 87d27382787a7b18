// FILTER: what did not run inside the join below.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// filter passes the rows of the input for which the conditions hold.
func (c *compiler) filter(n *algebra.Filter, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	// 1. Conditions may run inside the input, as soon as their variables are bound. Such a condition depends on variables
	// that each row binds, and on nothing else.
	certain, _ := c.Variables.Vars(n.Input)
	below := at.Filtered(cost.Restrictions(at.Ranges, n.Conds), c.WaitFor(at.Waiting, n.Conds, certain))
	out, err := c.compile(n.Input, in, below, want)
	if err != nil {
		return in, err
	}
	// 2. The others run over its rows.
	others := build.Undone(n.Conds, below.Waiting)
	conds, err := build.CompileExprs(others)
	if err != nil {
		return in, err
	}
	if len(conds) > 0 {
		env, plans, err := c.newEnv(at, others, out)
		if err != nil {
			return in, err
		}
		f := &exec.Filter{Exec: c.Exec, Input: out.Op, Conditions: conds, Slots: c.OnlySlots(others), Nodes: c.NodeTests(others), Env: env}
		out = c.Traced(out, f, "filter", build.ExprText(others), append([]*explain.Plan{out.Plan}, plans...)...)
	}
	return out, nil
}
