// LATERAL: the right side runs for each row of the left.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

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
