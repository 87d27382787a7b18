// Conditions of FILTER that run inside a join, as soon as their variables are bound.

package build

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// WaitFor adds conditions to those that wait, if rows bind certain variables.
func (q *Query) WaitFor(waiting []*order.Condition, conds []ast.Expr, certain algebra.Set) []*order.Condition {
	list := slices.Clip(waiting)
	for _, e := range algebra.SplitConds(conds) {
		uses := q.Body.Uses(e)
		if uses.Len() == 0 || !certain.ContainsAll(uses) || !optimize.OfRowAlone(e) {
			continue
		}
		one := &order.Condition{Expr: e, Uses: uses.Slots(), Share: order.PassShare(e), Left: -1, Right: -1}
		if left, right, ok := optimize.Equality(e); ok {
			one.Left, one.Right, one.Key = left, right, q.Keys[e]
			_, one.Same = e.(*ast.Call)
		}
		list = append(list, one)
	}
	return list
}

// Ready carries out the unfoldings that are ready, and filters s by the waiting conditions whose variables
// it binds.
func (p *Part) Ready(s Stream) (Stream, error) {
	s, err := p.unfold(s)
	if err != nil {
		return s, err
	}
	var list []ast.Expr
	for _, one := range p.At.Waiting {
		if !one.Done && s.Certain.HasEach(one.Uses) {
			one.Done = true
			list = append(list, one.Expr)
		}
	}
	if len(list) == 0 {
		return s, nil
	}
	conds, err := CompileExprs(list)
	if err != nil {
		return s, err
	}
	f := &exec.Filter{Exec: p.Exec, Input: s.Op, Conditions: conds, Slots: p.OnlySlots(list), Nodes: p.NodeTests(list), Env: p.Exec.NewEnv()}
	return p.Traced(s, f, "filter", ExprText(list), s.Plan), nil
}

// Undone returns the conditions that did not run below.
func Undone(conds []ast.Expr, waiting []*order.Condition) []ast.Expr {
	done := make(map[ast.Expr]bool, len(waiting))
	for _, one := range waiting {
		done[one.Expr] = done[one.Expr] || one.Done
	}
	return slices.DeleteFunc(algebra.SplitConds(conds), func(e ast.Expr) bool { return done[e] })
}

// OnlySlots returns for each condition the variable on which alone its value depends; negative if there
// is none.
func (q *Query) OnlySlots(conds []ast.Expr) []int {
	slots := make([]int, len(conds))
	for i, e := range conds {
		slots[i] = -1
		if uses := q.Body.Uses(e); uses.Len() == 1 && optimize.OfRowAlone(e) {
			slots[i] = uses.Slots()[0]
		}
	}
	return slots
}

// NodeTests returns the conditions that compare a variable with an IRI or another variable; nil for each
// other one.
func (q *Query) NodeTests(conds []ast.Expr) []*exec.NodeTest {
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
		if !ok || !isVar || left.Slot < 0 || q.Columns == nil {
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
				tests[i] = &exec.NodeTest{Left: left.Slot, Right: -1, Number: q.Columns.Dictionary().Number(key), Unequal: unequal}
			}
		}
	}
	return tests
}
