// Conditions of FILTER that run inside a join, as soon as their variables are bound.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
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

// waitFor adds conditions to those that wait, if rows bind certain variables.
func (q *query) waitFor(waiting []*condition, conds []ast.Expr, certain algebra.Set) []*condition {
	list := slices.Clip(waiting)
	for _, e := range algebra.SplitConds(conds) {
		uses := q.body.Uses(e)
		if uses.Len() == 0 || !certain.ContainsAll(uses) || !optimize.OfRowAlone(e) {
			continue
		}
		one := &condition{expr: e, uses: uses.Slots(), share: passShare(e), left: -1, right: -1}
		if left, right, ok := optimize.Equality(e); ok {
			one.left, one.right, one.key = left, right, q.keys[e]
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
func (p *part) ready(s stream) (stream, error) {
	s, err := p.unfold(s)
	if err != nil {
		return s, err
	}
	var list []ast.Expr
	for _, one := range p.at.waiting {
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
	f := &exec.Filter{Exec: p.exec, Input: s.op, Conditions: conds, Slots: p.onlySlots(list), Nodes: p.nodeTests(list), Env: p.exec.NewEnv()}
	return p.traced(s, f, "filter", exprText(list), s.plan), nil
}

// undone returns the conditions that did not run below.
func undone(conds []ast.Expr, waiting []*condition) []ast.Expr {
	done := make(map[ast.Expr]bool, len(waiting))
	for _, one := range waiting {
		done[one.expr] = done[one.expr] || one.done
	}
	return slices.DeleteFunc(algebra.SplitConds(conds), func(e ast.Expr) bool { return done[e] })
}
