// Matchers: the documents of a segment that a query selects, in order, with their scores.

package textindex

import (
	"cmp"
	"slices"
)

// The parameters of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// slack makes up for the rounding of sums: a bound must not be less than a score.
const slack = 1 + 1e-9

// scorer scores documents of one segment.
type scorer struct {
	segment *Segment
	average float64 // length of a document
}

// saturate returns the part of a weight that a frequency gives in a document of some length.
func (s *scorer) saturate(frequency, length uint32) float64 {
	f := float64(frequency)
	return f / (f + k1*(1-b+b*float64(length)/s.average))
}

// matcher iterates over documents in order. A document is current after the first advance.
type matcher interface {
	// advance makes the first document current that is not less than target, and returns it; noDoc is the end.
	// It may skip documents that score below the floor.
	advance(target uint32) uint32
	current() uint32
	// score returns the score of the current document.
	score() float64
	// bound returns a score that no document exceeds.
	bound() float64
	setFloor(floor float64)
	// cost is about the number of documents.
	cost() uint64
	failed() error
}

// termMatcher matches a term.
type termMatcher struct {
	*cursor
	*scorer
	weight float64
	most   float64
	floor  float64
	// tested is the block that boundOf was computed for last, and tests is the result.
	tested int
	tests  float64
}

func newTermMatcher(s *scorer, l list, weight float64) *termMatcher {
	m := &termMatcher{cursor: newCursor(s.segment, l), scorer: s, weight: weight, tested: -1}
	if m.err != nil {
		return m
	}
	for block := range m.lastBlock() + 1 {
		m.most = max(m.most, m.boundOf(block))
	}
	return m
}

// boundOf needs no slack: it is computed as a score is, and rounding keeps the order of its operands.
func (m *termMatcher) boundOf(block int) float64 {
	return m.weight * m.cursor.bound(block, m.saturate)
}

func (m *termMatcher) reject(block int) bool {
	if block != m.tested {
		m.tested, m.tests = block, m.boundOf(block)
	}
	return m.tests < m.floor
}

func (m *termMatcher) advance(target uint32) uint32 {
	if m.floor <= 0 {
		return m.cursor.advance(target, nil)
	}
	return m.cursor.advance(target, m.reject)
}
func (m *termMatcher) current() uint32        { return m.doc }
func (m *termMatcher) bound() float64         { return m.most }
func (m *termMatcher) setFloor(floor float64) { m.floor = floor }
func (m *termMatcher) cost() uint64           { return uint64(m.list.count) }
func (m *termMatcher) failed() error          { return m.err }
func (m *termMatcher) score() float64 {
	return m.weight * m.saturate(m.frequency(), m.scorer.segment.length(m.doc))
}

// phraseMatcher matches words that follow each other, with at most slop words between them.
type phraseMatcher struct {
	*scorer
	words  []*cursor // of the phrase's words, in order
	lead   int       // the rarest
	slop   uint32
	weight float64
	doc    uint32
	times  uint32
	places [][]uint32
	// same[i] is the first word that equals word i. Positions are read once for it.
	same []int
}

func newPhraseMatcher(s *scorer, lists []list, slop int, weight float64) *phraseMatcher {
	m := &phraseMatcher{scorer: s, slop: uint32(slop), weight: weight, places: make([][]uint32, len(lists))}
	for i, l := range lists {
		m.words = append(m.words, newCursor(s.segment, l))
		m.same = append(m.same, slices.IndexFunc(lists, func(other list) bool {
			return &other.postings[0] == &l.postings[0]
		}))
		if l.count < lists[m.lead].count {
			m.lead = i
		}
	}
	return m
}

func (m *phraseMatcher) advance(target uint32) uint32 {
	for {
		m.doc = m.words[m.lead].advance(target, nil)
		if m.doc == noDoc {
			return noDoc
		}
		// 1. All words must be in the document.
		target = m.doc
		for i, c := range m.words {
			if i != m.lead {
				target = max(target, c.advance(m.doc, nil))
			}
		}
		if target == noDoc {
			m.doc = noDoc
			return noDoc
		}
		if target > m.doc {
			continue
		}
		// 2. And at the right places.
		for i, c := range m.words {
			if first := m.same[i]; first < i {
				m.places[i] = m.places[first]
			} else {
				m.places[i] = c.positions(m.places[i][:0])
			}
		}
		if m.times = phraseTimes(m.places, m.slop); m.times > 0 {
			return m.doc
		}
		target++
	}
}

