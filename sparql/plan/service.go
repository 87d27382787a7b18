// SERVICE becomes an operator.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/service"
	"github.com/trefoildb/trefoil/sparql/plan/build"
)

// service joins in with the answers of another endpoint.
func (c *compiler) service(n *algebra.Service, in build.Stream, at build.Scope) (build.Stream, error) {
	// 1. SERVICE may be off. SILENT then leaves the solutions as they are.
	if c.Exec.Options.Services == nil {
		if n.Silent {
			return in, nil
		}
		return build.Stream{}, fmt.Errorf("%w, at %s: who runs the store allows hosts by name (serve --allow-host)", exec.ErrService, n.Pos)
	}
	var columns algebra.Set
	s := &service.Join{
		Exec: c.Exec, Input: in.Op, Name: n.Name, Silent: n.Silent, Pos: n.Pos, Text: n.Group.String(), Columns: n.Columns,
		Holder: c.Exec.Account.NewHolder("service"),
		Block:  c.Exec.NewBatch(), Some: c.Exec.NewBatch(),
	}
	// Each column is a variable of the pattern, so a request may carry its bindings.
	for _, column := range n.Columns {
		columns.Add(column.Slot)
		s.Slots = append(s.Slots, column.Slot)
	}
	// 2. If no binding can be sent, one request serves all rows.
	if !in.Start && !at.Substitutes() && !n.Name.IsVar() && columns.Intersect(in.Possible).Len() == 0 {
		return c.hashed(n, in, at) // nothing to send: one request for all
	}
	// 3. Answers come in any order, so the result has no sequence.
	in.Possible = in.Possible.Union(columns)
	in.Sequence, in.Sorted = false, false
	return c.Traced(in, s, "service", func() string { return c.EndText(n.Name) + " " + c.VarsText(columns)() }, in.Plan), nil
}
