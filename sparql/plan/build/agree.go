// Bindings that must be those of the rows around.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// Agreeing drops the rows in which an operator has bound one of some variables otherwise than the feed.
func (q *Query) Agreeing(s Stream, bound []int, at Scope) Stream {
	if at.Outer == nil {
		return s
	}
	both := at.Outer.Possible.Intersect(algebra.SetOf(bound...))
	if both.Len() == 0 {
		return s
	}
	s.Certain = s.Certain.Union(at.Outer.Certain.Intersect(both))
	op := &exec.Agree{Exec: q.Exec, Input: s.Op, Feed: at.Outer.Feed, Slots: both.Slots()}
	return q.Traced(s, op, "equal to the outer pattern", q.VarsText(both), s.Plan)
}
