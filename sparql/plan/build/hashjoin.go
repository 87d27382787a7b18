// Hash joins, and MINUS.

package build

import (
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

var joinNames = [...]string{blocking.InnerJoin: "hash join", blocking.LeftJoin: "hash left join", blocking.Minus: "minus"}

// HashJoin joins both sides by the variables that they share.
func (q *Query) HashJoin(kind blocking.JoinKind, left, right Stream, at Scope, conds []*expr.Expr, env *expr.Env) Stream {
	if at.Substitutes() {
		*at.Outer.Mixed = true
	}
	left, right = q.SameForms(left, right)
	// 1. Rows are hashed by the certain variables of both sides. If there are none, any shared
	// ones serve, and a row stands apart if it leaves one unbound.
	shared := left.Possible.Intersect(right.Possible)
	keys := left.Certain.Intersect(right.Certain)
	if keys.Len() == 0 {
		keys = shared
	}
	j := &blocking.HashJoin{
		Exec: q.Exec, Kind: kind, Left: left.Op, Right: right.Op, Shared: shared.Slots(),
		Conditions: conds, Env: env, Again: at.Substitutes() || at.Looped, Batch: q.Exec.NewBatch(),
		KeepOrder: at.Lateral() || left.Sorted,
	}
	j.Table = solution.NewHashTable(q.Exec.Account.NewHolder(joinNames[kind]), q.Exec.Width, keys.Slots())
	// 2. Set the variables and the estimate of the resulting rows.
	out := left
	switch kind {
	case blocking.Minus:
		// In an EXISTS both sides begin with its solution, which they share.
		j.Domain = j.Shared
	case blocking.LeftJoin:
		out.Possible = left.Possible.Union(right.Possible)
		out.Numbers = left.Numbers.Union(right.Numbers)
	default:
		out.Numbers = left.Numbers.Union(right.Numbers)
		out.Possible = left.Possible.Union(right.Possible)
		out.Certain = left.Certain.Union(right.Certain)
		out.Rows = max(left.Rows, right.Rows)
		if len(j.Shared) == 0 {
			out.Rows = left.Rows * right.Rows
		}
	}
	return q.Traced(out, j, joinNames[kind], q.VarsText(keys), left.Plan, right.Plan)
}
