// Waiting conditions in the order of joins: rows that pass, and equalities that link patterns.

package order

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// Condition is a condition of a FILTER over a join. A later join does not change the bindings of a
// row, so the condition may run as soon as the rows bind its variables. It waits until then.
type Condition struct {
	Expr ast.Expr
	Uses []int // the slots of its variables
	Done bool
	// Share is the expected share of rows that pass. It is not used for equalities.
	Share float64
	// Left and right are the slots of both sides if it is ?left = ?right, or with same
	// sameTerm(?left, ?right); else negative.
	Left, Right int
	Same        bool
	// Key is a slot for keys of values, see [exec.EqualityKey].
	Key int
}

// PassShare guesses the share of rows that pass a condition. If the condition restricts the range of
// one variable, the patterns' estimates contain it.
func PassShare(e ast.Expr) float64 {
	if r, ok := expr.Restrict(e); ok && r.Var != nil {
		return 1
	}
	if b, ok := e.(*ast.Binary); ok {
		switch b.Op {
		case ast.OpEqual:
			return 0.05
		case ast.OpNotEqual:
			return 0.95
		}
	}
	return 0.3
}

// test is a waiting condition with the model's numbers of its variables.
type test struct {
	cond *Condition
	vars []int // without those that the rows before the patterns bind
	// left and right are the variables of an equality, negative for other conditions.
	left, right int
}

// newTests returns the waiting conditions that the patterns can make ready.
func newTests(in *Input, vars *variables) (tests []test) {
	for _, cond := range in.Waiting {
		if cond.Done {
			continue
		}
		t, ok := test{cond: cond, left: -1, right: -1}, true
		for _, slot := range cond.Uses {
			v, known := vars.numbers[slot]
			if known {
				t.vars = append(t.vars, v)
			}
			ok = ok && (known || in.Certain.Has(slot))
		}
		if !ok || len(t.vars) == 0 {
			continue
		}
		if l, ok := vars.numbers[cond.Left]; ok && len(t.vars) == 2 {
			t.left, t.right = l, vars.numbers[cond.Right]
		}
		tests = append(tests, t)
	}
	return tests
}

// ready reports whether bindings have all variables of a test.
func (t *test) ready(distinct []float64) bool {
	return !slices.ContainsFunc(t.vars, func(v int) bool { return distinct[v] == 0 })
}

// pass lowers the rows of a state by the tests that are ready now and were not with the bindings of
// from.
func (m *joinModel) pass(s *joinState, from []float64) {
	for i := range m.tests {
		t := &m.tests[i]
		if !t.ready(s.distinct) || t.ready(from) {
			continue
		}
		s.cost += s.rows * cost.Key
		if t.left >= 0 {
			s.rows /= max(s.distinct[t.left], s.distinct[t.right], 1)
		} else {
			s.rows *= t.cond.Share
		}
		for v, d := range s.distinct {
			if d > s.rows {
				s.distinct[v] = max(s.rows, 0.05)
			}
		}
	}
}
