// BIND, and expressions of SELECT.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// extend compiles neighbouring Extends to one operator: those of one SELECT
// share blank nodes.
func (c *compiler) extend(n *algebra.Extend, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	e := &exec.Extend{Exec: c.Exec, Large: c.Exec.Account.NewHolder("extend")}
	// 1. Collect the neighbours, the last one first.
	var list []*algebra.Extend
	var input algebra.Node = n
	for {
		x, ok := input.(*algebra.Extend)
		if !ok {
			break
		}
		list = append(list, x)
		input = x.Input
	}
	out, err := c.compile(input, in, at, want)
	if err != nil {
		return in, err
	}
	// 2. Compile them in the order of the text, because each may use those before.
	slices.Reverse(list)
	var exprs []ast.Expr
	for _, one := range list {
		x, err := expr.Compile(one.Expr, expr.Scope{})
		if err != nil {
			return in, err
		}
		from := -1
		if v, ok := one.Expr.(*ast.Var); ok {
			from = v.Slot
		}
		e.Slots, e.Exprs, e.From = append(e.Slots, one.Slot), append(e.Exprs, x), append(e.From, from)
		exprs = append(exprs, one.Expr)
		out.Possible = out.Possible.With(one.Slot)
		out.Numbers = out.Numbers.Minus(algebra.SetOf(one.Slot))
	}
	env, plans, err := c.newEnv(at, exprs, out)
	if err != nil {
		return in, err
	}
	e.Input, e.Env = out.Op, env
	detail := build.ListText(list, ", ", func(x *algebra.Extend) string {
		return "?" + c.Body.Scope.Name(x.Slot) + " = " + ast.ExprString(x.Expr)
	})
	out = c.Traced(out, e, "extend", detail, append([]*explain.Plan{out.Plan}, plans...)...)
	return c.Agreeing(out, e.Slots, at), nil
}
