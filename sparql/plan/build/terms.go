// Variables bound to numbers of the columns' dictionary: where they become terms.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// Terms returns s with terms in place of the numbers of some variables.
func (q *Query) Terms(s Stream, of algebra.Set) Stream {
	some := s.Numbers.Intersect(of)
	if some.Len() == 0 {
		return s
	}
	start := s.Start
	s.Numbers = s.Numbers.Minus(some)
	s = q.Traced(s, &exec.Terms{Exec: q.Exec, Input: s.Op, Slots: some.Slots()}, "terms", q.VarsText(some), s.Plan)
	s.Start = start
	return s
}

// SameForms returns both sides of a join with each common variable either as numbers or as terms on both.
func (q *Query) SameForms(left, right Stream) (Stream, Stream) {
	numbers := UnionNumbers([]Stream{left, right})
	return q.Terms(left, left.Numbers.Minus(numbers)), q.Terms(right, right.Numbers.Minus(numbers))
}

// UnionNumbers returns the variables that are numbers in each stream that may bind them.
func UnionNumbers(streams []Stream) (numbers algebra.Set) {
	for _, s := range streams {
		numbers = numbers.Union(s.Numbers)
	}
	for _, s := range streams {
		numbers = numbers.Minus(s.Possible.Minus(s.Numbers))
	}
	return numbers
}
