// The choice of the order of joins: what is read before it, and which searches are compared.

package order

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/triple"
)

// Find returns the steps expected to take least to join the rows with the patterns. The order of an earlier run holds
// while the columns are the same. sorted means that rows come in the requested sequence.
func (o *Orders) Find(e *cost.Estimator, list []cost.Candidate, in Input, want Request) (steps []Step, sorted bool, err error) {
	if steps := o.get(list, in.Rows); steps != nil {
		return steps, false, nil
	}
	// 1. Estimate the patterns. If there are many, samples are requested at once, because they will be
	// needed in any case.
	places := 0
	if len(list) > plainPatterns && len(list) <= dynamicPatterns {
		places = cost.SamplePlaces
	}
	if err := e.Estimate(list, places); err != nil {
		return nil, false, err
	}
	p := &search{e, newJoinModel(list, in, e.Exec.Account.Limit)}
	if err := p.sample(places); err != nil {
		return nil, false, err
	}
	// 2. Find the order.
	steps, sorted = p.best(want)
	if err := e.Exec.Check(); err != nil {
		return nil, false, err
	}
	if !in.Sorted && !sorted { // a scan in a sequence is more than an order
		o.put(list, in.Rows, steps)
	}
	return steps, sorted, nil
}

// sample sets the estimates of the patterns from samples. It does not if their order is given, or
// if they are few and one has so few rows that it goes first. If places is not 0, the samples were
// requested with the counts already.
func (p *search) sample(places int) error {
	list := p.model.list
	if p.Exec.Source == nil || len(list) == 1 && p.model.in.Start || len(list) > dynamicPatterns {
		return nil
	}
	if !slices.ContainsFunc(list, func(one cost.Candidate) bool { return one.Column == nil }) {
		return nil
	}
	if len(list) <= plainPatterns && slices.ContainsFunc(list, func(one cost.Candidate) bool { return one.Rows <= plainRows }) {
		return nil
	}
	if places == 0 {
		if err := p.Survey(list, cost.SamplePlaces); err != nil {
			return err
		}
	}
	return p.Samples(list)
}

const (
	plainPatterns = 3
	plainRows     = 16
)

// best returns the steps expected to take least: for all rows, for the
// first ones if a limit needs no more, or in the sequence wanted.
func (p *search) best(want Request) (steps []Step, sorted bool) {
	leaf := p.model.in.leaf()
	inSequence := leaf && want.Sequence != nil
	// 1. A single pattern has one way, unless a sequence is wanted.
	if len(p.model.list) == 1 && !inSequence {
		return []Step{p.single()}, false
	}
	steps, all := p.solve(ways{first: -1, hash: !p.model.in.Lateral, merge: leaf})
	// 2. If a sequence is wanted, a plan in this sequence saves the sort, and a limit may end it
	// early.
	if inSequence {
		if some := p.inSequence(want, all.cost+all.rows*cost.Sort); some != nil {
			return some, true
		}
		return steps, false
	}
	// 3. If only first rows are wanted, a plan without a large beginning may be cheaper.
	if want.Goal > 0 {
		first := ways{first: -1, share: firstShare(float64(want.Goal), all.rows)}
		if some, last := p.solve(first); first.weigh(&last) < all.cost {
			return some, false
		}
	}
	return steps, false
}

// inSequence returns the cheapest steps that begin with a scan in the sequence wanted; nil if all cost more.
func (p *search) inSequence(want Request, cost float64) (steps []Step) {
	list, tried := p.model.list, 0
	for i := range list {
		if p.sequenceOrder(list[i].Pat, want.Sequence.Slot) == 0 {
			continue
		}
		if tried++; tried > maxFirst && len(list) > greedyWindow {
			break
		}
		some, last := p.solve(ways{first: i})
		if share := firstShare(float64(want.Sequence.Top), last.rows); last.cost*share < cost || len(list) == 1 {
			steps, cost = some, last.cost*share
		}
	}
	if steps != nil {
		one := &list[steps[0].List[0]]
		one.Pat.Order = p.sequenceOrder(one.Pat, want.Sequence.Slot)
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

// sequenceOrder returns an order if a scan of a pattern in it gives the wanted variable's terms
// in sequence; 0 for none.
func (p *search) sequenceOrder(pat *pattern.Pattern, slot int) triple.Order {
	mask := pat.Mask(make([]string, p.Exec.Width))
	for _, o := range triple.Orders {
		if o == triple.GSPO && mask&8 == 0 && pat.Graphs.Mode != pattern.EachGraph {
			continue
		}
		for place, position := range o.Positions() {
			if mask&(1<<position) != 0 {
				continue
			}
			if pat.Places[position].Slot == slot && place < 4 && !bound(mask, o, place) {
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
