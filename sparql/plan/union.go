// UNION: the rows of each branch, one after the other. LATERAL: the right side runs for each row of the left.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// union joins in with the rows of each argument.
func (c *compiler) union(n *algebra.Union, in stream, at scope, want request) (stream, error) {
	// 1. If there are solutions so far, each branch starts from a feed of them.
	lateral := !in.start
	below := at
	want = want.anySequence()
	if lateral {
		below, want = at.withFeed(in).filtered(at.ranges, nil), request{}
	}
	// 2. Compile the branches. A variable is certain only if all of them bind it.
	var branches []stream
	out := stream{}
	for i, arg := range n.Args {
		s, err := c.compile(arg, below.begin(), below, want)
		if err != nil {
			return in, err
		}
		if s.start && s.plan == nil {
			s.plan = newPlan("unit", nil, 1)
		}
		branches = append(branches, s)
		out.rows += s.rows
		out.possible = out.possible.Union(s.possible)
		if i == 0 {
			out.certain = s.certain
		} else {
			out.certain = out.certain.Intersect(s.certain)
		}
	}
	// 3. Give their rows one after the other, for all of the input or for each batch.
	out.numbers = unionNumbers(branches)
	concat := &exec.Concat{}
	var plans []*explain.Plan
	for _, s := range branches {
		s = c.terms(s, s.numbers.Minus(out.numbers))
		concat.Inputs, plans = append(concat.Inputs, s.op), append(plans, s.plan)
	}
	if !lateral {
		return c.traced(out, concat, "union", nil, plans...), nil
	}
	u := &exec.Lateral{Exec: c.exec, Input: in.op, Feed: below.outer.feed, Inner: concat, Batch: c.exec.NewBatch()}
	out.rows *= max(1, in.rows/solution.BatchRows)
	return c.traced(out, u, "union of each row", nil, append([]*explain.Plan{in.plan}, plans...)...), nil
}

// lateral joins each row of the left side with the right side, which starts from it.
func (c *compiler) lateral(n *algebra.Lateral, in stream, at scope) (stream, error) {
	left, err := c.compile(n.Left, in, at, request{})
	if err != nil {
		return in, err
	}
	inside := at.correlated(left, nil)
	right, err := c.compile(n.Right, inside.begin(), inside, request{})
	if err != nil {
		return in, err
	}
	// A batch of rows may start together if nothing on the right looks at more than one row at a time.
	l := &exec.Lateral{
		Exec: c.exec, Input: left.op, Feed: inside.outer.feed, Inner: right.op, Batch: c.exec.NewBatch(),
		RowByRow: *inside.outer.mixed || !c.variables.Structural(n.Right), Single: c.exec.NewBatch(),
	}
	out := right
	out.sequence = false
	out.rows = right.rows * max(1, left.rows/solution.BatchRows)
	if l.RowByRow {
		out.rows = left.rows * max(1, right.rows/solution.BatchRows)
	}
	return c.traced(out, l, "lateral join", nil, left.plan, right.plan), nil
}
