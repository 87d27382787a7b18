// The cost model of joins: the rows and the cost after one more pattern.

package order

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// joinModel computes what a join of one more pattern makes of the rows so far. It knows the patterns and what waits
// for their variables, and keeps no state of a search: a joinState has that.
//
// Some patterns are joined in a joinState. It has the rows, how many distinct terms each variable has in them, the
// variable in whose sequence they come, and the cost so far in microseconds. The next one takes two calls, because
// most states lose by their cost, and the bindings take longer:
//
//	join      rows   of the state times the fan of the pattern: its rows, divided for each shared variable by the
//	                 greater number of distinct terms, because the smaller set is assumed to lie in the other
//	          cost   of the method: seeks and rows of a look-up, reading and hashing for a hash join
//	complete  bind   the distinct terms of a variable: the smaller number of both, and at most the rows
//	          pass   conditions that have all their variables now: fewer rows
//
// Invariant: a distinct count that is not 0 stays above 0, because 0 means unbound.
type joinModel struct {
	list   []cost.Candidate
	in     Input
	memory int64 // of the query in bytes
	vars   variables
	tests  []test
	// equalities are the places in tests of the equalities of each variable.
	equalities map[int][]int
	unfolds    plannedUnfolds // the triple term patterns among the patterns
	longs      *algebra.Set   // see longEnds; nil until it is needed
}

// variables numbers the variables of a model from 0 on, so that bindings are slices.
type variables struct {
	slots   []int       // by number
	numbers map[int]int // by slot
}

// number returns the number of a variable. A new one gets the next number.
func (v *variables) number(slot int) int {
	n, ok := v.numbers[slot]
	if !ok {
		n = len(v.slots)
		v.numbers[slot] = n
		v.slots = append(v.slots, slot)
	}
	return n
}

// joinState is the best known way to join a set of patterns.
type joinState struct {
	reached    bool
	method     Method
	last       int32 // pattern joined last; negative: see method
	sorted     int32 // variable in whose sequence rows come; negative for none
	cost, rows float64
	equality   *Condition // of ByEquality
	risk       float64    // cost of reads without a result if all rows without a match come first
	distinct   []float64  // bindings by variable; 0: not bound
}

// newJoinModel returns the model of a list of patterns, and numbers the variables in the list. memory is the query's, in bytes.
func newJoinModel(list []cost.Candidate, in Input, memory int64) *joinModel {
	m := &joinModel{list: list, in: in, memory: memory, vars: variables{numbers: map[int]int{}}}
	for i := range list {
		one := &list[i]
		for position, at := range one.Pat.Places {
			one.Local[position] = -1
			if at.Slot < 0 {
				continue
			}
			v := m.vars.number(at.Slot)
			one.Same = one.Same || slices.Contains(one.Local[:position], v)
			one.Local[position] = v
		}
	}
	// Triple terms go first, because they number variables that the tests may have.
	m.unfolds = newUnfolds(in.Unfolds, &m.vars)
	m.tests = newTests(&in, &m.vars)
	m.equalities = equalitiesOf(m.tests)
	return m
}

// begin returns the state before any pattern.
func (m *joinModel) begin() joinState {
	s := joinState{reached: true, last: -1, sorted: -1, rows: max(m.in.Rows, 1), distinct: make([]float64, len(m.vars.slots))}
	for v, slot := range m.vars.slots {
		if m.in.Certain.Has(slot) {
			s.distinct[v] = s.rows
		}
	}
	return s
}

// linked reports whether a pattern shares a variable with a state, has none, or an equality links it.
func (m *joinModel) linked(s *joinState, one *cost.Candidate) bool {
	vars := false
	for _, v := range one.Local {
		if v >= 0 {
			if s.distinct[v] > 0 {
				return true
			}
			vars = true
		}
	}
	_, narrow := m.narrow(s, one)
	return !vars || narrow || m.equality(s, one) != nil
}

// allMethods are the ways to join one more pattern, lookUps those that keep no rows. ByNarrow is the last one of both.
var (
	allMethods = [...]Method{ByLookup, ByHash, ByEquality, ByNarrow}
	lookUps    = [...]Method{ByLookup, ByNarrow}
)

// methods returns the ways to join one more pattern; without hash joins only look-ups.
func (m *joinModel) methods(hash bool) []Method {
	list := lookUps[:]
	if hash {
		list = allMethods[:]
	}
	if m.unfolds.list == nil {
		list = list[:len(list)-1]
	}
	return list
}

// join returns a state with one more pattern, which lacks its bindings. ok is false if the method cannot join it.
func (m *joinModel) join(from *joinState, i int, method Method) (to joinState, ok bool) {
	one := &m.list[i]
	to = joinState{reached: true, method: method, last: int32(i), sorted: from.sorted}
	to.rows = from.rows * m.fan(from, one)
	ok = true
	switch {
	case method == ByNarrow:
		ok = m.joinNarrow(&to, from, one)
	case method == ByHash:
		ok = m.joinHash(&to, from, one)
	case method == ByEquality:
		ok = m.joinEqual(&to, from, one)
	case one.Column != nil:
		m.joinColumn(&to, from, one)
	case m.first(from):
		m.scan(&to, one)
	default:
		m.lookUp(&to, from, one)
	}
	return to, ok
}

// complete sets the bindings of a state that join returned, and lowers its rows by the conditions that are ready now.
// distinct are the bindings before its last pattern.
func (m *joinModel) complete(to *joinState, distinct []float64, i int) {
	m.bind(to, distinct, i)
	m.pass(to, distinct)
}

// first reports whether the next pattern is the first of a plan, which is scanned.
func (m *joinModel) first(s *joinState) bool { return s.last < 0 && s.method != ByMerge && m.in.leaf() }

// shares reports whether all rows of a state bind a variable of a pattern.
func (s *joinState) shares(one *cost.Candidate) bool {
	for _, v := range one.Local {
		if v >= 0 && s.distinct[v] > 0 {
			return true
		}
	}
	return false
}

// bind sets the bindings of a state with one more pattern.
func (m *joinModel) bind(to *joinState, from []float64, i int) {
	if m.unfolds.list != nil {
		from = slices.Clone(from) // it may be that of to
	}
	copy(to.distinct, from)
	one := &m.list[i]
	for position, v := range one.Local {
		if v >= 0 && (to.distinct[v] == 0 || one.Distinct[position] < to.distinct[v]) {
			to.distinct[v] = max(one.Distinct[position], 0.05)
		}
	}
	for v, d := range to.distinct {
		if d > to.rows {
			to.distinct[v] = max(to.rows, 0.05)
		}
	}
	if m.unfolds.list != nil {
		m.unfold(to, from)
	}
}

// step returns the last step to a state.
func (m *joinModel) step(s *joinState) Step {
	over := s.equality != nil && m.equalStep(s.equality, &m.list[s.last])
	return Step{Method: s.method, List: []int{int(s.last)}, Rows: s.rows, Equality: s.equality, OverColumn: over}
}
