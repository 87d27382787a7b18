// Variables bound to numbers of the columns' dictionary: where they become terms.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// terms returns s with terms in place of the numbers of some variables.
func (c *compiler) terms(s stream, of algebra.Set) stream {
	some := s.numbers.Intersect(of)
	if some.Len() == 0 {
		return s
	}
	start := s.start
	s.numbers = s.numbers.Without(some)
	s = c.traced(s, &exec.Terms{Exec: c.query, Input: s.op, Slots: some.Slots()}, "terms", names(c.body.Scope, some), s.plan)
	s.start = start
	return s
}

// alike returns both sides of a join with each common variable either as numbers or as terms on both.
func (c *compiler) alike(left, right stream) (stream, stream) {
	numbers := c.unionNumbers([]stream{left, right})
	return c.terms(left, left.numbers.Without(numbers)), c.terms(right, right.numbers.Without(numbers))
}

// unionNumbers returns the variables that are numbers in each stream that may bind them.
func (c *compiler) unionNumbers(streams []stream) (numbers algebra.Set) {
	for _, s := range streams {
		numbers = numbers.Union(s.numbers)
	}
	for _, s := range streams {
		numbers = numbers.Without(s.possible.Without(s.numbers))
	}
	return numbers
}
