// SERVICE becomes an operator.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/service"
)

// service joins in with the answers of another endpoint.
func (c *compiler) service(n *algebra.Service, in stream, at scope) (stream, error) {
	// 1. SERVICE may be off. SILENT then leaves the solutions as they are.
	if c.exec.Options.Services == nil {
		if n.Silent {
			return in, nil
		}
		return stream{}, fmt.Errorf("%w, at %s: who runs the store allows hosts by name (serve --allow-host)", ErrService, n.Pos)
	}
	var columns algebra.Set
	s := &service.Join{
		Exec: c.exec, Input: in.op, Name: n.Name, Silent: n.Silent, Pos: n.Pos, Text: n.Group.String(), Columns: n.Columns,
		Holder: c.exec.Account.NewHolder("service"),
		Block:  c.exec.NewBatch(), Some: c.exec.NewBatch(),
	}
	// Each column is a variable of the pattern, so a request may carry its bindings.
	for _, column := range n.Columns {
		columns.Add(column.Slot)
		s.Slots = append(s.Slots, column.Slot)
	}
	// 2. If no binding can be sent, one request serves all rows.
	if !in.start && !at.substitutes() && !n.Name.IsVar() && columns.Intersect(in.possible).Len() == 0 {
		return c.hashed(n, in, at) // nothing to send: one request for all
	}
	// 3. Answers come in any order, so the result has no sequence.
	in.possible = in.possible.Union(columns)
	in.sequence, in.sorted = false, false
	return c.traced(in, s, "service", func() string { return c.endText(n.Name) + " " + c.names(columns)() }, in.plan), nil
}