// phraseTimes returns how many places of the first word begin a phrase: the others follow in order, with at most
// slop words between all of them.
func phraseTimes(places [][]uint32, slop uint32) (times uint32) {
	next := make([]int, len(places))
	for _, first := range places[0] {
		last := first
		for i := 1; i < len(places); i++ {
			list := places[i]
			for next[i] < len(list) && list[next[i]] <= last {
				next[i]++
			}
			if next[i] == len(list) {
				return times
			}
			last = list[next[i]]
		}
		if last-first-uint32(len(places)-1) <= slop {
			times++
		}
	}
	return times
}

func (m *phraseMatcher) current() uint32  { return m.doc }
func (m *phraseMatcher) bound() float64   { return m.weight }
func (m *phraseMatcher) setFloor(float64) {}
func (m *phraseMatcher) cost() uint64     { return uint64(m.words[m.lead].list.count) }
func (m *phraseMatcher) failed() error    { return firstError(m.words) }
func (m *phraseMatcher) score() float64 {
	return m.weight * m.saturate(m.times, m.segment.length(m.doc))
}

func firstError(cursors []*cursor) error {
	for _, c := range cursors {
		if c.err != nil {
			return c.err
		}
	}
	return nil
}

// unionWindow is how many documents a union counts at a time.
const unionWindow = 1 << 14

// unionMatcher matches the terms that a prefix or a fuzzy word stands for, as if they were one.
type unionMatcher struct {
	*scorer
	cursors []*cursor
	weight  float64
	total   uint64
	doc     uint32
	begun   bool
	base    uint32 // of the window
	end     uint32
	counts  []uint32 // by document of the window
}

func newUnionMatcher(s *scorer, lists []list, weight float64) *unionMatcher {
	m := &unionMatcher{scorer: s, weight: weight, counts: make([]uint32, unionWindow)}
	for _, l := range lists {
		m.cursors = append(m.cursors, newCursor(s.segment, l))
		m.total += uint64(l.count)
	}
	return m
}

func (m *unionMatcher) advance(target uint32) uint32 {
	if m.doc == noDoc || m.begun && m.doc >= target {
		return m.doc
	}
	m.begun = true
	for {
		for ; target < m.end; target++ {
			if m.counts[target-m.base] > 0 {
				m.doc = target
				return target
			}
		}
		if !m.fill(target) {
			m.doc = noDoc
			return noDoc
		}
		target = max(target, m.base)
	}
}

// fill counts the window of the next document that is not less than target. It returns false if there is none.
func (m *unionMatcher) fill(target uint32) bool {
	first := uint32(noDoc)
	live := m.cursors[:0]
	for _, c := range m.cursors {
		if doc := c.advance(target, nil); doc != noDoc || c.err != nil {
			live = append(live, c)
			first = min(first, doc)
		}
	}
	m.cursors = live
	if first == noDoc {
		return false
	}
	clear(m.counts)
	m.base = first
	m.end = min(first+unionWindow, m.segment.documents)
	for _, c := range m.cursors {
		for c.doc < m.end {
			m.counts[c.doc-first] += c.frequency()
			c.advance(c.doc+1, nil)
		}
	}
	return true
}

func (m *unionMatcher) current() uint32  { return m.doc }
func (m *unionMatcher) bound() float64   { return m.weight }
func (m *unionMatcher) setFloor(float64) {}
func (m *unionMatcher) cost() uint64     { return m.total }
func (m *unionMatcher) failed() error    { return firstError(m.cursors) }
func (m *unionMatcher) score() float64 {
	return m.weight * m.saturate(m.counts[m.doc-m.base], m.segment.length(m.doc))
}

// conjunction matches what all of its operands match, and no excluded one.
type conjunction struct {
	of       []matcher // in the order of the query, so that scores are equal on all machines
	ordered  []matcher // cheapest first
	excluded []matcher
	most     float64
	doc      uint32
}

func newConjunction(of, excluded []matcher) *conjunction {
	m := &conjunction{of: of, ordered: slices.Clone(of), excluded: excluded}
	slices.SortStableFunc(m.ordered, func(x, y matcher) int { return cmp.Compare(x.cost(), y.cost()) })
	for _, o := range of {
		m.most += o.bound()
	}
	m.most *= slack
	return m
}

