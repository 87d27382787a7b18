// Conditions of FILTER that run inside a join, as soon as their variables are bound.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/triple"
)

// condition is a condition of a FILTER over a join. A later join does not change the bindings of a
// row, so the condition may run as soon as the rows bind its variables. It waits until then.
type condition struct {
	expr ast.Expr
	uses []int // the slots of its variables
	done bool
	// share is the expected share of rows that pass. It is not used for equalities.
	share float64
	// left and right are the slots of both sides if it is ?left = ?right, or with same
	// sameTerm(?left, ?right); else negative.
	left, right int
	same        bool
	// key is a slot for keys of values, see [exec.EqualityKey].
	key int
}

// wait adds conditions of a FILTER over n to those that wait. A condition waits if each row of n
// binds its variables and its value depends on them only.
func (c *compiler) wait(n algebra.Node, conds []ast.Expr) []*condition {
	certain, _ := c.visible.Vars(n)
	return c.waitFor(c.waiting, conds, certain)
}

// waitFor adds conditions to those that wait, if rows bind certain variables.
func (c *compiler) waitFor(waiting []*condition, conds []ast.Expr, certain algebra.Set) []*condition {
	list := slices.Clip(waiting)
	for _, e := range algebra.SplitConds(conds) {
		uses := c.body.Uses(e)
		if uses.Len() == 0 || !certain.ContainsAll(uses) || !optimize.OfRowAlone(e) {
			continue
		}
		one := &condition{expr: e, uses: uses.Slots(), share: passShare(e), left: -1, right: -1}
		if left, right, ok := optimize.Equality(e); ok {
			one.left, one.right, one.key = left, right, c.keys[e]
			_, one.same = e.(*ast.Call)
		}
		list = append(list, one)
	}
	return list
}

// passShare guesses the share of rows that pass a condition. If the condition restricts the range of
// one variable, the patterns' estimates contain it.
func passShare(e ast.Expr) float64 {
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

// ready carries out the unfoldings that are ready, and filters s by the waiting conditions whose variables
// it binds.
func (c *compiler) ready(s stream) (stream, error) {
	s, err := c.unfold(s)
	if err != nil {
		return s, err
	}
	var list []ast.Expr
	for _, one := range c.waiting {
		if !one.done && s.certain.HasEach(one.uses) {
			one.done = true
			list = append(list, one.expr)
		}
	}
	if len(list) == 0 {
		return s, nil
	}
	conds, err := compileExprs(list)
	if err != nil {
		return s, err
	}
	f := &exec.Filter{Exec: c.query, Input: s.op, Conditions: conds, Slots: c.onlySlots(list), Nodes: c.nodeTests(list), Env: c.query.NewEnv()}
	return c.traced(s, f, "filter", exprText(list), s.plan), nil
}

// onlySlots returns for each condition the variable on which alone its value depends; negative if there
// is none.
func (c *compiler) onlySlots(conds []ast.Expr) []int {
	slots := make([]int, len(conds))
	for i, e := range conds {
		slots[i] = -1
		if uses := c.body.Uses(e); uses.Len() == 1 && optimize.OfRowAlone(e) {
			slots[i] = uses.Slots()[0]
		}
	}
	return slots
}

// nodeTests returns the conditions that compare a variable with an IRI or another variable; nil for each
// other one.
func (c *compiler) nodeTests(conds []ast.Expr) []*exec.NodeTest {
	tests := make([]*exec.NodeTest, len(conds))
	for i, e := range conds {
		// 1. Find both sides, a variable on the left.
		x, y, ok := optimize.Equated(e)
		unequal := false
		if b, isBinary := e.(*ast.Binary); isBinary && b.Op == ast.OpNotEqual {
			x, y, ok, unequal = b.Left, b.Right, true, true
		}
		if _, isVar := x.(*ast.Var); !isVar {
			x, y = y, x
		}
		left, isVar := x.(*ast.Var)
		if !ok || !isVar || left.Slot < 0 || c.columns == nil {
			continue
		}
		// 2. Make the test.
		switch y := y.(type) {
		case *ast.Var:
			if y.Slot >= 0 {
				tests[i] = &exec.NodeTest{Left: left.Slot, Right: y.Slot, Unequal: unequal}
			}
		case *ast.Constant:
			if key, long := triple.AppendTerm(nil, y.Term); !long && y.Term.Kind() == triple.IRI {
				tests[i] = &exec.NodeTest{Left: left.Slot, Right: -1, Number: c.columns.Dictionary().Number(key), Unequal: unequal}
			}
		}
	}
	return tests
}

// undone returns the conditions that did not run below.
func undone(conds []ast.Expr, waiting []*condition) []ast.Expr {
	done := make(map[ast.Expr]bool, len(waiting))
	for _, one := range waiting {
		done[one.expr] = done[one.expr] || one.done
	}
	return slices.DeleteFunc(algebra.SplitConds(conds), func(e ast.Expr) bool { return done[e] })
}

// equalityJoin joins in with a pattern by the equality of two variables: a hash join by keys of their
// values. The condition still has to run, because values that differ may have one key.
func (p *planner) equalityJoin(in stream, one *candidate, cond *condition, rows float64) (stream, error) {
	c := p.c
	outer, inner := cond.left, cond.right
	if !in.certain.Has(outer) {
		outer, inner = inner, outer
	}
	right, err := p.scan(one)
	if err != nil {
		return in, err
	}
	left := c.keyed(in, outer, cond, false)
	right = c.keyed(right, inner, cond, false)
	if c.want == nil && c.feed == nil && one.rows > in.rows {
		left, right = right, left // the smaller side is held
		left.sequence = false
	}
	out := c.hashJoin(exec.InnerJoin, left, right, nil, nil)
	out = unkeyed(out, cond.key)
	out.rows, out.plan.Estimate = rows, rows
	out.plan.Detail = exprText([]ast.Expr{cond.expr})
	return out, nil
}

// keyed binds the slot of a condition's key to the key of a variable's value. Outer keeps rows that have no
// equal.
func (c *compiler) keyed(s stream, of int, cond *condition, outer bool) stream {
	op := &exec.EqualityKey{Exec: c.query, Input: s.op, Of: of, Key: cond.key, Outer: outer, Same: cond.same}
	out := c.traced(s, op, "equality key", names(c.body.Scope, algebra.SetOf(of)), s.plan)
	out.bind(cond.key)
	return out
}

// unkeyed returns a stream without the slot of a key, which only its join needs.
func unkeyed(s stream, key int) stream {
	s.certain, s.possible = s.certain.Without(algebra.SetOf(key)), s.possible.Without(algebra.SetOf(key))
	return s
}
