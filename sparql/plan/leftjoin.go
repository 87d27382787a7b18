// OPTIONAL: as a step of a join over columns, hashed, or lateral. MINUS: hashed.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// leftJoinPlan is an OPTIONAL being planned, over the rows of its left side.
type leftJoinPlan struct {
	*compiler
	n    *algebra.LeftJoin
	left build.Stream
	at   build.Scope
}

// leftJoin joins in with the left side, and each of these rows with the right side if it has a match.
func (c *compiler) leftJoin(n *algebra.LeftJoin, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	// 1. The left side starts from the solutions so far.
	left, err := c.compile(n.Left, in, at, want)
	if err != nil {
		return in, err
	}
	if len(n.Conds) == 0 {
		if out, ok := c.ColumnStep(columnjoin.OptionalStep, "OPTIONAL", n.Right, left, at.Graphs); ok {
			return out, nil
		}
	}
	l := &leftJoinPlan{compiler: c, n: n, left: left, at: at}
	// 2. If the right side must not see the left, it is hashed.
	if !at.MayStart(c.Variables, n.Right, left.Possible) {
		right, err := c.inner(n.Right, at)
		if err != nil {
			return in, err
		}
		return l.hash(right)
	}
	// 3. So is a right side that only an equality links with the left.
	if link := l.linking(); link != nil && want.Sequence == nil {
		if out, ok, err := l.hashByEquality(link); ok || err != nil {
			return out, err
		}
	}
	// 4. Any other one starts from the rows of the left.
	return l.lateral()
}

// hash joins both sides by a hash table.
func (l *leftJoinPlan) hash(right build.Stream) (build.Stream, error) {
	left, right := l.SameForms(l.left, right)
	out, _, err := l.hashRows(left, right)
	return out, err
}

// hashRows joins rows of both sides by a hash table, with the conditions.
func (l *leftJoinPlan) hashRows(left, right build.Stream) (out build.Stream, ok bool, err error) {
	conds, err := build.CompileExprs(l.n.Conds)
	if err != nil {
		return left, false, err
	}
	env, plans, err := l.newEnv(l.at, l.n.Conds, build.BothSides(left, right))
	if err != nil {
		return left, false, err
	}
	out = l.HashJoin(blocking.LeftJoin, left, right, l.at, conds, env)
	out.Plan.Inputs = append(out.Plan.Inputs, plans...)
	return out, true, nil
}

// lateral starts the right side from rows of the left. The conditions may restrict its
// variables and run within it, because a row is no match if they fail.
func (l *leftJoinPlan) lateral() (build.Stream, error) {
	n, left, at := l.n, l.left, l.at
	inside := at.WithFeed(left).Filtered(cost.Restrictions(nil, n.Conds), l.linked())
	inside.Nodes = at.Nodes.Union(l.Variables.Nodes(n.Left))
	right, err := l.compile(n.Right, inside.Begin(), inside, order.Request{})
	if err != nil {
		return left, err
	}
	// 1. Conditions that did not run within test each pair of rows.
	rest := build.Undone(n.Conds, inside.Waiting)
	conds, err := build.CompileExprs(rest)
	if err != nil {
		return left, err
	}
	tested := build.BothSides(left, right)
	tested.Numbers = right.Numbers
	env, plans, err := l.newEnv(at, rest, tested)
	if err != nil {
		return left, err
	}
	op := &exec.LateralLeftJoin{
		Exec: l.Exec, Left: left.Op, Right: right.Op, Feed: inside.Outer.Feed, Conditions: conds, Env: env,
		InSequence: right.Sequence, Batch: l.Exec.NewBatch(), Got: l.Exec.NewBatch(),
	}
	out := left
	out.Possible = left.Possible.Union(right.Possible)
	out.Sequence = left.Sequence && right.Sequence
	out.Sorted = left.Sorted && out.Sequence
	out = l.Traced(out, op, "left join of each row", build.ExprText(rest), append([]*explain.Plan{left.Plan, right.Plan}, plans...)...)
	// 2. Rows without a match have the bindings of the left, all others those of the right.
	out.Numbers = build.UnionNumbers([]build.Stream{left, right})
	mixed := left.Numbers.Union(right.Numbers).Minus(out.Numbers)
	out.Numbers = out.Numbers.Union(mixed)
	return l.Terms(out, mixed), nil
}

// linked returns the conditions that may run within the right side, which starts from rows of the left.
func (l *leftJoinPlan) linked() []*order.Condition {
	certain, _ := l.Variables.Vars(l.n.Right)
	return l.WaitFor(nil, l.n.Conds, l.left.Certain.Union(certain))
}

// linking returns the equality by which a left join is hashed: between a variable of each side, if
// nothing else links the sides. nil means that the right side starts from rows of the left.
func (l *leftJoinPlan) linking() *order.Condition {
	n, left, at := l.n, l.left, l.at
	certain, possible := l.Variables.Vars(n.Right)
	if left.Possible.Intersect(possible).Len() > 0 || at.Lateral() {
		return nil
	}
	nodes := at.Nodes.Union(l.Variables.Nodes(n.Left).Union(l.Variables.Nodes(n.Right)))
	var link *order.Condition
	for _, one := range l.linked() {
		if one.Left < 0 || left.Certain.Has(one.Left) == left.Certain.Has(one.Right) || certain.Has(one.Left) == certain.Has(one.Right) {
			continue
		}
		if nodes.Has(one.Left) || nodes.Has(one.Right) {
			return nil // the right side has the variable of the left in place of its own
		}
		link = one
	}
	return link
}

// hashByEquality joins both sides by an equality of two variables. ok is false if the
// right side is too large to be held for few rows of the left: it may be a product, of which the equality
// leaves little if it runs within.
func (l *leftJoinPlan) hashByEquality(link *order.Condition) (out build.Stream, ok bool, err error) {
	left := l.left
	right, err := l.inner(l.n.Right, l.at)
	if err != nil {
		return left, false, err
	}
	if left.Rows <= solution.BatchRows && right.Rows*cost.RowBytes > float64(l.Exec.Account.Limit/4) {
		return left, false, nil
	}
	outer, inner := link.Left, link.Right
	if !left.Certain.Has(outer) {
		outer, inner = inner, outer
	}
	out, ok, err = l.hashRows(l.Keyed(left, outer, link, true), l.Keyed(right, inner, link, false))
	if ok {
		out.Plan.Detail = build.ExprText(l.n.Conds)
		out = build.Unkeyed(out, link.Key)
	}
	return out, ok, err
}

// minus drops the rows of the left side that are compatible with one of the right.
func (c *compiler) minus(n *algebra.Minus, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	left, err := c.compile(n.Left, in, at, want)
	if err != nil {
		return in, err
	}
	right, err := c.inner(n.Right, at)
	if err != nil {
		return in, err
	}
	return c.HashJoin(blocking.Minus, left, right, at, nil, nil), nil
}
