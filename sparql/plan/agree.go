// Bindings that must be those of the rows around.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// agreeing drops the rows in which an operator has bound one of some variables otherwise than the feed.
func (q *query) agreeing(s stream, bound []int, at scope) stream {
	if at.outer == nil {
		return s
	}
	both := at.outer.possible.Intersect(algebra.SetOf(bound...))
	if both.Len() == 0 {
		return s
	}
	s.certain = s.certain.Union(at.outer.certain.Intersect(both))
	op := &exec.Agree{Exec: q.exec, Input: s.op, Feed: at.outer.feed, Slots: both.Slots()}
	return q.traced(s, op, "equal to the outer pattern", q.names(both), s.plan)
}
