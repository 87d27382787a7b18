// SERVICE becomes an operator.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/service"
)

func (c *compiler) service(n *algebra.Service, in stream, g pattern.Graphs, depth int) (stream, error) {
	// 1. SERVICE may be off. SILENT then leaves the solutions as they are.
	if c.query.Options.Services == nil {
		if n.Silent {
			return in, nil
		}
		return stream{}, fmt.Errorf("%w, at %s: who runs the store allows hosts by name (serve --allow-host)", ErrService, n.Pos)
	}
	var columns algebra.Set
	s := &service.Join{
		Exec: c.query, Input: in.op, Name: n.Name, Silent: n.Silent, Pos: n.Pos, Text: n.Group.String(), Columns: n.Columns,
		Holder: c.query.Account.NewHolder("service"),
		Block:  c.query.NewBatch(), Some: c.query.NewBatch(),
	}
	// Each column is a variable of the pattern, so a request may carry its bindings.
	for _, column := range n.Columns {
		columns.Add(column.Slot)
		s.Slots = append(s.Slots, column.Slot)
	}
	// 2. If no binding can be sent, one request serves all rows.
	if !in.start && !c.substitute && !n.Name.IsVar() && columns.Intersect(in.possible).Len() == 0 {
		return c.hashed(n, in, g, depth) // nothing to send: one request for all
	}
	// 3. Answers come in any order, so the result has no sequence.
	if c.want != nil {
		c.want.got = false
	}
	in.possible = in.possible.Union(columns)
	in.sequence = false
	return c.traced(in, s, "service", func() string { return c.endText(n.Name) + " " + names(c.body.Scope, columns)() }, in.plan), nil
}
