// How groups and solution modifiers become operators.

package plan

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

func (c *compiler) group(n *algebra.Group, in stream, g pattern.Graphs, depth int) (stream, error) {
	// 1. Counts of one pattern are tallies. All else needs the rows of the input.
	sub := c.alone()
	sub.projected = true
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	if counted, ok := c.countJoin(n, out); ok {
		return counted, nil
	}
	_, possible := c.visible.Vars(n.Input)
	distinctBelow := false
	var visible []int
	for slot := range possible.All {
		if name := c.body.Scope.Name(slot); !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_:") {
			visible = append(visible, slot)
		}
	}
	// 2. If each solution counts once only, DISTINCT goes below the group, because it can use
	// files.
	if slots, ok := distinctOf(n, visible); ok && c.feed == nil {
		d := &exec.Distinct{Exec: c.query, Input: out.op, Slots: slots, Holder: c.query.Account.NewHolder("distinct")}
		out = c.traced(out, d, "distinct", names(c.body.Scope, algebra.SetOf(slots...)), out.plan)
		distinctBelow = true
	}
	op := &exec.Group{Exec: c.query, Holder: c.query.Account.NewHolder("group by")}
	result := stream{rows: 1, certain: c.certain, possible: c.possible}
	// In a lateral run all bindings of the feed's row must pass the group, because the rows
	// above need them.
	if c.feed != nil {
		out = c.terms(out, c.possible)
		op.Pass, op.Feed = c.possible.Slots(), c.feed
		result.numbers = c.numbers
	}
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
		op.Keys = append(op.Keys, exec.GroupKey{Expr: x, From: from, Slot: key.Slot})
		if from >= 0 && out.numbers.Has(from) {
			result.numbers = result.numbers.With(key.Slot)
		}
		exprs = append(exprs, key.Expr)
		result.rows = max(1, out.rows/4)
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
		op.Aggs = append(op.Aggs, exec.GroupAggregate{Agg: agg, Slot: a.Slot})
		exprs = append(exprs, a.Agg)
	}
	// 4. Make the operator over their input.
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	op.Input, op.Env = out.op, env
	certain, vars := c.visible.Vars(n)
	result.certain, result.possible = result.certain.Union(certain), result.possible.Union(vars)
	result = c.traced(result, op, "group", listText(exprs, ", ", ast.ExprString), append([]*explain.Plan{out.plan}, plans...)...)
	result = c.terms(result, c.numbers)
	var bound []int
	for _, key := range op.Keys {
		if key.From != key.Slot {
			bound = append(bound, key.Slot)
		}
	}
	return c.agreeing(result, bound), nil
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

// orderBy sorts the rows of a node. top is how many are needed; negative for all.
func (c *compiler) orderBy(input algebra.Node, keys []ast.OrderKey, top int64, in stream, g pattern.Graphs, depth int) (stream, error) {
	op := &exec.OrderBy{Exec: c.query, Top: top, InSequence: -1, Holder: c.query.Account.NewHolder("order by")}
	// 1. If only first rows are wanted and the first key is a variable, the input may come in its
	// sequence.
	sub := c.alone()
	if v, ok := keys[0].Expr.(*ast.Var); ok && top > 0 && c.feed == nil {
		sub.want = &sequence{slot: v.Slot, descending: keys[0].Descending, top: top}
	}
	out, err := sub.compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	name := "order by"
	if op.Top >= 0 {
		name = fmt.Sprintf("top %d", op.Top)
	}
	if sub.want != nil && sub.want.got {
		op.InSequence = sub.want.slot
		name += " of the store's sequence"
	}
	// 2. Compile the keys.
	var exprs []ast.Expr
	for _, key := range keys {
		x, err := expr.Compile(key.Expr, expr.Scope{})
		if err != nil {
			return in, err
		}
		op.Keys = append(op.Keys, exec.OrderKey{Expr: x, Descending: key.Descending})
		exprs = append(exprs, key.Expr)
	}
	// 3. Make the operator. It keeps a heap if there is a top.
	env, plans, err := c.newEnv(g, exprs, out)
	if err != nil {
		return in, err
	}
	op.Input, op.Env = out.op, env
	if op.Top >= 0 {
		out.rows = min(out.rows, float64(op.Top))
	}
	out.sequence = false
	return c.traced(out, op, name, listText(keys, ", ", keyText), append([]*explain.Plan{out.plan}, plans...)...), nil
}

func keyText(key ast.OrderKey) string {
	text := ast.ExprString(key.Expr)
	if key.Descending {
		text = "desc " + text
	}
	return text
}

func (c *compiler) project(n *algebra.Project, in stream, g pattern.Graphs, depth int) (stream, error) {
	sub := c.alone()
	sub.goal, sub.projected = c.goal, true
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	p := &exec.Project{Input: out.op, Keep: make([]bool, c.query.Width)}
	var kept algebra.Set
	kept.AddAll(c.possible)
	for _, slot := range n.Slots {
		kept.Add(slot)
	}
	for slot := range kept.All {
		p.Keep[slot] = true
	}
	out.certain, out.possible, out.numbers = out.certain.Intersect(kept), out.possible.Intersect(kept), out.numbers.Intersect(kept)
	return c.traced(out, p, "project", names(c.body.Scope, kept), out.plan), nil
}

func (c *compiler) distinct(input algebra.Node, in stream, g pattern.Graphs, depth int) (stream, error) {
	sub := c.alone()
	sub.goal = 4 * c.goal // a guess
	out, err := sub.compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	d := &exec.Distinct{Exec: c.query, Input: out.op, Slots: out.possible.Slots(), KeepOrder: sorts(input), Holder: c.query.Account.NewHolder("distinct")}
	return c.traced(out, d, "distinct", nil, out.plan), nil
}

// sorts reports whether the rows of n must come in an order requested by the query.
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

func (c *compiler) reduced(input algebra.Node, in stream, g pattern.Graphs, depth int) (stream, error) {
	out, err := c.alone().compile(input, in, g, depth)
	if err != nil {
		return in, err
	}
	r := &exec.Reduced{Exec: c.query, Input: out.op, Slots: out.possible.Slots(), Holder: c.query.Account.NewHolder("reduced")}
	return c.traced(out, r, "reduced", nil, out.plan), nil
}

func (c *compiler) slice(n *algebra.Slice, in stream, g pattern.Graphs, depth int) (stream, error) {
	sub := c.alone()
	sub.goal, _ = optimize.Needed(n)
	out, err := sub.compile(n.Input, in, g, depth)
	if err != nil {
		return in, err
	}
	s := &exec.Slice{Input: out.op, Offset: n.Offset - n.Skipped, Limit: n.Limit}
	if n.Limit != ast.NoLimit {
		out.rows = min(out.rows, float64(n.Limit))
	}
	return c.traced(out, s, explain.SliceOperator, func() string { return sliceText(n) }, out.plan), nil
}

// seek reads one pattern from a binding of its variable on.
func (c *compiler) seek(n *algebra.Seek, in stream, g pattern.Graphs) (stream, error) {
	sub := c.alone()
	sub.want, sub.goal = c.want, c.goal
	sub.spans = map[int]pattern.Restriction{n.Slot: {Spans: []pattern.Span{{Lo: n.Lo, Hi: n.Hi}}}}
	return sub.bgp(n.Input.Patterns, in, g)
}

func sliceText(n *algebra.Slice) string {
	text := ""
	if n.Limit != ast.NoLimit {
		text = fmt.Sprintf("limit %d", n.Limit)
	}
	if n.Offset > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%s offset %d", text, n.Offset))
	}
	return text
}
