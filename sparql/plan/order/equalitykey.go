// Equalities of values that link patterns: which do, and the cost of joins by them.

package order

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/triple"
)

// joinEqual sets the cost of a join by an equality, and reports whether one links the pattern.
func (m *joinModel) joinEqual(to, from *joinState, one *cost.Candidate) bool {
	t := m.equality(from, one)
	if t == nil || from.shares(one) {
		return false
	}
	to.equality = t.cond
	pairs := to.rows * t.share(from.distinct, one)
	if m.equalStep(t.cond, one) {
		to.cost = from.cost + one.Distinct[triple.Object]*cost.Key + from.rows*cost.ColumnProbe + pairs*cost.ColumnRow
		return true
	}
	// The smaller side is held, or goes to files. Both cost less than a product.
	to.cost = from.cost + one.Rows*(cost.Row+cost.Key) + from.rows*cost.Key + min(from.rows, one.Rows)*cost.Build + max(from.rows, one.Rows)*cost.Probe + pairs*cost.Probe
	return true
}

// share returns the expected share of rows that pass an equality between bindings of a state and a
// pattern.
func (t *test) share(distinct []float64, one *cost.Candidate) float64 {
	most := max(distinct[t.left], distinct[t.right], 1)
	for position, v := range one.Local {
		if v >= 0 && (v == t.left || v == t.right) {
			most = max(most, one.Distinct[position])
		}
	}
	return 1 / most
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
// not bind; nil if there is none. It looks at the tests of the pattern's variables only, because a search needs it
// for each pattern in each step.
func (m *joinModel) equality(s *joinState, one *cost.Candidate) *test {
	first := len(m.tests)
	for _, free := range one.Local {
		if free < 0 || s.distinct[free] > 0 {
			continue
		}
		for _, i := range m.equalities[free] {
			t := &m.tests[i]
			if i < first && s.distinct[t.left+t.right-free] > 0 {
				first = i
			}
			if i >= first {
				break
			}
		}
	}
	if first == len(m.tests) {
		return nil
	}
	return &m.tests[first]
}

// equalStep reports whether a join over columns finds the objects of a pattern that an equality links
// with the rows before: as terms of its column, if they are few. Columns do not have long terms whole.
func (m *joinModel) equalStep(cond *Condition, one *cost.Candidate) bool {
	if one.Column == nil || int64(one.Column.ByObject.Keys())*cost.RowBytes > m.memory/8 {
		return false
	}
	object := one.Pat.Places[triple.Object].Slot
	longs := m.longEnds()
	return (object == cond.Left || object == cond.Right) && !longs.Has(cond.Left) && !longs.Has(cond.Right)
}

// longEnds returns the variables that a pattern reads from a column with long terms.
func (m *joinModel) longEnds() algebra.Set {
	if m.longs == nil {
		m.longs = &algebra.Set{}
		for i := range m.list {
			col, at := m.list[i].Column, &m.list[i].Pat.Places
			if col != nil && col.LongSubjects && at[triple.Subject].Slot >= 0 {
				m.longs.Add(at[triple.Subject].Slot)
			}
			if col != nil && col.LongObjects && at[triple.Object].Slot >= 0 {
				m.longs.Add(at[triple.Object].Slot)
			}
		}
	}
	return *m.longs
}
