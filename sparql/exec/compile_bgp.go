package exec

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/triple"
)

// bgp joins in with patterns, in the order that is expected to cost least.
func (c *compiler) bgp(patterns []algebra.TriplePattern, in stream, g graphs) (stream, error) {
	if len(patterns) == 0 {
		return in, nil
	}
	list := make([]candidate, len(patterns))
	for i, p := range patterns {
		one := &list[i]
		one.pat = c.newPattern(p.Subject, p.Predicate, p.Object, g)
		one.text = c.body.Scope.Pattern(p)
		for _, at := range one.pat.place {
			if at.slot >= 0 {
				one.vars.Add(at.slot)
			}
		}
	}
	places := 0
	if len(list) > plainPatterns && len(list) <= dynamicPatterns {
		places = samplePlaces
	}
	if err := c.estimate(list, places); err != nil {
		return in, err
	}
	p := c.newPlanner(list, in)
	if err := p.sample(places); err != nil {
		return in, err
	}
	steps := p.best()
	if err := c.query.check(); err != nil {
		return in, err
	}
	for i := 0; i < len(steps); i++ {
		step := &steps[i]
		switch step.method {
		case byMerge:
			in = p.merge(step)
		case byHash:
			one := &list[step.list[0]]
			rows := one.rows
			in = c.hashJoin(innerJoin, in, c.look(one, c.begin(), rows), nil, nil)
			in.rows = step.rows
			in.plan.Estimate = step.rows
		default:
			if n := p.star(steps[i:], in); n > 1 {
				in = p.starOf(steps[i:i+n], in)
				i += n - 1
				continue
			}
			in = c.look(&list[step.list[0]], in, step.rows)
		}
	}
	return in, nil
}

// sample looks into the patterns that are to be joined, unless they are few and
// it is plain where to begin. They were asked for samples in so many places when
// they were counted.
func (p *planner) sample(places int) error {
	if p.c.query.src == nil || len(p.list) == 1 && p.in.start || len(p.list) > dynamicPatterns {
		return nil
	}
	if len(p.list) <= plainPatterns && slices.ContainsFunc(p.list, func(one candidate) bool { return one.rows <= plainRows }) {
		return nil
	}
	if places == 0 {
		if err := p.c.survey(p.list, samplePlaces); err != nil {
			return err
		}
	}
	return p.c.samples(p.list)
}

const (
	plainPatterns = 3
	plainRows     = 16
)

// best returns the steps that are expected to take least: for all rows, for the
// first ones where a limit asks for no more, or in the sequence that is wanted.
func (p *planner) best() []joinStep {
	c := p.c
	leaf := c.feed == nil && p.in.start
	if len(p.list) == 1 && (c.want == nil || !leaf) {
		return []joinStep{{list: []int{0}, rows: p.in.rows * p.list[0].fan(p.begin().distinct)}}
	}
	steps, all := p.solve(ways{first: -1, hash: c.feed == nil, merge: leaf})
	cost := all.cost
	if c.want != nil && leaf {
		cost += all.rows * costSort
		top := float64(c.want.top)
		for i := range p.list {
			if c.sequenceOrder(p.list[i].pat) == 0 {
				continue
			}
			some, last := p.solve(ways{first: i})
			if share := firstShare(top, last.rows); last.cost*share < cost || len(p.list) == 1 {
				steps, cost = some, last.cost*share
				c.want.got = true
			}
		}
		if c.want.got {
			one := &p.list[steps[0].list[0]]
			one.pat.order = c.sequenceOrder(one.pat)
		}
		return steps
	}
	if c.goal > 0 {
		first := ways{first: -1, share: firstShare(float64(c.goal), all.rows)}
		if some, last := p.solve(first); first.weigh(&last) < cost {
			return some
		}
	}
	return steps
}

// firstShare is which share of a plan's cost its first rows take.
func firstShare(some, all float64) float64 {
	if all <= some {
		return 1
	}
	return (some + firstChunkRows) / (all + firstChunkRows)
}

// look joins in with one pattern by look-ups.
func (c *compiler) look(one *candidate, in stream, rows float64) stream {
	pat := one.pat
	name := "index look-up"
	if in.start && c.feed == nil {
		name = "index scan"
	}
	l := newLookup(c.query, in.op, pat, nil)
	detail := c.accessText(one, in.certain)
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

// accessText says how a pattern is read from rows that bind variables.
func (c *compiler) accessText(one *candidate, certain algebra.Set) string {
	mask := uint8(0)
	for position, at := range one.pat.place {
		if at.key != "" || at.slot >= 0 && certain.Has(at.slot) {
			mask |= 1 << position
		}
	}
	if one.pat.graphs.mode == oneGraph {
		mask |= 1 << triple.Graph
	}
	a := one.pat.access(mask)
	text := a.order.String() + " " + one.text
	if a.spans != nil {
		text += " in a range"
	}
	return text
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

// bound reports whether a position behind a place of the order is bound, other
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
