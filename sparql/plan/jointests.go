// Waiting conditions in the order of joins: rows that pass, and equalities that link patterns.

package plan

import (
	"slices"
)

// test is a waiting condition with the search's numbers of its variables.
type test struct {
	cond *condition
	vars []int // without those that the rows before the patterns bind
	// left and right are the variables of an equality, negative for other conditions.
	left, right int
}

// newTests returns the waiting conditions that the patterns can make ready. number has the number of
// each slot.
func (p *search) newTests(number map[int]int) (tests []test) {
	for _, cond := range p.part.at.waiting {
		if cond.done {
			continue
		}
		t, ok := test{cond: cond, left: -1, right: -1}, true
		for _, slot := range cond.uses {
			v, known := number[slot]
			if known {
				t.vars = append(t.vars, v)
			}
			ok = ok && (known || p.in.certain.Has(slot))
		}
		if !ok || len(t.vars) == 0 {
			continue
		}
		if l, ok := number[cond.left]; ok && len(t.vars) == 2 {
			t.left, t.right = l, number[cond.right]
		}
		tests = append(tests, t)
	}
	return tests
}

// ready reports whether bindings have all variables of a test.
func (t *test) ready(distinct []float64) bool {
	return !slices.ContainsFunc(t.vars, func(v int) bool { return distinct[v] == 0 })
}

// share returns the expected share of rows that pass an equality between bindings of a state and a
// pattern.
func (t *test) share(distinct []float64, one *candidate) float64 {
	most := max(distinct[t.left], distinct[t.right], 1)
	for position, v := range one.local {
		if v >= 0 && (v == t.left || v == t.right) {
			most = max(most, one.distinct[position])
		}
	}
	return 1 / most
}

// pass lowers the rows of a state by the tests that are ready now and were not with the bindings of
// from.
func (p *search) pass(s *joinState, from []float64) {
	for i := range p.tests {
		t := &p.tests[i]
		if !t.ready(s.distinct) || t.ready(from) {
			continue
		}
		s.cost += s.rows * costKey
		if t.left >= 0 {
			s.rows /= max(s.distinct[t.left], s.distinct[t.right], 1)
		} else {
			s.rows *= t.cond.share
		}
		for v, d := range s.distinct {
			if d > s.rows {
				s.distinct[v] = max(s.rows, 0.05)
			}
		}
	}
}

// equalitiesOf returns the equalities among tests of each variable, by their places, in ascending order.
func equalitiesOf(tests []test) map[int][]int {
	of := map[int][]int{}
	for i, t := range tests {
		if t.left >= 0 {
			of[t.left] = append(of[t.left], i)
			of[t.right] = append(of[t.right], i)
		}
	}
	return of
}

// equality returns the first test that links a variable of a state with one of a pattern that the state does
// not bind; nil if there is none. It looks at the tests of the pattern's variables only, because a search asks
// for each pattern in each step.
func (p *search) equality(s *joinState, one *candidate) *test {
	first := len(p.tests)
	for _, free := range one.local {
		if free < 0 || s.distinct[free] > 0 {
			continue
		}
		for _, i := range p.equalities[free] {
			t := &p.tests[i]
			if i < first && s.distinct[t.left+t.right-free] > 0 {
				first = i
			}
			if i >= first {
				break
			}
		}
	}
	if first == len(p.tests) {
		return nil
	}
	return &p.tests[first]
}
