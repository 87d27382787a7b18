// Projections, LIMIT and OFFSET.

package plan

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

// project keeps some variables.
func (c *compiler) project(n *algebra.Project, in stream, at scope, want request) (stream, error) {
	out, err := c.compile(n.Input, in, at.projecting(), want.anySequence())
	if err != nil {
		return in, err
	}
	p := &exec.Project{Input: out.op, Keep: make([]bool, c.exec.Width)}
	var kept algebra.Set
	if at.lateral() {
		kept.AddAll(at.outer.possible)
	}
	for _, slot := range n.Slots {
		kept.Add(slot)
	}
	for slot := range kept.All {
		p.Keep[slot] = true
	}
	out.certain, out.possible, out.numbers = out.certain.Intersect(kept), out.possible.Intersect(kept), out.numbers.Intersect(kept)
	return c.traced(out, p, "project", c.names(kept), out.plan), nil
}

// slice leaves out the first rows, and ends after the last one wanted.
func (c *compiler) slice(n *algebra.Slice, in stream, at scope) (stream, error) {
	needed, _ := optimize.Needed(n)
	out, err := c.compile(n.Input, in, at.unfiltered(), request{goal: needed})
	if err != nil {
		return in, err
	}
	s := &exec.Slice{Input: out.op, Offset: n.Offset - n.Skipped, Limit: n.Limit}
	if n.Limit != ast.NoLimit {
		out.rows = min(out.rows, float64(n.Limit))
	}
	return c.traced(out, s, explain.SliceOperator, func() string { return sliceText(n) }, out.plan), nil
}

func sliceText(n *algebra.Slice) string {
	text := ""
	if n.Limit != ast.NoLimit {
		text = fmt.Sprintf("limit %d", n.Limit)
	}
	if n.Offset > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s offset %d", text, n.Offset))
	}
	return text
}

// seek reads one pattern from a binding of its variable on.
func (c *compiler) seek(n *algebra.Seek, in stream, at scope, want request) (stream, error) {
	at = at.filtered(map[int]pattern.Restriction{n.Slot: {Spans: []pattern.Span{{Lo: n.Lo, Hi: n.Hi}}}}, nil)
	return c.part(at, want).patterns(n.Input.Patterns, in)
}
