// GROUP BY.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// tally counts, or lists terms: without rows if the source knows enough.
func (c *compiler) tally(n *algebra.Tally, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	if out, ok, err := c.part(at, want).Tally(n); ok || err != nil {
		return out, err
	}
	if group, ok := n.Rows.(*algebra.Group); ok {
		return c.group(group, n, in, at)
	}
	return c.compile(n.Rows, in, at, order.Request{})
}

// group makes one row of each group of rows of the input. tally is what it counts; nil if it does more.
func (c *compiler) group(n *algebra.Group, tally *algebra.Tally, in build.Stream, at build.Scope) (build.Stream, error) {
	// 1. The operator of the input may count its rows itself.
	out, err := c.compile(n.Input, in, at.Projecting(), order.Request{})
	if err != nil {
		return in, err
	}
	if tally != nil {
		if counted, ok := c.CountJoin(tally, out); ok {
			return counted, nil
		}
	}
	_, possible := c.Variables.Vars(n.Input)
	visible := c.Body.Scope.Visible(possible)
	// 2. DISTINCT goes below the group if it can, because it can use files even if one group exceeds the memory.
	if n.DistinctBy != nil {
		d := &blocking.Distinct{Exec: c.Exec, Input: out.Op, Slots: n.DistinctBy, Holder: c.Exec.Account.NewHolder("distinct")}
		out = c.Traced(out, d, "distinct", c.VarsText(algebra.SetOf(n.DistinctBy...)), out.Plan)
	}
	op := &blocking.Group{Exec: c.Exec, Holder: c.Exec.Account.NewHolder("group by")}
	result := build.Stream{Rows: 1}
	// In a lateral run all bindings of the feed's row must pass the group, because the rows
	// above need them.
	if at.Lateral() {
		out = c.Terms(out, at.Outer.Possible)
		op.Pass, op.Feed = at.Outer.Possible.Slots(), at.Outer.Feed
		result.Certain, result.Possible, result.Numbers = at.Outer.Certain, at.Outer.Possible, at.Outer.Numbers
	}
	numbers := result.Numbers
	// 3. Compile keys and aggregates.
	var exprs []ast.Expr
	for _, key := range n.Keys {
		x, err := expr.Compile(key.Expr, expr.Scope{})
		if err != nil {
			return in, err
		}
		from := -1
		if v, ok := key.Expr.(*ast.Var); ok {
			from = v.Slot
		}
		op.Keys = append(op.Keys, blocking.GroupKey{Expr: x, From: from, Slot: key.Slot})
		if from >= 0 && out.Numbers.Has(from) {
			result.Numbers = result.Numbers.With(key.Slot)
		}
		exprs = append(exprs, key.Expr)
		result.Rows = max(1, out.Rows/4)
	}
	for _, a := range n.Aggregates {
		of := a.Agg
		if n.DistinctBy != nil {
			// The rows are distinct already, so the aggregate need not compare them again.
			plain := *of
			plain.Distinct = false
			of = &plain
		}
		agg, err := expr.CompileAggregate(of, expr.Scope{}, visible)
		if err != nil {
			return in, err
		}
		op.Aggs = append(op.Aggs, blocking.GroupAggregate{Agg: agg, Slot: a.Slot})
		exprs = append(exprs, a.Agg)
	}
	// 4. Make the operator over their input.
	env, plans, err := c.newEnv(at, exprs, out)
	if err != nil {
		return in, err
	}
	op.Input, op.Env = out.Op, env
	certain, vars := c.Variables.Vars(n)
	result.Certain, result.Possible = result.Certain.Union(certain), result.Possible.Union(vars)
	result = c.Traced(result, op, "group", build.ListText(exprs, ", ", ast.ExprString), append([]*explain.Plan{out.Plan}, plans...)...)
	result = c.Terms(result, numbers)
	var bound []int
	for _, key := range op.Keys {
		if key.From != key.Slot {
			bound = append(bound, key.Slot)
		}
	}
	return c.Agreeing(result, bound, at), nil
}
