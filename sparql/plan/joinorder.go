// The order of joins between patterns, by expected cost.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// joinMethod is how a pattern is joined with the rows so far.
type joinMethod uint8

const (
	byLookup joinMethod = iota // also the first scan of a plan
	byHash
	byMerge    // the first patterns of a plan, all in the sequence of a variable
	byEquality // a hash join by the keys of two values that a condition compares
	byNarrow   // look-ups of triple terms by the first of their parts
)

// joinStep joins candidates with the rows of the steps before.
type joinStep struct {
	method   joinMethod
	list     []int
	slot     int        // of byMerge
	rows     float64    // that come out
	equality *condition // of byEquality
}

// search finds the order of joins between patterns: by dynamic programming up to
// dynamicPatterns of them, greedily beyond, because the time of the former is exponential.
//
// The orders of a few patterns differ in their time by factors of thousands. All of them give the
// same rows, so a wrong estimate costs time and nothing else. The search itself must take little: a
// look-up is done in some microseconds. Therefore it reads nothing. The rows of each pattern, the
// distinct terms at its places and, for most queries of several patterns, samples of its rows come
// first (patternJoin.ordered), and the search computes with them.
//
// What it computes with is a joinState: some patterns are joined, the rows, how many distinct terms
// each variable has in them (0: it is not bound), the variable in whose sequence they come, and the
// cost so far in microseconds. join adds a pattern by one of four methods:
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
// patternJoin.best compares searches of several [ways]. If only the first rows are wanted, a state weighs its share
// of the cost, and its risk: the cost of reads without a result if all rows without a match come first.
// If a sequence is wanted, patterns that can be scanned in it are tried as the first one, and the cost
// of a sort is added to the other plans.
type search struct {
	part  *part
	list  []candidate
	slots []int // of the variables, by their numbers in the search
	in    stream
	tests []test
	// equalities are the places in tests of the equalities of each variable.
	equalities map[int][]int
	unfolds    plannedUnfolds // the triple term patterns among the patterns
	longs      *algebra.Set   // see longEnds; nil until it is needed
}

const dynamicPatterns = 10

// rowBytes is the approximate size of a row in a hash table.
const rowBytes = 256

