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
// first ([Orders.Find]), and the search computes with them.
//
// What it computes with is a joinState: some patterns are joined, the rows, how many distinct terms
// each variable has in them (0: it is not bound), the variable in whose sequence they come, and the
// cost so far in microseconds. join adds a pattern by one of the methods:
//
//	rows   of the state times the fan of the pattern: its rows, divided for each shared variable by the
//	       greater number of distinct terms, because the smaller set is assumed to lie in the other
//	cost   of the method: seeks and rows of a look-up, reading and hashing for a hash join
//	bind   the distinct terms of a variable: the smaller number of both, and at most the rows
//	pass   conditions that have all their variables now: fewer rows
//
// Invariants:
//
//  1. states[mask] is the cheapest way found so far to join the patterns of mask. When the loop
//     reaches a mask it is final, because each step leads to a greater one.
//  2. A product is taken only if no pattern left is linked with the state, by a variable, by an equality
//     or by the parts of a triple term.
//  3. A distinct count that is not 0 stays above 0: 0 means unbound.
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
	list  []cost.Candidate
	slots []int // of the variables, by their numbers in the search
	in    Input
	tests []test
	// equalities are the places in tests of the equalities of each variable.
	equalities map[int][]int
	unfolds    plannedUnfolds // the triple term patterns among the patterns
	longs      *algebra.Set   // see longEnds; nil until it is needed
}

const dynamicPatterns = 10

// joinState is the best known way to join a set of patterns.
type joinState struct {
	reached    bool
	method     Method
	last       int32 // pattern joined last; negative: see method
	sorted     int32 // variable in whose sequence rows come; negative for none
	cost, rows float64
	equality   *Condition // of ByEquality
	risk       float64    // cost of reads without a result if all rows without a match come first
	distinct   []float64  // bindings by variable; 0: not bound
}

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

func newSearch(e *cost.Estimator, list []cost.Candidate, in Input) *search {
	p := &search{Estimator: e, list: list, in: in}
	number := map[int]int{}
	for i := range list {
		one := &list[i]
		for position, at := range one.Pat.Places {
			one.Local[position] = -1
			if at.Slot < 0 {
				continue
			}
			v, ok := number[at.Slot]
			if !ok {
				v = len(p.slots)
				number[at.Slot] = v
				p.slots = append(p.slots, at.Slot)
			}
			for _, before := range one.Local[:position] {
				one.Same = one.Same || before == v
			}
			one.Local[position] = v
		}
	}
	// Triple terms go first, because they number variables that the tests may have.
	p.unfolds = p.newUnfolds(number)
	p.tests = p.newTests(number)
	p.equalities = equalitiesOf(p.tests)
	return p
}

// begin returns the state before any pattern.
func (p *search) begin() joinState {
	s := joinState{reached: true, last: -1, sorted: -1, rows: max(p.in.Rows, 1), distinct: make([]float64, len(p.slots))}
	for v, slot := range p.slots {
		if p.in.Certain.Has(slot) {
			s.distinct[v] = s.rows
		}
	}
	return s
}

// single returns the step that joins the only pattern.
func (p *search) single() Step {
	start := p.begin()
	step := Step{List: []int{0}, Rows: p.in.Rows * p.fan(&start, &p.list[0])}
	if share, ok := p.narrow(&start, &p.list[0]); ok {
		step.Method = ByNarrow
		step.Rows *= share
	}
	return step
}

// linked reports whether a pattern shares a variable with a state, has none, or an equality links it.
func (p *search) linked(s *joinState, one *cost.Candidate) bool {
	vars := false
	for _, v := range one.Local {
		if v >= 0 {
			if s.distinct[v] > 0 {
				return true
			}
			vars = true
		}
	}
	_, narrow := p.narrow(s, one)
	return !vars || narrow || p.equality(s, one) != nil
}

