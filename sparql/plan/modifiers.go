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
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// project keeps some variables.
func (c *compiler) project(n *algebra.Project, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	out, err := c.compile(n.Input, in, at.Projecting(), want.AnySequence())
	if err != nil {
		return in, err
	}
	p := &exec.Project{Input: out.Op, Keep: make([]bool, c.Exec.Width)}
	var kept algebra.Set
	if at.Lateral() {
		kept.AddAll(at.Outer.Possible)
	}
	for _, slot := range n.Slots {
		kept.Add(slot)
	}
	for slot := range kept.All {
		p.Keep[slot] = true
	}
	out.Certain, out.Possible, out.Numbers = out.Certain.Intersect(kept), out.Possible.Intersect(kept), out.Numbers.Intersect(kept)
	return c.Traced(out, p, "project", c.VarsText(kept), out.Plan), nil
}

// slice leaves out the first rows, and ends after the last one wanted.
func (c *compiler) slice(n *algebra.Slice, in build.Stream, at build.Scope) (build.Stream, error) {
	needed, _ := optimize.Needed(n)
	out, err := c.compile(n.Input, in, at.Unfiltered(), order.Request{Goal: needed})
	if err != nil {
		return in, err
	}
	s := &exec.Slice{Input: out.Op, Offset: n.Offset - n.Skipped, Limit: n.Limit}
	if n.Limit != ast.NoLimit {
		out.Rows = min(out.Rows, float64(n.Limit))
	}
	return c.Traced(out, s, explain.SliceOperator, func() string { return sliceText(n) }, out.Plan), nil
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
func (c *compiler) seek(n *algebra.Seek, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	at = at.Filtered(map[int]pattern.Restriction{n.Slot: {Spans: []pattern.Span{{Lo: n.Lo, Hi: n.Hi}}}}, nil)
	return c.part(at, want).Patterns(n.Input.Patterns, in)
}
