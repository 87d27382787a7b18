package exec

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
)

func (c *compiler) service(n *algebra.Service, in stream, g graphs, depth int) (stream, error) {
	if c.query.opts.Services == nil {
		if n.Silent {
			return in, nil
		}
		return stream{}, fmt.Errorf("%w, at %s: who runs the store allows hosts by name (serve --allow-host)", ErrService, n.Pos)
	}
	var columns algebra.Set
	s := &service{
		q: c.query, in: in.op, name: n.Name, silent: n.Silent, pos: n.Pos, text: n.Group.String(), columns: n.Columns,
		holder: holder{account: &c.query.account, name: "service"},
		block:  newBatch(c.query.width), some: newBatch(c.query.width),
	}
	for _, column := range n.Columns {
		columns.Add(column.Slot)
		s.slots = append(s.slots, column.Slot)
	}
	if !in.start && !c.substitute && !n.Name.IsVar() && columns.Intersect(in.possible).Len() == 0 {
		return c.hashed(n, in, g, depth) // nothing to send: one request for all
	}
	name := n.Name.Term.String()
	if n.Name.IsVar() {
		name = "?" + c.body.Scope.Name(n.Name.Slot)
	}
	if c.want != nil {
		c.want.got = false
	}
	in.possible = union(in.possible, columns)
	in.sequence = false
	return c.traced(in, s, "service", name+" "+c.names(columns), in.plan), nil
}
