// ORDER BY.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// orderBy sorts the rows of a node. top is how many are needed; negative for all.
func (c *compiler) orderBy(input algebra.Node, keys []ast.OrderKey, top int64, in build.Stream, at build.Scope) (build.Stream, error) {
	op := &blocking.OrderBy{Exec: c.Exec, Top: top, InSequence: -1, Holder: c.Exec.Account.NewHolder("order by")}
	// 1. If only first rows are wanted and the first key is a variable, the input may come in its
	// sequence.
	var want order.Request
	if v, ok := keys[0].Expr.(*ast.Var); ok && top > 0 && !at.Lateral() {
		want.Sequence = &order.Sequence{Slot: v.Slot, Descending: keys[0].Descending, Top: top}
	}
	out, err := c.compile(input, in, at.Unfiltered(), want)
	if err != nil {
		return in, err
	}
	name := "order by"
	if op.Top >= 0 {
		name = fmt.Sprintf("top %d", op.Top)
	}
	if out.Sorted {
		op.InSequence = want.Sequence.Slot
		name += " of the store's sequence"
	}
	// 2. Compile the keys.
	var exprs []ast.Expr
	for _, key := range keys {
		x, err := expr.Compile(key.Expr, expr.Scope{})
		if err != nil {
			return in, err
		}
		op.Keys = append(op.Keys, blocking.OrderKey{Expr: x, Descending: key.Descending})
		exprs = append(exprs, key.Expr)
	}
	// 3. Make the operator. It keeps a heap if there is a top.
	env, plans, err := c.newEnv(at, exprs, out)
	if err != nil {
		return in, err
	}
	op.Input, op.Env = out.Op, env
	if op.Top >= 0 {
		out.Rows = min(out.Rows, float64(op.Top))
	}
	out.Sequence, out.Sorted = false, false
	return c.Traced(out, op, name, build.ListText(keys, ", ", keyText), append([]*explain.Plan{out.Plan}, plans...)...), nil
}

func keyText(key ast.OrderKey) string {
	text := ast.ExprString(key.Expr)
	if key.Descending {
		text = "desc " + text
	}
	return text
}
