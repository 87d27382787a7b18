// How groups and solution modifiers become operators.

package exec

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
)

func (c *compiler) group(n *algebra.Group, in stream, g graphs, depth int) (stream, error) {
	if s, ok, err := c.count(n, g); ok || err != nil {
		return s, err
	}
	if s, ok, err := c.groupCounts(n, g); ok || err != nil {
		return s, err
	}
	out, err := c.alone().compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	_, possible := c.vars(n.Input)
	distinctBelow := false
	var visible []int
	for _, slot := range possible.Slots() {
		if name := c.body.Scope.Name(slot); !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_:") {
			visible = append(visible, slot)
		}
	}
	if slots, ok := distinctOf(n, visible); ok && c.feed == nil {
		d := &distinct{q: c.query, in: out.op, slots: slots, holder: holder{account: &c.query.account, name: "distinct"}}
		out = c.traced(out, d, "distinct", c.names(setOf(slots)), out.plan)
		distinctBelow = true
	}
	op := &group{q: c.query, in: out.op, holder: holder{account: &c.query.account, name: "group by"}}
	result := stream{rows: 1, certain: c.certain, possible: c.possible}
	if c.feed != nil {
		op.pass = c.possible.Slots()
	}
	var exprs []ast.Expr
	var keys []string
	for _, key := range n.Keys {
		x, err := expr.Compile(key.Expr, c.scope())
		if err != nil {
			return in, err
		}
		from := -1
		if v, ok := key.Expr.(*ast.Var); ok {
			from = v.Slot
		}
		op.keys = append(op.keys, groupKey{x, from, key.Slot})
		exprs = append(exprs, key.Expr)
		keys = append(keys, ast.ExprString(key.Expr))
		result.rows = max(1, out.rows/4)
	}
	for _, a := range n.Aggregates {
		of := a.Agg
		if distinctBelow {
			plain := *of
			plain.Distinct = false
			of = &plain
		}
		agg, err := expr.CompileAggregate(of, c.scope(), visible)
		if err != nil {
			return in, err
		}
		op.aggs = append(op.aggs, groupAggregate{agg, a.Slot})
		exprs = append(exprs, a.Agg)
		keys = append(keys, ast.ExprString(a.Agg))
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	op.env = env
	certain, vars := c.vars(n)
	result.certain, result.possible = union(result.certain, certain), union(result.possible, vars)
	return c.traced(result, op, "group", strings.Join(keys, ", "), append([]*Plan{out.plan}, plans...)...), nil
}

// distinctOf reports whether all aggregates are DISTINCT of one variable, or of the
// whole solution, and all keys variables. Then each solution needs to be seen once
// only by these slots, which a [distinct] below does: it can go to files even where
// one group holds more than the memory.
func distinctOf(n *algebra.Group, visible []int) ([]int, bool) {
	var slots algebra.Set
	for _, key := range n.Keys {
		v, ok := key.Expr.(*ast.Var)
		if !ok || v.Slot < 0 {
			return nil, false
		}
		slots.Add(v.Slot)
	}
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
	case slot == -1:
		return nil, false
	case slot == -2:
		slots.AddAll(setOf(visible))
	default:
		slots.Add(slot)
	}
	return slots.Slots(), true
}

func setOf(slots []int) algebra.Set {
	var s algebra.Set
	for _, slot := range slots {
		s.Add(slot)
	}
	return s
}

