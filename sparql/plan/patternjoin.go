// Basic graph patterns: an order of steps, and an operator for each.

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

// patternJoin is a join of rows with triple patterns being planned.
type patternJoin struct {
	*part
	list    []candidate
	in      stream // the rows before the patterns
	aliases []optimize.Alias
	search  *search // of the order; nil if it was kept from an earlier run
}

// patterns joins in with patterns, in the order expected to cost least.
func (p *part) patterns(patterns []algebra.TriplePattern, in stream) (stream, error) {
	if len(patterns) == 0 {
		return in, nil
	}
	in, err := p.unfold(in)
	if err != nil {
		return in, err
	}
	// 1. Make a candidate of each pattern, with one variable in place of two that must be equal.
	b := &patternJoin{part: p, in: in}
	unified := b.unify(patterns)
	b.list = make([]candidate, len(unified))
	for i := range unified {
		if b.list[i], err = b.candidateOf(&unified[i]); err != nil {
			return in, err
		}
	}
	// 2. Find the order of least cost, and make its operators.
	steps, sorted, err := b.ordered()
	if err != nil {
		return in, err
	}
	in.sorted = in.sorted || sorted
	var behind func(from, slot int) bool // made once, if a join over columns needs it
	needed := func(from, slot int) bool {
		if behind == nil {
			behind = b.neededBehind(steps, patterns)
		}
		return behind(from, slot)
	}
	for i := 0; i < len(steps); {
		n, out, err := b.operator(steps[i:], in, func(n, slot int) bool { return needed(i+n, slot) })
		if err != nil {
			return in, err
		}
		if in, err = p.ready(out); err != nil {
			return in, err
		}
		i += n
	}
	return p.ready(b.bindAliases(in))
}

// operator joins in with the next steps by one operator, and returns how many these are. needed reports whether a variable is
// used behind the first n steps.
func (b *patternJoin) operator(steps []joinStep, in stream, needed func(n, slot int) bool) (n int, out stream, err error) {
	// 1. A join over columns goes first, because it takes several steps without rows between them.
	if n := b.columnSteps(steps, in); n > 0 {
		out, err := b.columnJoin(steps[:n], in, func(slot int) bool { return needed(n, slot) })
		return n, out, err
	}
	// 2. Each other step is an operator, but a star of look-ups is one: it reads all rows of its subjects together.
	step := &steps[0]
	one := &b.list[step.list[0]]
	switch step.method {
	case byMerge:
		return 1, b.merge(step), nil
	case byHash:
		right, err := b.scan(one)
		if err != nil {
			return 0, in, err
		}
		out = b.hashJoin(exec.InnerJoin, in, right, b.at, nil, nil)
		out.rows, out.plan.Estimate = step.rows, step.rows
		return 1, out, nil
	case byNarrow:
		return 1, b.lookNarrow(one, in, step.rows), nil
	case byEquality:
		out, err = b.equalityJoin(in, one, step.equality, step.rows)
		return 1, out, err
	}
	if n := b.star(steps, in); n > 1 {
		return n, b.starOf(steps[:n], in), nil
	}
	return 1, b.look(one, b.terms(in, one.vars), step.rows), nil
}

// unify carries out [optimize.Unify] by the waiting conditions.
func (b *patternJoin) unify(patterns []algebra.TriplePattern) []algebra.TriplePattern {
	var waiting []*condition
	var conds []ast.Expr
	for _, one := range b.at.waiting {
		if !one.done {
			waiting, conds = append(waiting, one), append(conds, one.expr)
		}
	}
	if len(conds) == 0 {
		return patterns
	}
	// A variable in the requested sequence must stay, because the scan is chosen by it.
	rows := optimize.Bound{Certain: b.in.certain, Possible: b.in.possible, Nodes: b.at.nodes, Wanted: -1, EachGraph: b.at.graphs.Mode == pattern.EachGraph}
	if b.want.sequence != nil {
		rows.Wanted = b.want.sequence.slot
	}
	for _, one := range b.at.unfolds {
		if !one.done {
			rows.Unfolds = rows.Unfolds.Union(one.inner).With(one.node.Slot)
		}
	}
	rows.ExactObjects = func(p algebra.TriplePattern) bool {
		col := b.column(newPattern(p.Subject, p.Predicate, p.Object, b.at.graphs, nil))
		return col != nil && b.columns.Dictionary().Exact(&col.ByObject)
	}
	patterns, aliases, done := optimize.Unify(patterns, conds, rows)
	for i, one := range waiting {
		one.done = done[i]
	}
	b.aliases = aliases
	return patterns
}

// bindAliases binds the variables that unify has replaced.
func (b *patternJoin) bindAliases(s stream) stream {
	for _, a := range b.aliases {
		detail := func() string { return "?" + b.body.Scope.Name(a.Slot) + " = " + b.endText(a.To) }
		s.bind(a.Slot)
		if !a.To.IsVar() {
			s = b.traced(s, &exec.Constant{Input: s.op, Slot: a.Slot, Binding: solution.Encode(a.To.Term)}, "extend", detail, s.plan)
			continue
		}
		if s.numbers.Has(a.To.Slot) {
			s.numbers = s.numbers.With(a.Slot)
		}
		s = b.traced(s, &exec.Copy{Input: s.op, From: a.To.Slot, To: a.Slot}, "extend", detail, s.plan)
	}
	return s
}

