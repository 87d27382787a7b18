// Hash joins by the equality of two variables.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// equalityJoin joins in with a pattern by the equality of two variables: a hash join by keys of their
// values. The condition still has to run, because values that differ may have one key.
func (b *patternJoin) equalityJoin(in Stream, one *cost.Candidate, cond *order.Condition, rows float64) (Stream, error) {
	outer, inner := cond.Left, cond.Right
	if !in.Certain.Has(outer) {
		outer, inner = inner, outer
	}
	right, err := b.scan(one)
	if err != nil {
		return in, err
	}
	left := b.Keyed(in, outer, cond, false)
	right = b.Keyed(right, inner, cond, false)
	if b.Want.Sequence == nil && !b.At.Lateral() && one.Rows > in.Rows {
		left, right = right, left // the smaller side is held
		left.Sequence = false
	}
	out := b.HashJoin(blocking.InnerJoin, left, right, b.At, nil, nil)
	out = Unkeyed(out, cond.Key)
	out.Rows, out.Plan.Estimate = rows, rows
	out.Plan.Detail = ExprText([]ast.Expr{cond.Expr})
	return out, nil
}

// Keyed binds the slot of a condition's key to the key of a variable's value. Outer keeps rows that have no
// equal.
func (q *Query) Keyed(s Stream, of int, cond *order.Condition, outer bool) Stream {
	op := &exec.EqualityKey{Exec: q.Exec, Input: s.Op, Of: of, Key: cond.Key, Outer: outer, Same: cond.Same}
	out := q.Traced(s, op, "equality key", q.VarsText(algebra.SetOf(of)), s.Plan)
	out.Bind(cond.Key)
	return out
}

// Unkeyed returns a stream without the slot of a key, which only its join needs.
func Unkeyed(s Stream, key int) Stream {
	s.Certain, s.Possible = s.Certain.Minus(algebra.SetOf(key)), s.Possible.Minus(algebra.SetOf(key))
	return s
}
