// GROUP BY.

package plan

import (
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/blocking"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// group makes one row of each group of rows of the input.
func (c *compiler) group(n *algebra.Group, in build.Stream, at build.Scope) (build.Stream, error) {
	// 1. Counts of one pattern are tallies. All else needs the rows of the input.
	below := at.Projecting()
	out, err := c.compile(n.Input, in, below, order.Request{})
	if err != nil {
		return in, err
	}
	if counted, ok := c.CountJoin(n, out, at); ok {
		return counted, nil
	}
	_, possible := c.Variables.Vars(n.Input)
	visible := visibleSlots(c.Body.Scope, possible)
	// 2. If each solution counts once only, DISTINCT goes below the group, because it can use
	// files.
	distinctBelow := false
	if slots, ok := distinctOf(n, visible); ok && !at.Lateral() {
		d := &blocking.Distinct{Exec: c.Exec, Input: out.Op, Slots: slots, Holder: c.Exec.Account.NewHolder("distinct")}
		out = c.Traced(out, d, "distinct", c.VarsText(algebra.SetOf(slots...)), out.Plan)
		distinctBelow = true
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
		if distinctBelow {
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

// visibleSlots returns the variables of the solutions that a group counts: the possible ones with a name in the query.
func visibleSlots(of *algebra.Scope, possible algebra.Set) (visible []int) {
	for slot := range possible.All {
		if name := of.Name(slot); !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_:") {
			visible = append(visible, slot)
		}
	}
	return visible
}

// distinctOf reports whether all aggregates are DISTINCT of one variable, or of the whole
// solution, and all keys variables. Then each solution needs to be seen once only by these
// slots. A [exec.Distinct] below does this, because it can go to files even if one group
// exceeds the memory.
func distinctOf(n *algebra.Group, visible []int) ([]int, bool) {
	// 1. All keys must be variables, because an expression has no slot.
	var slots algebra.Set
	for _, key := range n.Keys {
		v, ok := key.Expr.(*ast.Var)
		if !ok || v.Slot < 0 {
			return nil, false
		}
		slots.Add(v.Slot)
	}
	// 2. All aggregates must be of the same variable, or all of the whole solution.
	slot := -1
	for i, a := range n.Aggregates {
		of := -2 // the whole solution
		if a.Agg.Arg != nil {
			v, ok := a.Agg.Arg.(*ast.Var)
			if !ok {
				return nil, false
			}
			of = v.Slot
		}
		if !a.Agg.Distinct || of == -1 || i > 0 && of != slot {
			return nil, false
		}
		slot = of
	}
	switch {
	// 3. The slots of a whole solution are those visible to the query.
	case slot == -1:
		return nil, false
	case slot == -2:
		slots.AddAll(algebra.SetOf(visible...))
	default:
		slots.Add(slot)
	}
	return slots.Slots(), true
}