// join returns a state with one more pattern, without its bindings. ok is false if the method cannot join it.
func (p *search) join(s *joinState, i int, method Method) (to joinState, ok bool) {
	one := &p.list[i]
	to = joinState{reached: true, method: method, last: int32(i), sorted: s.sorted}
	to.rows = s.rows * p.fan(s, one)
	switch {
	case method == ByNarrow:
		return p.joinNarrow(s, one, to)
	case one.Column != nil && method == ByLookup:
		p.joinColumn(&to, s, one)
		return to, true
	case method == ByHash:
		return p.joinHash(s, one, to)
	case method == ByEquality:
		return p.joinEqual(s, one, to)
	case p.first(s):
		p.scan(&to, one)
	default:
		p.lookUp(&to, s, one)
	}
	return to, true
}

// first reports whether the next pattern is the first of a plan, which is scanned.
func (p *search) first(s *joinState) bool { return s.last < 0 && s.method != ByMerge && p.in.leaf() }

// shares reports whether all rows of a state bind a variable of a pattern.
func (s *joinState) shares(one *cost.Candidate) bool {
	for _, v := range one.Local {
		if v >= 0 && s.distinct[v] > 0 {
			return true
		}
	}
	return false
}

// bind sets the bindings of a state.
func (p *search) bind(to *joinState, from []float64, list ...int) {
	if p.unfolds.list != nil {
		from = slices.Clone(from) // it may be that of to
	}
	copy(to.distinct, from)
	for _, i := range list {
		one := &p.list[i]
		for position, v := range one.Local {
			if v >= 0 && (to.distinct[v] == 0 || one.Distinct[position] < to.distinct[v]) {
				to.distinct[v] = max(one.Distinct[position], 0.05)
			}
		}
	}
	for v, d := range to.distinct {
		if d > to.rows {
			to.distinct[v] = max(to.rows, 0.05)
		}
	}
	if p.unfolds.list != nil {
		p.unfold(to, from)
	}
}

// step returns the last step to a state.
func (p *search) step(s *joinState) Step {
	over := s.equality != nil && p.equalStep(s.equality, &p.list[s.last])
	return Step{Method: s.method, List: []int{int(s.last)}, Rows: s.rows, Equality: s.equality, OverColumn: over}
}

// solve returns the cheapest steps to join all patterns.
func (p *search) solve(w ways) (steps []Step, last joinState) {
	if len(p.list) > dynamicPatterns {
		return p.greedy(w)
	}
	// 1. Invariant: states[mask] is the cheapest known way to join the patterns of mask. Bindings
	// share one allocation.
	n, width := len(p.list), len(p.slots)
	states := make([]joinState, 1<<n)
	bindings := make([]float64, width<<n)
	// 3. Extend each state by each pattern. Products are taken only if no pattern is linked.
	for mask := range states {
		states[mask].distinct = bindings[mask*width : (mask+1)*width]
	}
	start := p.begin()
	copy(states[0].distinct, start.distinct)
	start.distinct = states[0].distinct
	states[0] = start
	merges := map[int]Step{}
	// 2. Plans may begin with a merge join of several patterns.
	if w.merge {
		p.merges(states, merges)
	}
	for mask := range states {
		from := &states[mask]
		if !from.reached {
			continue
		}
		linked := false
		for i := 0; i < n && !linked; i++ {
			linked = mask&(1<<i) == 0 && p.linked(from, &p.list[i])
		}
		for i := range n {
			if mask&(1<<i) != 0 || mask == 0 && w.first >= 0 && i != w.first ||
				linked && mask != 0 && !p.linked(from, &p.list[i]) {
				continue
			}
			for _, method := range p.methods() {
				if method != ByLookup && method != ByNarrow && (!w.hash || mask == 0 && p.in.Start) {
					continue
				}
				s, ok := p.join(from, i, method)
				to := &states[mask|1<<i]
				if ok && (!to.reached || w.weigh(&s) < w.weigh(to)) {
					s.distinct = to.distinct
					*to = s
					p.bind(to, from.distinct, i)
					p.pass(to, from.distinct)
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
		steps = append(steps, p.step(s))
		mask &^= 1 << s.last
	}
	slices.Reverse(steps)
	return steps, last
}
