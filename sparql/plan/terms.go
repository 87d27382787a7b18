// Variables bound to numbers of the columns' dictionary: where they become terms.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// terms returns s with terms in place of the numbers of some variables.
func (q *query) terms(s stream, of algebra.Set) stream {
	some := s.numbers.Intersect(of)
	if some.Len() == 0 {
		return s
	}
	start := s.start
	s.numbers = s.numbers.Minus(some)
	s = q.traced(s, &exec.Terms{Exec: q.exec, Input: s.op, Slots: some.Slots()}, "terms", q.names(some), s.plan)
	s.start = start
	return s
}

// alike returns both sides of a join with each common variable either as numbers or as terms on both.
func (q *query) alike(left, right stream) (stream, stream) {
	numbers := unionNumbers([]stream{left, right})
	return q.terms(left, left.numbers.Minus(numbers)), q.terms(right, right.numbers.Minus(numbers))
}

// unionNumbers returns the variables that are numbers in each stream that may bind them.
func unionNumbers(streams []stream) (numbers algebra.Set) {
	for _, s := range streams {
		numbers = numbers.Union(s.numbers)
	}
	for _, s := range streams {
		numbers = numbers.Minus(s.possible.Minus(s.numbers))
	}
	return numbers
}