// joinState is the best known way to join a set of patterns.
type joinState struct {
	reached    bool
	method     joinMethod
	last       int32 // pattern joined last; negative: see method
	sorted     int32 // variable in whose sequence rows come; negative for none
	cost, rows float64
	equality   *condition // of byEquality
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

func newSearch(of *part, list []candidate, in stream) *search {
	p := &search{part: of, list: list, in: in}
	number := map[int]int{}
	for i := range list {
		one := &list[i]
		for position, at := range one.pat.Places {
			one.local[position] = -1
			if at.Slot < 0 {
				continue
			}
			v, ok := number[at.Slot]
			if !ok {
				v = len(p.slots)
				number[at.Slot] = v
				p.slots = append(p.slots, at.Slot)
			}
			for _, before := range one.local[:position] {
				one.same = one.same || before == v
			}
			one.local[position] = v
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
	s := joinState{reached: true, last: -1, sorted: -1, rows: max(p.in.rows, 1), distinct: make([]float64, len(p.slots))}
	for v, slot := range p.slots {
		if p.in.certain.Has(slot) {
			s.distinct[v] = s.rows
		}
	}
	return s
}

// single returns the step that joins the only pattern.
func (p *search) single() joinStep {
	start := p.begin()
	step := joinStep{list: []int{0}, rows: p.in.rows * p.fan(&start, &p.list[0])}
	if share, ok := p.narrow(&start, &p.list[0]); ok {
		step.method = byNarrow
		step.rows *= share
	}
	return step
}

// linked reports whether a pattern shares a variable with a state, has none, or an equality links it.
func (p *search) linked(s *joinState, one *candidate) bool {
	vars := false
	for _, v := range one.local {
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

// join returns a state with one more pattern, without its bindings.
func (p *search) join(s *joinState, i int, method joinMethod) (joinState, bool) {
	one := &p.list[i]
	to := joinState{reached: true, method: method, last: int32(i), sorted: s.sorted}
	to.rows = s.rows * p.fan(s, one)
	if method == byNarrow {
		return p.joinNarrow(s, one, to)
	}
	if one.column != nil && method == byLookup {
		p.joinColumn(&to, s, one)
		return to, true
	}
	if one.column != nil && method == byHash {
		return to, false
	}
	// 1. A hash join reads the pattern once, by itself.
	if method == byHash {
		if s.rows < 100 || !one.shares(s) || one.rows*rowBytes > float64(p.part.exec.Account.Limit/4) {
			return to, false
		}
		to.cost = s.cost + one.rows*(costRow+costBuild) + s.rows*costProbe + to.rows*costProbe
		return to, true
	}
	if method == byEquality {
		t := p.equality(s, one)
		if t == nil || one.shares(s) {
			return to, false
		}
		to.equality = t.cond
		pairs := to.rows * t.share(s.distinct, one)
		if p.equalStep(t.cond, one) {
			to.cost = s.cost + one.distinct[triple.Object]*costKey + s.rows*costColumnProbe + pairs*costColumnRow
			return to, true
		}
		// The smaller side is held, or goes to files. Both cost less than a product.
		to.cost = s.cost + one.rows*(costRow+costKey) + s.rows*costKey + min(s.rows, one.rows)*costBuild + max(s.rows, one.rows)*costProbe + pairs*costProbe
		return to, true
	}
	// 2. The first pattern of a plan is scanned.
	if s.last < 0 && s.method != byMerge && p.in.start && !p.part.at.lateral() {
		to.sorted = one.scanned()
		to.cost = to.rows*costRow + costSeek
		return to, true
	}
	// 3. All others are looked up, by the rows of the state.
	seeks := one.seeks(s)
	to.cost = s.cost + s.rows*costKey + to.rows*costRow + seeks
	matched := 1.0
	for position, v := range one.local {
		if v >= 0 && s.distinct[v] > 0 {
			matched = min(matched, one.distinct[position]/s.distinct[v])
		}
	}
	to.risk = s.risk + (1-matched)*(s.cost+seeks)
	return to, true
}

// shares reports whether all rows of a state bind a variable of a pattern.
func (one *candidate) shares(s *joinState) bool {
	for _, v := range one.local {
		if v >= 0 && s.distinct[v] > 0 {
			return true
		}
	}
	return false
}

// scanned returns the variable in whose sequence a scan of a pattern comes.
func (one *candidate) scanned() int32 {
	mask := uint8(0)
	for position, at := range one.pat.Places {
		if at.Key != "" {
			mask |= 1 << position
		}
	}
	a := one.pat.Access(mask)
	if a.Prefix < 4 && len(a.Consts) == 0 {
		return int32(one.local[a.Order.Positions()[a.Prefix]])
	}
	return -1
}

// rowsAround is about how many rows a subject or an object has for each of a
// pattern.
const rowsAround = 8

// seeks returns the cost to find the ranges of a pattern for the rows of a state: a seek for
// each range, if it is not near the one before.
func (one *candidate) seeks(s *joinState) float64 {
	keys, mask, sorted := 1.0, uint8(0), -1
	for position, v := range one.local {
		if v >= 0 && s.distinct[v] > 0 && !one.repeated(position) {
			keys *= s.distinct[v]
			mask |= 1 << position
			if int(s.sorted) == v {
				sorted = position
			}
		}
		if one.pat.Places[position].Key != "" {
			mask |= 1 << position
		}
	}
	keys = min(keys, s.rows)
	if sorted < 0 { // rows of a chunk with the same key share a range
		keys = s.rows / exec.LastChunkRows * min(keys, exec.LastChunkRows)
		if s.rows < exec.LastChunkRows {
			keys = min(keys, s.rows)
		}
		return keys * costSeek
	}
	// If the pattern's terms lead to the variable, its rows lie together; else
	// among all rows of their subjects, or objects.
	near := one.rows
	if positions := one.pat.Best(mask).Positions(); positions[0] == sorted {
		near *= rowsAround
	}
	return keys * min(costSeek, max(1, near/keys)*costStep)
}

// bind sets the bindings of a state.
func (p *search) bind(to *joinState, from []float64, list ...int) {
	if p.unfolds.list != nil {
		from = slices.Clone(from) // it may be that of to
	}
	copy(to.distinct, from)
	for _, i := range list {
		one := &p.list[i]
		for position, v := range one.local {
			if v >= 0 && (to.distinct[v] == 0 || one.distinct[position] < to.distinct[v]) {
				to.distinct[v] = max(one.distinct[position], 0.05)
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

// solve returns the cheapest steps to join all patterns.
func (p *search) solve(w ways) (steps []joinStep, last joinState) {
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
	merges := map[int]joinStep{}
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
				if method != byLookup && method != byNarrow && (!w.hash || mask == 0 && p.in.start) {
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
			step.rows = s.rows
			steps = append(steps, step)
			break
		}
		steps = append(steps, joinStep{method: s.method, list: []int{int(s.last)}, rows: s.rows, equality: s.equality})
		mask &^= 1 << s.last
	}
	slices.Reverse(steps)
	return steps, last
}

// joinColumn sets the cost of a state that joins one more pattern over its column.
func (p *search) joinColumn(to, from *joinState, one *candidate) {
	to.cost = from.cost + to.rows*costColumnRow
	if from.last < 0 && from.method != byMerge && p.in.start && !p.part.at.lateral() {
		to.sorted = -1
		return
	}
	probes := from.rows * costColumnProbe
	to.cost += probes
	to.risk = from.risk + probes
}

// equalStep reports whether a join over columns finds the objects of a pattern that an equality links
// with the rows before: as terms of its column, if they are few. Columns do not have long terms whole.
func (p *search) equalStep(cond *condition, one *candidate) bool {
	if one.column == nil || int64(one.column.ByObject.Keys())*rowBytes > p.part.exec.Account.Limit/8 {
		return false
	}
	object := one.pat.Places[triple.Object].Slot
	longs := p.longEnds()
	return (object == cond.left || object == cond.right) && !longs.Has(cond.left) && !longs.Has(cond.right)
}

// longEnds returns the variables that a pattern reads from a column with long terms.
func (p *search) longEnds() algebra.Set {
	if p.longs == nil {
		p.longs = &algebra.Set{}
		for i := range p.list {
			col, at := p.list[i].column, &p.list[i].pat.Places
			if col != nil && col.LongSubjects && at[triple.Subject].Slot >= 0 {
				p.longs.Add(at[triple.Subject].Slot)
			}
			if col != nil && col.LongObjects && at[triple.Object].Slot >= 0 {
				p.longs.Add(at[triple.Object].Slot)
			}
		}
	}
	return *p.longs
}