func (c *compiler) orderBy(n *algebra.OrderBy, in stream, g graphs, depth int) (stream, error) {
	op := &order{q: c.query, top: c.top, inSequence: -1, holder: holder{account: &c.query.account, name: "order by"}}
	sub := c.alone()
	if v, ok := n.Keys[0].Expr.(*ast.Var); ok && c.top > 0 && c.feed == nil {
		sub.want = &sequence{slot: v.Slot, descending: n.Keys[0].Descending, top: c.top}
	}
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	name := "order by"
	if op.top >= 0 {
		name = fmt.Sprintf("top %d", op.top)
	}
	if sub.want != nil && sub.want.got {
		op.inSequence = sub.want.slot
		name += " of the store's sequence"
	}
	var exprs []ast.Expr
	var detail []string
	for _, key := range n.Keys {
		x, err := expr.Compile(key.Expr, c.scope())
		if err != nil {
			return in, err
		}
		op.keys = append(op.keys, orderKey{x, key.Descending})
		exprs = append(exprs, key.Expr)
		text := ast.ExprString(key.Expr)
		if key.Descending {
			text = "desc " + text
		}
		detail = append(detail, text)
	}
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	op.in, op.env = out.op, env
	if op.top >= 0 {
		out.rows = min(out.rows, float64(op.top))
	}
	out.sequence = false
	return c.traced(out, op, name, strings.Join(detail, ", "), append([]*Plan{out.plan}, plans...)...), nil
}

func (c *compiler) project(n *algebra.Project, in stream, g graphs, depth int) (stream, error) {
	sub := c.alone()
	sub.top, sub.goal = c.top, c.goal
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	p := &project{in: out.op, keep: make([]bool, c.query.width)}
	var kept algebra.Set
	kept.AddAll(c.possible)
	for _, slot := range n.Slots {
		kept.Add(slot)
	}
	for _, slot := range kept.Slots() {
		p.keep[slot] = true
	}
	out.certain, out.possible = out.certain.Intersect(kept), out.possible.Intersect(kept)
	return c.traced(out, p, "project", c.names(kept), out.plan), nil
}

func (c *compiler) distinct(input algebra.Node, in stream, g graphs, depth int) (stream, error) {
	if s, ok, err := c.distinctTerms(input, g); ok || err != nil {
		return s, err
	}
	sub := c.alone()
	sub.goal = 4 * c.goal // a guess
	out, err := sub.compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	d := &distinct{q: c.query, in: out.op, slots: out.possible.Slots(), keepOrder: sorts(input), holder: holder{account: &c.query.account, name: "distinct"}}
	return c.traced(out, d, "distinct", "", out.plan), nil
}

// sorted reports whether the rows of n come in an order that was asked for.
func sorts(n algebra.Node) bool {
	switch n := n.(type) {
	case *algebra.OrderBy:
		return true
	case *algebra.Project:
		return sorts(n.Input)
	case *algebra.Extend:
		return sorts(n.Input)
	case *algebra.Distinct:
		return sorts(n.Input)
	case *algebra.Reduced:
		return sorts(n.Input)
	case *algebra.Slice:
		return sorts(n.Input)
	}
	return false
}

func (c *compiler) reduced(input algebra.Node, in stream, g graphs, depth int) (stream, error) {
	out, err := c.alone().compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	r := &reduced{q: c.query, in: out.op, slots: out.possible.Slots(), holder: holder{account: &c.query.account, name: "reduced"}}
	return c.traced(out, r, "reduced", "", out.plan), nil
}

func (c *compiler) slice(n *algebra.Slice, in stream, g graphs, depth int) (stream, error) {
	sub := c.alone()
	if n.Limit != ast.NoLimit && n.Limit >= 0 && n.Limit+n.Offset >= 0 && n.Limit+n.Offset <= maxTop {
		sub.top = n.Limit + n.Offset
		sub.goal = sub.top
	}
	if _, ok := n.Input.(*algebra.Distinct); ok {
		sub.top = -1
	}
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	s := &slice{in: out.op, offset: n.Offset, limit: n.Limit}
	detail := ""
	if n.Limit != ast.NoLimit {
		detail = fmt.Sprintf("limit %d", n.Limit)
		out.rows = min(out.rows, float64(n.Limit))
	}
	if n.Offset > 0 {
		detail = strings.TrimSpace(fmt.Sprintf("%s offset %d", detail, n.Offset))
	}
	return c.traced(out, s, sliceOperator, detail, out.plan), nil
}

// maxTop is up to which limit a heap is kept rather than all rows sorted.
const maxTop = 100_000
