// Hash joins, and MINUS.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

var joinNames = [...]string{exec.InnerJoin: "hash join", exec.LeftJoin: "hash left join", exec.Minus: "minus"}

// hashJoin joins both sides by the variables that they share.
func (q *query) hashJoin(kind exec.JoinKind, left, right stream, at scope, conds []*expr.Expr, env *expr.Env) stream {
	if at.substitutes() {
		*at.outer.mixed = true
	}
	left, right = q.alike(left, right)
	// 1. Rows are hashed by the certain variables of both sides. If there are none, any shared
	// ones serve, and a row stands apart if it leaves one unbound.
	shared := left.possible.Intersect(right.possible)
	keys := left.certain.Intersect(right.certain)
	if keys.Len() == 0 {
		keys = shared
	}
	j := &exec.HashJoin{
		Exec: q.exec, Kind: kind, Left: left.op, Right: right.op, Shared: shared.Slots(),
		Conditions: conds, Env: env, Again: at.substitutes() || at.looped, Batch: q.exec.NewBatch(),
		KeepOrder: at.lateral() || left.sorted,
	}
	j.Table = solution.NewHashTable(q.exec.Account.NewHolder(joinNames[kind]), q.exec.Width, keys.Slots())
	// 2. Set the variables and the estimate of the resulting rows.
	out := left
	switch kind {
	case exec.Minus:
		// In an EXISTS both sides begin with its solution, which they share.
		j.Domain = j.Shared
	case exec.LeftJoin:
		out.possible = left.possible.Union(right.possible)
		out.numbers = left.numbers.Union(right.numbers)
	default:
		out.numbers = left.numbers.Union(right.numbers)
		out.possible = left.possible.Union(right.possible)
		out.certain = left.certain.Union(right.certain)
		out.rows = max(left.rows, right.rows)
		if len(j.Shared) == 0 {
			out.rows = left.rows * right.rows
		}
	}
	return q.traced(out, j, joinNames[kind], q.names(keys), left.plan, right.plan)
}

// minus drops the rows of the left side that are compatible with one of the right.
func (c *compiler) minus(n *algebra.Minus, in stream, at scope, want request) (stream, error) {
	left, err := c.compile(n.Left, in, at, want)
	if err != nil {
		return in, err
	}
	right, err := c.inner(n.Right, at)
	if err != nil {
		return in, err
	}
	return c.hashJoin(exec.Minus, left, right, at, nil, nil), nil
}
