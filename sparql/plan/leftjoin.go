// OPTIONAL: as a step of a join over columns, hashed, or lateral.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// leftJoinPlan is an OPTIONAL being planned, over the rows of its left side.
type leftJoinPlan struct {
	*compiler
	n    *algebra.LeftJoin
	left stream
	at   scope
}

// leftJoin joins in with the left side, and each of these rows with the right side if it has a match.
func (c *compiler) leftJoin(n *algebra.LeftJoin, in stream, at scope, want request) (stream, error) {
	// 1. The left side starts from the solutions so far.
	left, err := c.compile(n.Left, in, at, want)
	if err != nil {
		return in, err
	}
	if len(n.Conds) == 0 {
		if out, ok := c.columnStep(exec.OptionalStep, "OPTIONAL", n.Right, left, at.graphs); ok {
			return out, nil
		}
	}
	l := &leftJoinPlan{compiler: c, n: n, left: left, at: at}
	// 2. If the right side must not see the left, it is hashed.
	if !at.mayStart(c.variables, n.Right, left.possible) {
		right, err := c.inner(n.Right, at)
		if err != nil {
			return in, err
		}
		return l.hash(right)
	}
	// 3. So is a right side that only an equality links with the left.
	if link := l.linking(); link != nil && want.sequence == nil {
		if out, ok, err := l.hashByEquality(link); ok || err != nil {
			return out, err
		}
	}
	// 4. Any other one starts from the rows of the left.
	return l.lateral()
}

// hash joins both sides by a hash table.
func (l *leftJoinPlan) hash(right stream) (stream, error) {
	left, right := l.alike(l.left, right)
	out, _, err := l.hashRows(left, right)
	return out, err
}

// hashRows joins rows of both sides by a hash table, with the conditions.
func (l *leftJoinPlan) hashRows(left, right stream) (out stream, ok bool, err error) {
	conds, err := compileExprs(l.n.Conds)
	if err != nil {
		return left, false, err
	}
	env, plans, err := l.newEnv(l.at, l.n.Conds, both(left, right))
	if err != nil {
		return left, false, err
	}
	out = l.hashJoin(exec.LeftJoin, left, right, l.at, conds, env)
	out.plan.Inputs = append(out.plan.Inputs, plans...)
	return out, true, nil
}

// lateral starts the right side from rows of the left. The conditions may restrict its
// variables and run within it, because a row is no match if they fail.
func (l *leftJoinPlan) lateral() (stream, error) {
	n, left, at := l.n, l.left, l.at
	inside := at.withFeed(left).filtered(restrictions(nil, n.Conds), l.linked())
	inside.nodes = at.nodes.Union(l.variables.Nodes(n.Left))
	right, err := l.compile(n.Right, inside.begin(), inside, request{})
	if err != nil {
		return left, err
	}
	// 1. Conditions that did not run within test each pair of rows.
	rest := undone(n.Conds, inside.waiting)
	conds, err := compileExprs(rest)
	if err != nil {
		return left, err
	}
	tested := both(left, right)
	tested.numbers = right.numbers
	env, plans, err := l.newEnv(at, rest, tested)
	if err != nil {
		return left, err
	}
	op := &exec.LateralLeftJoin{
		Exec: l.exec, Left: left.op, Right: right.op, Feed: inside.outer.feed, Conditions: conds, Env: env,
		InSequence: right.sequence, Batch: l.exec.NewBatch(), Got: l.exec.NewBatch(),
	}
	out := left
	out.possible = left.possible.Union(right.possible)
	out.sequence = left.sequence && right.sequence
	out.sorted = left.sorted && out.sequence
	out = l.traced(out, op, "left join of each row", exprText(rest), append([]*explain.Plan{left.plan, right.plan}, plans...)...)
	// 2. Rows without a match have the bindings of the left, all others those of the right.
	out.numbers = unionNumbers([]stream{left, right})
	mixed := left.numbers.Union(right.numbers).Minus(out.numbers)
	out.numbers = out.numbers.Union(mixed)
	return l.terms(out, mixed), nil
}

// linked returns the conditions that may run within the right side, which starts from rows of the left.
func (l *leftJoinPlan) linked() []*condition {
	certain, _ := l.variables.Vars(l.n.Right)
	return l.waitFor(nil, l.n.Conds, l.left.certain.Union(certain))
}

// linking returns the equality by which a left join is hashed: between a variable of each side, if
// nothing else links the sides. nil means that the right side starts from rows of the left.
func (l *leftJoinPlan) linking() *condition {
	n, left, at := l.n, l.left, l.at
	certain, possible := l.variables.Vars(n.Right)
	if left.possible.Intersect(possible).Len() > 0 || at.lateral() {
		return nil
	}
	nodes := at.nodes.Union(l.variables.Nodes(n.Left).Union(l.variables.Nodes(n.Right)))
	var link *condition
	for _, one := range l.linked() {
		if one.left < 0 || left.certain.Has(one.left) == left.certain.Has(one.right) || certain.Has(one.left) == certain.Has(one.right) {
			continue
		}
		if nodes.Has(one.left) || nodes.Has(one.right) {
			return nil // the right side has the variable of the left in place of its own
		}
		link = one
	}
	return link
}

// hashByEquality joins both sides by an equality of two variables. ok is false if the
// right side is too large to be held for few rows of the left: it may be a product, of which the equality
// leaves little if it runs within.
func (l *leftJoinPlan) hashByEquality(link *condition) (out stream, ok bool, err error) {
	left := l.left
	right, err := l.inner(l.n.Right, l.at)
	if err != nil {
		return left, false, err
	}
	if left.rows <= solution.BatchRows && right.rows*rowBytes > float64(l.exec.Account.Limit/4) {
		return left, false, nil
	}
	outer, inner := link.left, link.right
	if !left.certain.Has(outer) {
		outer, inner = inner, outer
	}
	out, ok, err = l.hashRows(l.keyed(left, outer, link, true), l.keyed(right, inner, link, false))
	if ok {
		out.plan.Detail = exprText(l.n.Conds)
		out = unkeyed(out, link.key)
	}
	return out, ok, err
}
