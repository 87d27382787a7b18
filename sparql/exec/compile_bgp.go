package exec

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// candidate is a pattern of a basic graph pattern that is being planned.
type candidate struct {
	pat  *pattern
	text string
	vars algebra.Set
	base float64 // rows that match it by itself
}

// bgp joins in with patterns, in the order that is expected to cost least.
func (c *compiler) bgp(patterns []algebra.TriplePattern, in stream, g graphs) (stream, error) {
	if len(patterns) == 0 {
		return in, nil
	}
	list := make([]candidate, len(patterns))
	for i, p := range patterns {
		pat := c.newPattern(p.Subject, p.Predicate, p.Object, g)
		list[i] = candidate{pat: pat, text: c.body.Scope.Pattern(p)}
		for _, at := range pat.place {
			if at.slot >= 0 {
				list[i].vars.Add(at.slot)
			}
		}
		base, err := c.base(pat)
		if err != nil {
			return in, err
		}
		list[i].base = base
	}
	order := c.joinOrder(list, in)
	if err := c.query.check(); err != nil {
		return in, err
	}
	if first, ok := c.sequenceOf(list, order, in); ok {
		order = append([]int{first}, without(order, first)...)
		list[first].pat.order = c.sequenceOrder(list[first].pat)
	}
	for i, at := range order {
		one := list[at]
		fan := c.fan(&one, in.certain)
		if i > 0 && c.hashes(&one, in, fan) {
			right := c.look(one.pat, c.begin(), one.text)
			rows := in.rows * fan
			in = c.hashJoin(innerJoin, in, right, nil, nil)
			in.rows = rows
			continue
		}
		in = c.look(one.pat, in, one.text)
	}
	return in, nil
}

// look joins in with one pattern by look-ups.
func (c *compiler) look(pat *pattern, in stream, text string) stream {
	one := candidate{pat: pat}
	one.base, _ = c.base(pat)
	rows := in.rows * c.fan(&one, in.certain)
	name := "index look-up"
	if in.start && c.feed == nil {
		name = "index scan"
	}
	mask := uint8(0)
	for position, at := range pat.place {
		if at.key != "" || at.slot >= 0 && in.certain.Has(at.slot) {
			mask |= 1 << position
		}
	}
	if pat.graphs.mode == oneGraph {
		mask |= 1 << triple.Graph
	}
	a := pat.access(mask)
	detail := a.order.String() + " " + text
	if a.spans != nil {
		detail += " in a range"
	}
	l := newLookup(c.query, in.op, pat, nil)
	if pat.order != 0 && c.want != nil && c.want.got && c.want.descending {
		l.reverse = true
		detail += " from the end"
	}
	out := in
	out.rows = rows
	for _, at := range pat.place {
		if at.slot >= 0 {
			out.bind(at.slot)
		}
	}
	out = c.traced(out, l, name, detail, in.plan)
	l.plan = out.plan
	return out
}

// base returns about how many rows match a pattern by itself.
func (c *compiler) base(pat *pattern) (float64, error) {
	if c.query.src == nil {
		return 0, nil
	}
	empty := make([]string, c.query.width)
	a := pat.access(pat.mask(empty))
	total := 0.0
	ranges, _ := pat.ranges(nil, nil, a, empty)
	for _, r := range ranges {
		rows, _, err := c.query.src.Estimate(c.query.ctx, r)
		if err != nil {
			return 0, err
		}
		total += float64(rows)
	}
	for range a.consts {
		total = math.Sqrt(total)
	}
	return total, nil
}

// fan returns about how many matches a pattern has for each row that binds some
// variables. Without figures about distinct terms it is a guess: a subject has
// few triples of a predicate, an object many.
func (c *compiler) fan(one *candidate, bound algebra.Set) float64 {
	rows := max(one.base, 0.1)
	exponent := 1.0
	for position, at := range one.pat.place {
		if at.slot < 0 || !bound.Has(at.slot) {
			continue
		}
		switch position {
		case triple.Subject:
			exponent *= 0.1
		case triple.Object:
			exponent *= 0.4
		case triple.Predicate:
			exponent *= 0.8
		case triple.Graph:
			exponent *= 0.9
		}
	}
	return math.Pow(rows, exponent)
}

const seekCost = 4 // of a look-up, in rows read one after the other

// joinOrder returns the order of patterns: by dynamic programming up to ten of
// them, greedily beyond.
func (c *compiler) joinOrder(list []candidate, in stream) []int {
	if len(list) == 1 {
		return []int{0}
	}
	if len(list) > 10 {
		return c.greedyOrder(list, in)
	}
	type state struct {
		cost, rows float64
		last       int
		bound      algebra.Set
		reached    bool
	}
	states := make([]state, 1<<len(list))
	states[0] = state{rows: max(in.rows, 1), bound: in.certain, reached: true, last: -1}
	for mask := range states {
		from := states[mask]
		if !from.reached {
			continue
		}
		for i := range list {
			if mask&(1<<i) != 0 {
				continue
			}
			rows := from.rows * c.fan(&list[i], from.bound)
			cost := from.cost + rows + from.rows*seekCost
			to := &states[mask|1<<i]
			if !to.reached || cost < to.cost {
				*to = state{cost, rows, i, union(from.bound, list[i].vars), true}
			}
		}
	}
	order := make([]int, len(list))
	mask := len(states) - 1
	for i := len(list) - 1; i >= 0; i-- {
		order[i] = states[mask].last
		mask &^= 1 << order[i]
	}
	return order
}

