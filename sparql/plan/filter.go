// FILTER: what did not run inside the join below.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/triple"
)

// filter passes the rows of the input for which the conditions hold.
func (c *compiler) filter(n *algebra.Filter, in stream, at scope, want request) (stream, error) {
	// 1. Conditions may run inside the input, as soon as their variables are bound. Such a condition depends on variables
	// that each row binds, and on nothing else.
	certain, _ := c.variables.Vars(n.Input)
	below := at.filtered(restrictions(at.ranges, n.Conds), c.waitFor(at.waiting, n.Conds, certain))
	out, err := c.compile(n.Input, in, below, want)
	if err != nil {
		return in, err
	}
	// 2. The others run over its rows.
	others := undone(n.Conds, below.waiting)
	conds, err := compileExprs(others)
	if err != nil {
		return in, err
	}
	if len(conds) > 0 {
		env, plans, err := c.newEnv(at, others, out)
		if err != nil {
			return in, err
		}
		f := &exec.Filter{Exec: c.exec, Input: out.op, Conditions: conds, Slots: c.onlySlots(others), Nodes: c.nodeTests(others), Env: env}
		out = c.traced(out, f, "filter", exprText(others), append([]*explain.Plan{out.plan}, plans...)...)
	}
	return out, nil
}

// onlySlots returns for each condition the variable on which alone its value depends; negative if there
// is none.
func (q *query) onlySlots(conds []ast.Expr) []int {
	slots := make([]int, len(conds))
	for i, e := range conds {
		slots[i] = -1
		if uses := q.body.Uses(e); uses.Len() == 1 && optimize.OfRowAlone(e) {
			slots[i] = uses.Slots()[0]
		}
	}
	return slots
}

// nodeTests returns the conditions that compare a variable with an IRI or another variable; nil for each
// other one.
func (q *query) nodeTests(conds []ast.Expr) []*exec.NodeTest {
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
		if !ok || !isVar || left.Slot < 0 || q.columns == nil {
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
				tests[i] = &exec.NodeTest{Left: left.Slot, Right: -1, Number: q.columns.Dictionary().Number(key), Unequal: unequal}
			}
		}
	}
	return tests
}
