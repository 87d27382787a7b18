// The compilation of operators row by row: VALUES, FILTER, BIND.

package plan

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

func (c *compiler) table(n *algebra.Table, in stream) (stream, error) {
	in = c.terms(in, algebra.SetOf(n.Slots...))
	v := &exec.Values{Exec: c.query, Input: in.op, Slots: n.Slots, Batch: c.query.NewBatch()}
	for _, terms := range n.Rows {
		row := make([]string, len(terms))
		for i, t := range terms {
			row[i] = solution.Encode(t)
		}
		v.Rows = append(v.Rows, row)
	}
	certain, possible := c.visible.Vars(n)
	in.certain, in.possible = in.certain.Union(certain), in.possible.Union(possible)
	in.rows *= float64(max(1, len(n.Rows)))
	return c.traced(in, v, "values", func() string { return fmt.Sprintf("%d rows", len(n.Rows)) }, in.plan), nil
}

func (c *compiler) filter(n *algebra.Filter, in stream, g pattern.Graphs, depth int) (stream, error) {
	// 1. Conditions may run inside the input, as soon as their variables are bound.
	sub := *c
	sub.spans = restrictions(c.spans, n.Conds)
	sub.waiting = c.wait(n.Input, n.Conds)
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	// 2. The others run over its rows.
	others := undone(n.Conds, sub.waiting)
	conds, err := compileExprs(others)
	if err != nil {
		return in, err
	}
	if len(conds) > 0 {
		env, plans, err := c.newEnv(g, others, out)
		if err != nil {
			return in, err
		}
		f := &exec.Filter{Exec: c.query, Input: out.op, Conditions: conds, Slots: c.onlySlots(others), Nodes: c.nodeTests(others), Env: env}
		out = c.traced(out, f, "filter", exprText(others), append([]*explain.Plan{out.plan}, plans...)...)
	}
	return out, nil
}

// extend compiles neighbouring Extends to one operator: those of one SELECT
// share blank nodes.
func (c *compiler) extend(n *algebra.Extend, in stream, g pattern.Graphs, depth int) (stream, error) {
	e := &exec.Extend{Exec: c.query, Large: c.query.Account.NewHolder("extend")}
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
	out, err := c.compile(input, in, g, depth)
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
		out.possible = out.possible.With(one.Slot)
		out.numbers = out.numbers.Without(algebra.SetOf(one.Slot))
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	e.Input, e.Env = out.op, env
	detail := listText(list, ", ", func(x *algebra.Extend) string {
		return "?" + c.body.Scope.Name(x.Slot) + " = " + ast.ExprString(x.Expr)
	})
	out = c.traced(out, e, "extend", detail, append([]*explain.Plan{out.plan}, plans...)...)
	return c.agreeing(out, e.Slots), nil
}
