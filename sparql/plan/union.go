// UNION: the rows of each branch, one after the other. LATERAL: the right side runs for each row of the left.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// union joins in with the rows of each argument.
func (c *compiler) union(n *algebra.Union, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	// 1. If there are solutions so far, each branch starts from a feed of them.
	lateral := !in.Start
	below := at
	want = want.AnySequence()
	if lateral {
		below, want = at.WithFeed(in).Filtered(at.Ranges, nil), order.Request{}
	}
	// 2. Compile the branches. A variable is certain only if all of them bind it.
	var branches []build.Stream
	out := build.Stream{}
	for i, arg := range n.Args {
		s, err := c.compile(arg, below.Begin(), below, want)
		if err != nil {
			return in, err
		}
		if s.Start && s.Plan == nil {
			s.Plan = build.NewPlan("unit", nil, 1)
		}
		branches = append(branches, s)
		out.Rows += s.Rows
		out.Possible = out.Possible.Union(s.Possible)
		if i == 0 {
			out.Certain = s.Certain
		} else {
			out.Certain = out.Certain.Intersect(s.Certain)
		}
	}
	// 3. Give their rows one after the other, for all of the input or for each batch.
	out.Numbers = build.UnionNumbers(branches)
	concat := &exec.Concat{}
	var plans []*explain.Plan
	for _, s := range branches {
		s = c.Terms(s, s.Numbers.Minus(out.Numbers))
		concat.Inputs, plans = append(concat.Inputs, s.Op), append(plans, s.Plan)
	}
	if !lateral {
		return c.Traced(out, concat, "union", nil, plans...), nil
	}
	u := &exec.Lateral{Exec: c.Exec, Input: in.Op, Feed: below.Outer.Feed, Inner: concat, Batch: c.Exec.NewBatch()}
	out.Rows *= max(1, in.Rows/solution.BatchRows)
	return c.Traced(out, u, "union of each row", nil, append([]*explain.Plan{in.Plan}, plans...)...), nil
}

// lateral joins each row of the left side with the right side, which starts from it.
func (c *compiler) lateral(n *algebra.Lateral, in build.Stream, at build.Scope) (build.Stream, error) {
	left, err := c.compile(n.Left, in, at, order.Request{})
	if err != nil {
		return in, err
	}
	inside := at.Correlated(left, nil)
	right, err := c.compile(n.Right, inside.Begin(), inside, order.Request{})
	if err != nil {
		return in, err
	}
	// A batch of rows may start together if nothing on the right looks at more than one row at a time.
	l := &exec.Lateral{
		Exec: c.Exec, Input: left.Op, Feed: inside.Outer.Feed, Inner: right.Op, Batch: c.Exec.NewBatch(),
		RowByRow: *inside.Outer.Mixed || !c.Variables.Structural(n.Right), Single: c.Exec.NewBatch(),
	}
	out := right
	out.Sequence = false
	out.Rows = right.Rows * max(1, left.Rows/solution.BatchRows)
	if l.RowByRow {
		out.Rows = left.Rows * max(1, right.Rows/solution.BatchRows)
	}
	return c.Traced(out, l, "lateral join", nil, left.Plan, right.Plan), nil
}
