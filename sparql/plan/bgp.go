// Basic graph patterns: the steps of the join order become operators.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/triple"
)

// bgp joins in with patterns, in the order expected to cost least.
func (c *compiler) bgp(patterns []algebra.TriplePattern, in stream, g pattern.Graphs) (stream, error) {
	if len(patterns) == 0 {
		return in, nil
	}
	in, err := c.unfold(in)
	if err != nil {
		return in, err
	}
	// 1. Make a candidate of each pattern, with one variable in place of two that must be equal.
	all := patterns
	patterns, aliases := c.unify(patterns, in, g)
	list := make([]candidate, len(patterns))
	for i := range patterns {
		if list[i], err = c.candidateOf(&patterns[i], in, g); err != nil {
			return in, err
		}
	}
	// 2. Find the order of least cost, and make its operators.
	p, steps, err := c.ordered(list, in)
	if err != nil {
		return in, err
	}
	var needed func(from, slot int) bool
	for i := 0; i < len(steps); i++ {
		step := &steps[i]
		if n := p.columnSteps(steps[i:], in); n > 0 {
			if needed == nil {
				needed = p.neededBehind(steps, all, aliases)
			}
			behind := func(slot int) bool { return needed(i+n, slot) }
			if in, err = p.columnJoin(steps[i:i+n], in, behind); err != nil {
				return in, err
			}
			i += n - 1
			if in, err = c.ready(in); err != nil {
				return in, err
			}
			continue
		}
		switch step.method {
		case byMerge:
			in = p.merge(step)
		case byHash:
			right, err := p.scan(&list[step.list[0]])
			if err != nil {
				return in, err
			}
			in = c.hashJoin(exec.InnerJoin, in, right, nil, nil)
			in.rows = step.rows
			in.plan.Estimate = step.rows
		case byNarrow:
			in = p.lookNarrow(&list[step.list[0]], in, step.rows)
		case byEquality:
			if in, err = p.equalityJoin(in, &list[step.list[0]], step.equality, step.rows); err != nil {
				return in, err
			}
		default:
			if n := p.star(steps[i:], in); n > 1 {
				in = p.starOf(steps[i:i+n], in)
				i += n - 1
			} else {
				in = c.terms(in, list[step.list[0]].vars)
				in = c.look(&list[step.list[0]], in, step.rows)
			}
		}
		if in, err = c.ready(in); err != nil {
			return in, err
		}
	}
	return c.ready(c.bindAliases(in, aliases))
}

// unify carries out [optimize.Unify] by the waiting conditions.
func (c *compiler) unify(patterns []algebra.TriplePattern, in stream, g pattern.Graphs) ([]algebra.TriplePattern, []optimize.Alias) {
	var waiting []*condition
	var conds []ast.Expr
	for _, one := range c.waiting {
		if !one.done {
			waiting, conds = append(waiting, one), append(conds, one.expr)
		}
	}
	if len(conds) == 0 {
		return patterns, nil
	}
	// A variable in the requested sequence must stay, because the scan is chosen by it.
	rows := optimize.Bound{Certain: in.certain, Possible: in.possible, Nodes: c.nodes, Wanted: -1, EachGraph: g.Mode == pattern.EachGraph}
	if c.want != nil {
		rows.Wanted = c.want.slot
	}
	for _, one := range c.unfolds {
		if !one.done {
			rows.Unfolds = rows.Unfolds.Union(one.inner).With(one.node.Slot)
		}
	}
	rows.ExactObjects = func(p algebra.TriplePattern) bool {
		col := c.column(newPattern(p.Subject, p.Predicate, p.Object, g, nil))
		return col != nil && c.columns.Dictionary().Exact(&col.ByObject)
	}
	patterns, aliases, done := optimize.Unify(patterns, conds, rows)
	for i, one := range waiting {
		one.done = done[i]
	}
	return patterns, aliases
}

// bindAliases binds the variables that unify has replaced.
func (c *compiler) bindAliases(s stream, aliases []optimize.Alias) stream {
	for _, a := range aliases {
		detail := func() string { return "?" + c.body.Scope.Name(a.Slot) + " = " + c.endText(a.To) }
		s.bind(a.Slot)
		if !a.To.IsVar() {
			s = c.traced(s, &exec.Constant{Input: s.op, Slot: a.Slot, Binding: solution.Encode(a.To.Term)}, "extend", detail, s.plan)
			continue
		}
		if s.numbers.Has(a.To.Slot) {
			s.numbers = s.numbers.With(a.Slot)
		}
		s = c.traced(s, &exec.Copy{Input: s.op, From: a.To.Slot, To: a.Slot}, "extend", detail, s.plan)
	}
	return s
}