func (c *compiler) greedyOrder(list []candidate, in stream) []int {
	bound := in.certain
	used := make([]bool, len(list))
	var order []int
	for range list {
		if c.query.check() != nil { // bgp looks at it again
			return nil
		}
		best, least, linked := -1, 0.0, false
		for i := range list {
			if used[i] {
				continue
			}
			rows := c.fan(&list[i], bound)
			joins := list[i].vars.Intersect(bound).Len() > 0
			if best < 0 || joins && !linked || joins == linked && rows < least {
				best, least, linked = i, rows, joins
			}
		}
		used[best] = true
		order = append(order, best)
		bound = union(bound, list[best].vars)
	}
	return order
}

func without(list []int, x int) []int {
	var out []int
	for _, y := range list {
		if y != x {
			out = append(out, y)
		}
	}
	return out
}

// hashes tells whether scanning a pattern once is cheaper than looking it up for
// each row, and fits.
func (c *compiler) hashes(one *candidate, in stream, fan float64) bool {
	const lookUps, scanned, rowBytes = 2000, 20, 256
	if c.want != nil && c.want.got {
		return false // few rows are wanted
	}
	return c.feed == nil && one.pat.order == 0 && in.rows >= lookUps && one.base <= scanned*in.rows &&
		one.vars.Intersect(in.certain).Len() > 0 && one.base*rowBytes < float64(c.query.account.limit/4)
}

// sequenceOf returns the pattern that gives rows in the wanted order, where
// reading them so and stopping early is expected to cost less than sorting.
func (c *compiler) sequenceOf(list []candidate, order []int, in stream) (int, bool) {
	if c.want == nil || c.feed != nil || !in.start {
		return 0, false
	}
	rows := 1.0
	var bound algebra.Set
	for _, i := range order {
		rows *= c.fan(&list[i], bound)
		bound = union(bound, list[i].vars)
	}
	for i := range list {
		if c.sequenceOrder(list[i].pat) != 0 && (len(list) == 1 || rows > 4*float64(c.want.top) && list[i].base < rows*16) {
			c.want.got = true
			return i, true
		}
	}
	return 0, false
}

// sequenceOrder returns the order in which a scan of a pattern gives the wanted
// variable's terms in sequence; 0 for none.
func (c *compiler) sequenceOrder(pat *pattern) triple.Order {
	mask := pat.mask(make([]string, c.query.width))
	for _, o := range triple.Orders {
		if o == triple.GSPO && mask&8 == 0 && pat.graphs.mode != eachGraph {
			continue
		}
		for place, position := range o.Positions() {
			if mask&(1<<position) != 0 {
				continue
			}
			if pat.place[position].slot == c.want.slot && place < 4 && !bound(mask, o, place) {
				return o
			}
			break
		}
	}
	return 0
}

// bound tells whether a position behind a place of the order is bound, other
// than the graph: a scan would read rows in vain.
func bound(mask uint8, o triple.Order, place int) bool {
	positions := o.Positions()
	for _, position := range positions[place+1:] {
		if position != triple.Graph && mask&(1<<position) != 0 {
			return true
		}
	}
	return false
}

// count answers COUNT over one pattern from the store's own count. ok is false
// where a row of the store may not be exactly one solution.
func (c *compiler) count(n *algebra.Group, g graphs) (stream, bool, error) {
	bgp, isBGP := n.Input.(*algebra.BGP)
	if !isBGP || len(bgp.Patterns) != 1 || len(n.Keys) > 0 || c.feed != nil || len(n.Aggregates) == 0 {
		return stream{}, false, nil
	}
	p := bgp.Patterns[0]
	pat := c.alone().newPattern(p.Subject, p.Predicate, p.Object, g)
	for _, a := range n.Aggregates {
		v, isVar := a.Agg.Arg.(*ast.Var)
		if a.Agg.Func != ast.AggCount || a.Agg.Distinct || a.Agg.Arg != nil && !isVar {
			return stream{}, false, nil
		}
		if isVar {
			if _, possible := algebra.Vars(bgp); !possible.Has(v.Slot) {
				return stream{}, false, nil
			}
		}
	}
	empty := make([]string, c.query.width)
	a := pat.access(pat.mask(empty))
	if len(a.consts) > 0 || len(a.same) > 0 || g.mode == someGraphs || g.mode == eachGraph {
		return stream{}, false, nil
	}
	if g.mode == defaultGraph || g.mode == anyGraph {
		some, err := c.query.any(triple.OrderRange(triple.GSPO), nil)
		if some || err != nil {
			return stream{}, false, err
		}
	}
	ranges, _ := pat.ranges(nil, nil, a, empty)
	op := &countRange{q: c.query, ranges: ranges}
	out := stream{rows: 1}
	for _, agg := range n.Aggregates {
		op.slots = append(op.slots, agg.Slot)
		out.bind(agg.Slot)
	}
	out = c.traced(out, op, "count", a.order.String()+" "+c.body.Scope.Pattern(p))
	op.plan = out.plan
	return out, true, nil
}

// countRange gives one row with the number of rows in ranges of the store.
type countRange struct {
	q      *query
	ranges []triple.Range
	slots  []int
	plan   *Plan
	done   bool
}

func (c *countRange) next(out *batch) error {
	if c.done {
		return nil
	}
	c.done = true
	var total int64
	for _, r := range c.ranges {
		n, err := c.q.src.Count(c.q.ctx, r)
		if err != nil {
			return err
		}
		total += n
	}
	row := out.add(make([]string, c.q.width), 0)
	for _, slot := range c.slots {
		row[slot] = encode(expr.FromInt(total).Term())
	}
	return nil
}

func (c *countRange) reset() { c.done = false }
func (c *countRange) close() {}