func (m *conjunction) advance(target uint32) uint32 {
next:
	for {
		m.doc = m.ordered[0].advance(target)
		if m.doc == noDoc {
			return noDoc
		}
		for _, o := range m.ordered[1:] {
			if target = o.advance(m.doc); target > m.doc {
				continue next
			}
		}
		for _, o := range m.excluded {
			if o.advance(m.doc) == m.doc {
				target = m.doc + 1
				continue next
			}
		}
		return m.doc
	}
}

func (m *conjunction) current() uint32 { return m.doc }
func (m *conjunction) bound() float64  { return m.most }
func (m *conjunction) cost() uint64    { return m.ordered[0].cost() }
func (m *conjunction) failed() error   { return firstFailure(m.of, m.excluded) }
func (m *conjunction) score() (sum float64) {
	for _, o := range m.of {
		sum += o.score()
	}
	return sum
}

// setFloor gives each operand the floor that is left if the others score as much as they can.
func (m *conjunction) setFloor(floor float64) {
	for _, o := range m.of {
		o.setFloor(floor - (m.most - o.bound()))
	}
}

func firstFailure(lists ...[]matcher) error {
	for _, list := range lists {
		for _, m := range list {
			if err := m.failed(); err != nil {
				return err
			}
		}
	}
	return nil
}

// disjunction matches what one of its operands matches.
type disjunction struct {
	of      []matcher // in the order of the query
	ordered []matcher // lowest bound first
	// essential is the index in ordered of the first operand without which a document may reach the floor.
	essential int
	most      float64
	total     uint64
	doc       uint32
}

func newDisjunction(of []matcher) *disjunction {
	m := &disjunction{of: of, ordered: slices.Clone(of)}
	slices.SortStableFunc(m.ordered, func(x, y matcher) int { return cmp.Compare(x.bound(), y.bound()) })
	for _, o := range of {
		m.most += o.bound()
		m.total += o.cost()
	}
	m.most *= slack
	return m
}

func (m *disjunction) advance(target uint32) uint32 {
	m.doc = noDoc
	for _, o := range m.ordered[m.essential:] {
		m.doc = min(m.doc, o.advance(target))
	}
	return m.doc
}

func (m *disjunction) current() uint32 { return m.doc }
func (m *disjunction) bound() float64  { return m.most }
func (m *disjunction) cost() uint64    { return m.total }
func (m *disjunction) failed() error   { return firstFailure(m.of) }
func (m *disjunction) score() (sum float64) {
	for _, o := range m.of {
		if o.advance(m.doc) == m.doc {
			sum += o.score()
		}
	}
	return sum
}

func (m *disjunction) setFloor(floor float64) {
	for _, o := range m.of {
		o.setFloor(floor - (m.most - o.bound()))
	}
	sum := 0.0
	for m.essential = 0; m.essential < len(m.ordered)-1; m.essential++ {
		if sum += m.ordered[m.essential].bound(); sum*slack >= floor {
			break
		}
	}
}

// exclusive matches what one of its operands matches. A document has one language, so one operand only.
type exclusive struct {
	of   []matcher
	hit  matcher
	doc  uint32
	most float64
	sum  uint64
}

func newExclusive(of []matcher) matcher {
	if len(of) == 1 {
		return of[0]
	}
	m := &exclusive{of: of}
	for _, o := range of {
		m.most = max(m.most, o.bound())
		m.sum += o.cost()
	}
	return m
}

func (m *exclusive) advance(target uint32) uint32 {
	m.doc = noDoc
	for _, o := range m.of {
		if doc := o.advance(target); doc < m.doc {
			m.doc, m.hit = doc, o
		}
	}
	return m.doc
}

func (m *exclusive) current() uint32 { return m.doc }
func (m *exclusive) bound() float64  { return m.most }
func (m *exclusive) cost() uint64    { return m.sum }
func (m *exclusive) failed() error   { return firstFailure(m.of) }
func (m *exclusive) score() float64  { return m.hit.score() }
func (m *exclusive) setFloor(floor float64) {
	for _, o := range m.of {
		o.setFloor(floor)
	}
}