// wants reports whether rows must come in the sequence of a variable.
func (c *compiler) wants(slot int) bool { return c.want != nil && c.want.slot == slot }

// wantsAny reports whether rows must come in the sequence of a variable of patterns.
func (c *compiler) wantsAny(patterns []algebra.TriplePattern) bool {
	_, possible := algebra.Vars(&algebra.BGP{Patterns: patterns})
	return c.want != nil && possible.Has(c.want.slot)
}

// candidateOf returns the candidate of a pattern after rows of an input.
func (c *compiler) candidateOf(p *algebra.TriplePattern, in stream, g pattern.Graphs) (one candidate, err error) {
	spans := c.spans
	if spans, err = c.withCandidates(p, g, in.certain, spans); err != nil {
		return one, err
	}
	one.pat = newPattern(p.Subject, p.Predicate, p.Object, g, spans)
	one.column = c.column(one.pat)
	one.text = c.patternText(p)
	for _, at := range one.pat.Places {
		if at.Slot >= 0 {
			one.vars.Add(at.Slot)
		}
	}
	return one, nil
}

// ordered returns the steps expected to take least to join in with patterns, and their
// planner. The order of an earlier run holds while the columns are the same.
func (c *compiler) ordered(list []candidate, in stream) (p *planner, steps []joinStep, err error) {
	if steps := c.orders.get(list, in.rows); steps != nil {
		return &planner{c: c, list: list, in: in}, steps, nil
	}
	// 1. Estimate the patterns. If there are many, samples are requested at once, because they will be
	// needed in any case.
	places := 0
	if len(list) > plainPatterns && len(list) <= dynamicPatterns {
		places = samplePlaces
	}
	if err := c.estimator.estimate(list, places); err != nil {
		return nil, nil, err
	}
	p = newPlanner(c, list, in)
	if err := p.sample(places); err != nil {
		return nil, nil, err
	}
	// 2. Find the order.
	steps = p.best()
	if err := c.query.Check(); err != nil {
		return nil, nil, err
	}
	if c.want == nil || !c.want.got { // a scan in a sequence is more than an order
		c.orders.put(list, in.rows, steps)
	}
	return p, steps, nil
}

// sample sets the estimates of the patterns from samples. It does not if their order is given, or
// if they are few and one has so few rows that it goes first. If places is not 0, the samples were
// requested with the counts already.
func (p *planner) sample(places int) error {
	if p.c.query.Source == nil || len(p.list) == 1 && p.in.start || len(p.list) > dynamicPatterns {
		return nil
	}
	if !slices.ContainsFunc(p.list, func(one candidate) bool { return one.column == nil }) {
		return nil
	}
	if len(p.list) <= plainPatterns && slices.ContainsFunc(p.list, func(one candidate) bool { return one.rows <= plainRows }) {
		return nil
	}
	if places == 0 {
		if err := p.c.estimator.survey(p.list, samplePlaces); err != nil {
			return err
		}
	}
	return p.c.estimator.samples(p.list)
}

const (
	plainPatterns = 3
	plainRows     = 16
)

// best returns the steps expected to take least: for all rows, for the
// first ones if a limit asks for no more, or in the sequence wanted.
func (p *planner) best() []joinStep {
	c := p.c
	leaf := c.feed == nil && p.in.start
	// 1. A single pattern has one way, unless a sequence is wanted.
	if len(p.list) == 1 && (c.want == nil || !leaf) {
		start := p.begin()
		step := joinStep{list: []int{0}, rows: p.in.rows * p.fan(&start, &p.list[0])}
		if share, ok := p.narrow(&start, &p.list[0]); ok {
			step.method = byNarrow
			step.rows *= share
		}
		return []joinStep{step}
	}
	steps, all := p.solve(ways{first: -1, hash: c.feed == nil, merge: leaf})
	cost := all.cost
	// 2. If a sequence is wanted, a plan in this sequence saves the sort, and a limit may end it
	// early.
	if c.want != nil && leaf {
		cost += all.rows * costSort
		top := float64(c.want.top)
		tried := 0
		for i := range p.list {
			if p.sequenceOrder(p.list[i].pat) == 0 {
				continue
			}
			if tried++; tried > maxFirst && len(p.list) > greedyWindow {
				break
			}
			some, last := p.solve(ways{first: i})
			if share := firstShare(top, last.rows); last.cost*share < cost || len(p.list) == 1 {
				steps, cost = some, last.cost*share
				c.want.got = true
			}
		}
		if c.want.got {
			one := &p.list[steps[0].list[0]]
			one.pat.Order = p.sequenceOrder(one.pat)
		}
		return steps
	}
	// 3. If only first rows are wanted, a plan without a large beginning may be cheaper.
	if c.goal > 0 {
		first := ways{first: -1, share: firstShare(float64(c.goal), all.rows)}
		if some, last := p.solve(first); first.weigh(&last) < cost {
			return some
		}
	}
	return steps
}