// candidateOf returns the candidate of a pattern.
func (b *patternJoin) candidateOf(p *algebra.TriplePattern) (one candidate, err error) {
	ranges, err := b.estimator.withCandidates(p, b.at.graphs, b.in.certain, b.at.ranges)
	if err != nil {
		return one, err
	}
	one.pat = newPattern(p.Subject, p.Predicate, p.Object, b.at.graphs, ranges)
	one.column = b.column(one.pat)
	one.text = b.patternText(p)
	for _, at := range one.pat.Places {
		if at.Slot >= 0 {
			one.vars.Add(at.Slot)
		}
	}
	return one, nil
}

// ordered returns the steps expected to take least to join the rows with the patterns. The order of an earlier run holds
// while the columns are the same. sorted means that rows come in the requested sequence.
func (b *patternJoin) ordered() (steps []joinStep, sorted bool, err error) {
	if steps := b.orders.get(b.list, b.in.rows); steps != nil {
		return steps, false, nil
	}
	// 1. Estimate the patterns. If there are many, samples are requested at once, because they will be
	// needed in any case.
	places := 0
	if len(b.list) > plainPatterns && len(b.list) <= dynamicPatterns {
		places = samplePlaces
	}
	if err := b.estimator.estimate(b.list, places); err != nil {
		return nil, false, err
	}
	b.search = newSearch(b.part, b.list, b.in)
	if err := b.sample(places); err != nil {
		return nil, false, err
	}
	// 2. Find the order.
	steps, sorted = b.best()
	if err := b.exec.Check(); err != nil {
		return nil, false, err
	}
	if !b.in.sorted && !sorted { // a scan in a sequence is more than an order
		b.orders.put(b.list, b.in.rows, steps)
	}
	return steps, sorted, nil
}

// sample sets the estimates of the patterns from samples. It does not if their order is given, or
// if they are few and one has so few rows that it goes first. If places is not 0, the samples were
// requested with the counts already.
func (b *patternJoin) sample(places int) error {
	if b.exec.Source == nil || len(b.list) == 1 && b.in.start || len(b.list) > dynamicPatterns {
		return nil
	}
	if !slices.ContainsFunc(b.list, func(one candidate) bool { return one.column == nil }) {
		return nil
	}
	if len(b.list) <= plainPatterns && slices.ContainsFunc(b.list, func(one candidate) bool { return one.rows <= plainRows }) {
		return nil
	}
	if places == 0 {
		if err := b.estimator.survey(b.list, samplePlaces); err != nil {
			return err
		}
	}
	return b.estimator.samples(b.list)
}

const (
	plainPatterns = 3
	plainRows     = 16
)

// best returns the steps expected to take least: for all rows, for the
// first ones if a limit asks for no more, or in the sequence wanted.
func (b *patternJoin) best() (steps []joinStep, sorted bool) {
	leaf := b.in.start && !b.at.lateral()
	inSequence := leaf && b.want.sequence != nil
	// 1. A single pattern has one way, unless a sequence is wanted.
	if len(b.list) == 1 && !inSequence {
		return []joinStep{b.search.single()}, false
	}
	steps, all := b.search.solve(ways{first: -1, hash: !b.at.lateral(), merge: leaf})
	// 2. If a sequence is wanted, a plan in this sequence saves the sort, and a limit may end it
	// early.
	if inSequence {
		if some := b.inSequence(all.cost + all.rows*costSort); some != nil {
			return some, true
		}
		return steps, false
	}
	// 3. If only first rows are wanted, a plan without a large beginning may be cheaper.
	if b.want.goal > 0 {
		first := ways{first: -1, share: firstShare(float64(b.want.goal), all.rows)}
		if some, last := b.search.solve(first); first.weigh(&last) < all.cost {
			return some, false
		}
	}
	return steps, false
}

// inSequence returns the cheapest steps that begin with a scan in the sequence wanted; nil if all cost more.
func (b *patternJoin) inSequence(cost float64) (steps []joinStep) {
	tried := 0
	for i := range b.list {
		if b.sequenceOrder(b.list[i].pat) == 0 {
			continue
		}
		if tried++; tried > maxFirst && len(b.list) > greedyWindow {
			break
		}
		some, last := b.search.solve(ways{first: i})
		if share := firstShare(float64(b.want.sequence.top), last.rows); last.cost*share < cost || len(b.list) == 1 {
			steps, cost = some, last.cost*share
		}
	}
	if steps != nil {
		one := &b.list[steps[0].list[0]]
		one.pat.Order = b.sequenceOrder(one.pat)
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
func (b *patternJoin) scan(one *candidate) (stream, error) {
	in := b.at.begin()
	if one.column == nil {
		return b.look(one, in, one.rows), nil
	}
	same := func(c candidate) bool { return c.pat == one.pat }
	return b.columnJoin([]joinStep{{list: []int{slices.IndexFunc(b.list, same)}, rows: one.rows}}, in, one.vars.Has)
}

// sequenceOrder returns an order if a scan of a pattern in it gives the wanted variable's terms
// in sequence; 0 for none.
func (b *patternJoin) sequenceOrder(pat *pattern.Pattern) triple.Order {
	mask := pat.Mask(make([]string, b.exec.Width))
	for _, o := range triple.Orders {
		if o == triple.GSPO && mask&8 == 0 && pat.Graphs.Mode != pattern.EachGraph {
			continue
		}
		for place, position := range o.Positions() {
			if mask&(1<<position) != 0 {
				continue
			}
			if pat.Places[position].Slot == b.want.sequence.slot && place < 4 && !bound(mask, o, place) {
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
