// The order of joins between patterns, by expected cost.

package order

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// Method is how a pattern is joined with the rows so far.
type Method uint8

const (
	ByLookup Method = iota // also the first scan of a plan
	ByHash
	ByMerge    // the first patterns of a plan, all in the sequence of a variable
	ByEquality // a hash join by the keys of two values that a condition compares
	ByNarrow   // look-ups of triple terms by the first of their parts
)

// Step joins candidates with the rows of the steps before.
type Step struct {
	Method   Method
	List     []int
	Slot     int        // of ByMerge
	Rows     float64    // that come out
	Equality *Condition // of ByEquality
	// OverColumn: a join over columns finds the objects of ByEquality as terms of their column.
	OverColumn bool
}

// Input is the rows before some patterns, and what waits for their variables.
type Input struct {
	Rows    float64
	Certain algebra.Set
	Start   bool // no operator of this part of the plan is before the patterns
	Lateral bool // there are rows around this part
	Sorted  bool // the rows come in the requested sequence
	Waiting []*Condition
	Unfolds []*Unfolding
}

// leaf reports whether there are no rows before the patterns: the first one is scanned.
func (in *Input) leaf() bool { return in.Start && !in.Lateral }

// search finds the order of joins between patterns: by dynamic programming up to
// dynamicPatterns of them, greedily beyond, because the time of the former is exponential.
//
// The orders of a few patterns differ in their time by factors of thousands. All of them give the
// same rows, so a wrong estimate costs time and nothing else. The search itself must take little: a
// look-up is done in some microseconds. Therefore it reads nothing. The rows of each pattern, the
// distinct terms at its places and, for most queries of several patterns, samples of its rows come
// first ([Orders.Find]), and the search compares the states that a [joinModel] makes of them.
//
// Invariants:
//
//  1. states[mask] is the cheapest way found so far to join the patterns of mask. When the loop
//     reaches a mask it is final, because each step leads to a greater one.
//  2. A product is taken only if no pattern left is linked with the state, by a variable, by an equality
//     or by the parts of a triple term.
//
// The search:
//
//	states[0] = the input: its rows and certain variables
//	states of merge joins that the plan may begin with
//	for mask, ascending, if states[mask] is reached:
//	    for each pattern that is not in mask; if mask has some, and any is linked, only these:
//	        for each method: the new state, if it is cheaper than states[mask and the pattern]
//	follow the last patterns back from the full mask
//
// best compares searches of several [ways]. If only the first rows are wanted, a state weighs its share
// of the cost, and its risk: the cost of reads without a result if all rows without a match come first.
// If a sequence is wanted, patterns that can be scanned in it are tried as the first one, and the cost
// of a sort is added to the other plans.
type search struct {
	*cost.Estimator
	model *joinModel
}

const dynamicPatterns = 10

// ways are the join methods open to a search.
type ways struct {
	first int  // the pattern to begin with; negative for any
	hash  bool // hash joins
	merge bool
	share float64 // the counted share of the cost if only first rows are needed; 0 for all
}

// riskShare is how likely the worst is taken to be.
const riskShare = 0.05

// weigh returns the cost for the comparison of two states.
func (w ways) weigh(s *joinState) float64 {
	if w.share == 0 {
		return s.cost
	}
	return s.cost*w.share + s.risk*riskShare
}

// single returns the step that joins the only pattern.
func (p *search) single() Step {
	m := p.model
	start := m.begin()
	step := Step{List: []int{0}, Rows: m.in.Rows * m.fan(&start, &m.list[0])}
	if share, ok := m.narrow(&start, &m.list[0]); ok {
		step.Method = ByNarrow
		step.Rows *= share
	}
	return step
}

// solve returns the cheapest steps to join all patterns.
func (p *search) solve(w ways) (steps []Step, last joinState) {
	m := p.model
	if len(m.list) > dynamicPatterns {
		return p.greedy(w)
	}
	// 1. Invariant: states[mask] is the cheapest known way to join the patterns of mask. Bindings
	// share one allocation.
	n, width := len(m.list), len(m.vars.slots)
	states := make([]joinState, 1<<n)
	bindings := make([]float64, width<<n)
	for mask := range states {
		states[mask].distinct = bindings[mask*width : (mask+1)*width]
	}
	start := m.begin()
	copy(states[0].distinct, start.distinct)
	start.distinct = states[0].distinct
	states[0] = start
	merges := map[int]Step{}
	// 2. Plans may begin with a merge join of several patterns.
	if w.merge {
		p.merges(states, merges)
	}
	// 3. Extend each state by each pattern. Products are taken only if no pattern is linked.
	for mask := range states {
		from := &states[mask]
		if !from.reached {
			continue
		}
		linked := false
		for i := 0; i < n && !linked; i++ {
			linked = mask&(1<<i) == 0 && m.linked(from, &m.list[i])
		}
		for i := range n {
			if mask&(1<<i) != 0 || mask == 0 && w.first >= 0 && i != w.first ||
				linked && mask != 0 && !m.linked(from, &m.list[i]) {
				continue
			}
			for _, method := range m.methods(w.hash && !(mask == 0 && m.in.Start)) {
				s, ok := m.join(from, i, method)
				to := &states[mask|1<<i]
				if ok && (!to.reached || w.weigh(&s) < w.weigh(to)) {
					s.distinct = to.distinct
					*to = s
					m.complete(to, from.distinct, i)
				}
			}
		}
	}
	// 4. Follow the last patterns back from the full set.
	mask := len(states) - 1
	last = states[mask]
	for mask != 0 {
		s := &states[mask]
		if s.last < 0 {
			step := merges[mask]
			step.Rows = s.rows
			steps = append(steps, step)
			break
		}
		steps = append(steps, m.step(s))
		mask &^= 1 << s.last
	}
	slices.Reverse(steps)
	return steps, last
}