// firstShare returns the share of a plan's first rows in its cost.
func firstShare(some, all float64) float64 {
	if all <= some {
		return 1
	}
	return (some + exec.FirstChunkRows) / (all + exec.FirstChunkRows)
}

// scan returns all rows of a pattern.
func (p *planner) scan(one *candidate) (stream, error) {
	in := p.c.begin()
	if one.column == nil {
		return p.c.look(one, in, one.rows), nil
	}
	return p.columnJoin([]joinStep{{list: []int{slices.IndexFunc(p.list, func(c candidate) bool { return c.pat == one.pat })}, rows: one.rows}}, in, one.vars.Has)
}

// look joins in with one pattern by look-ups.
func (c *compiler) look(one *candidate, in stream, rows float64) stream {
	pat := one.pat
	name := "index look-up"
	if in.start && c.feed == nil {
		name = "index scan"
	}
	l := exec.NewLookup(c.query, in.op, pat, nil, exec.NewFirstRows(c.goal, rows/in.rows))
	detail := one.accessText(in.certain)
	if pat.Order != 0 && c.want != nil && c.want.got && c.want.descending {
		l.Reverse = true
		forwards := detail
		detail = func() string { return forwards() + " from the end" }
	}
	out := in
	out.rows = rows
	for _, at := range pat.Places {
		if at.Slot >= 0 {
			out.bind(at.Slot)
		}
	}
	out = c.traced(out, l, name, detail, in.plan)
	l.Plan = out.plan
	return out
}

// accessText returns the detail of the access to a pattern from rows with certain variables bound.
func (one *candidate) accessText(certain algebra.Set) func() string {
	pat, text := one.pat, one.text
	return func() string {
		mask := uint8(0)
		for position, at := range pat.Places {
			if at.Key != "" || at.Slot >= 0 && certain.Has(at.Slot) {
				mask |= 1 << position
			}
		}
		if pat.Graphs.Mode == pattern.OneGraph {
			mask |= 1 << triple.Graph
		}
		a := pat.Access(mask)
		text := a.Order.String() + " " + text()
		if a.Spans != nil {
			text += one.rangeText(a.Order.Positions()[a.Prefix])
		}
		return text
	}
}

// rangeText returns from where the ranges of a position are.
func (one *candidate) rangeText(position int) string {
	if from := one.pat.Restrictions[one.pat.Places[position].Slot].Candidates; from != "" {
		return " by " + from
	}
	return " in a range"
}

// sequenceOrder returns an order if a scan of a pattern in it gives the wanted variable's terms
// in sequence; 0 for none.
func (p *planner) sequenceOrder(pat *pattern.Pattern) triple.Order {
	mask := pat.Mask(make([]string, p.c.query.Width))
	for _, o := range triple.Orders {
		if o == triple.GSPO && mask&8 == 0 && pat.Graphs.Mode != pattern.EachGraph {
			continue
		}
		for place, position := range o.Positions() {
			if mask&(1<<position) != 0 {
				continue
			}
			if pat.Places[position].Slot == p.c.want.slot && place < 4 && !bound(mask, o, place) {
				return o
			}
			break
		}
	}
	return 0
}

// bound reports whether a position behind a place of the order is bound, other
// than the graph: a scan would then read rows without a match.
func bound(mask uint8, o triple.Order, place int) bool {
	positions := o.Positions()
	for _, position := range positions[place+1:] {
		if position != triple.Graph && mask&(1<<position) != 0 {
			return true
		}
	}
	return false
}
