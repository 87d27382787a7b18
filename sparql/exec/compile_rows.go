// How operators that work on rows as they come are made: VALUES, FILTER, BIND.

package exec

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
)

func (c *compiler) table(n *algebra.Table, in stream) (stream, error) {
	v := &values{q: c.query, in: in.op, slots: n.Slots, input: newBatch(c.query.width)}
	for _, terms := range n.Rows {
		row := make([]string, len(terms))
		for i, t := range terms {
			row[i] = encode(t)
		}
		v.rows = append(v.rows, row)
	}
	certain, possible := c.vars(n)
	in.certain, in.possible = union(in.certain, certain), union(in.possible, possible)
	in.rows *= float64(max(1, len(n.Rows)))
	return c.traced(in, v, "values", fmt.Sprintf("%d rows", len(n.Rows)), in.plan), nil
}

func (c *compiler) filter(n *algebra.Filter, in stream, g graphs, depth int) (stream, error) {
	semi, others := c.semiJoins(n.Conds)
	conds, err := c.exprs(others)
	if err != nil {
		return in, err
	}
	sub := *c
	sub.spans = restrictions(c.spans, others)
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	if len(conds) > 0 {
		env, plans, err := c.newEnv(g, others, out)
		if err != nil {
			return in, err
		}
		f := &filter{q: c.query, in: out.op, conds: conds, env: env}
		out = c.traced(out, f, "filter", exprText(others), append([]*Plan{out.plan}, plans...)...)
	}
	for _, x := range semi {
		if out, err = c.semiJoin(x, out, g, depth); err != nil {
			return in, err
		}
	}
	return out, nil
}

// extend compiles neighbouring Extends to one operator: those of one SELECT
// share blank nodes.
func (c *compiler) extend(n *algebra.Extend, in stream, g graphs, depth int) (stream, error) {
	e := &extend{q: c.query, large: holder{account: &c.query.account, name: "extend"}}
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
	var exprs []ast.Expr
	var detail []string
	for i := len(list) - 1; i >= 0; i-- {
		x, err := expr.Compile(list[i].Expr, c.scope())
		if err != nil {
			return in, err
		}
		e.slots, e.exprs = append(e.slots, list[i].Slot), append(e.exprs, x)
		exprs = append(exprs, list[i].Expr)
		out.possible = with(out.possible, list[i].Slot)
		detail = append(detail, "?"+c.body.Scope.Name(list[i].Slot)+" = "+ast.ExprString(list[i].Expr))
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	e.in, e.env = out.op, env
	return c.traced(out, e, "extend", strings.Join(detail, ", "), append([]*Plan{out.plan}, plans...)...), nil
}
