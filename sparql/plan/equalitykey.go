// Hash joins by the equality of two variables.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// equalityJoin joins in with a pattern by the equality of two variables: a hash join by keys of their
// values. The condition still has to run, because values that differ may have one key.
func (b *patternJoin) equalityJoin(in stream, one *candidate, cond *condition, rows float64) (stream, error) {
	outer, inner := cond.left, cond.right
	if !in.certain.Has(outer) {
		outer, inner = inner, outer
	}
	right, err := b.scan(one)
	if err != nil {
		return in, err
	}
	left := b.keyed(in, outer, cond, false)
	right = b.keyed(right, inner, cond, false)
	if b.want.sequence == nil && !b.at.lateral() && one.rows > in.rows {
		left, right = right, left // the smaller side is held
		left.sequence = false
	}
	out := b.hashJoin(exec.InnerJoin, left, right, b.at, nil, nil)
	out = unkeyed(out, cond.key)
	out.rows, out.plan.Estimate = rows, rows
	out.plan.Detail = exprText([]ast.Expr{cond.expr})
	return out, nil
}

// keyed binds the slot of a condition's key to the key of a variable's value. Outer keeps rows that have no
// equal.
func (q *query) keyed(s stream, of int, cond *condition, outer bool) stream {
	op := &exec.EqualityKey{Exec: q.exec, Input: s.op, Of: of, Key: cond.key, Outer: outer, Same: cond.same}
	out := q.traced(s, op, "equality key", q.names(algebra.SetOf(of)), s.plan)
	out.bind(cond.key)
	return out
}

// unkeyed returns a stream without the slot of a key, which only its join needs.
func unkeyed(s stream, key int) stream {
	s.certain, s.possible = s.certain.Minus(algebra.SetOf(key)), s.possible.Minus(algebra.SetOf(key))
	return s
}
