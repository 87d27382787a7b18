// Matchers of words and phrases: the documents of a segment that a query selects, in order, with their scores.

package textindex

import (
	"math"
	"slices"
)

// The parameters of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// slack makes up for the rounding of sums: a bound must not be less than a score.
const slack = 1 + 1e-9

// tight makes up for it in a difference: what a score needs beside a bound must not be too much.
const tight = 1 - 1e-9

// scorer scores documents of one segment.
type scorer struct {
	*stopper
	segment *Segment
	// A document of length n dampens a frequency by base + slope*n.
	base, slope float64
}

func newScorer(s *Segment, average float64, stop *stopper) *scorer {
	return &scorer{stop, s, k1 * (1 - b), k1 * b / average}
}

// saturate returns the part of a weight that a frequency gives in a document of some length. It ascends with the
// frequency, and descends with the length. The conversion keeps all processors from fusing the operations.
func (s *scorer) saturate(frequency, length uint32) float64 {
	f := float64(frequency)
	return f / (f + (s.base + float64(s.slope*float64(length))))
}

// matcher iterates over documents in order. A document is current after the first advance.
type matcher interface {
	// advance makes the first document current that is not less than target, and returns it; noDoc is the end.
	// It may skip documents that score below the threshold.
	advance(target uint32) uint32
	// score returns the score of the current document.
	score() float64
	// bound returns a score that no document exceeds.
	bound() float64
	// window returns a score that no document from target to last exceeds. last is not less than least, and least not
	// less than target. The targets of all calls ascend. The current document stays.
	window(target, least uint32) (last uint32, bound float64)
	setThreshold(threshold float64)
	// cost is about the number of documents.
	cost() uint64
	failed() error
}

// blockBounds computes bounds of the blocks of a cursor.
type blockBounds struct {
	*cursor
	*scorer
	weight float64
	// of is the block that value was computed for last. first is the block where the last window began.
	of, first int
	value     float64
	times     uint32 // the greatest frequency in the last window
}

func newBlockBounds(s *scorer, l list, weight float64) blockBounds {
	return blockBounds{cursor: newCursor(s.segment, l), scorer: s, weight: weight, of: -1}
}

// boundOf returns the bound of a block. It needs no slack: it is computed as a score is, and rounding keeps the order
// of its operands.
func (b *blockBounds) boundOf(block int) float64 {
	if block != b.of {
		b.of, b.value = block, b.weight*b.cursor.bound(block, b.saturate)
	}
	return b.value
}

// window is the window of the matcher of the cursor. It has whole blocks.
func (b *blockBounds) window(target, least uint32) (last uint32, bound float64) {
	b.times = 0
	if b.doc == noDoc {
		return noDoc - 1, 0
	}
	// A block before the current one has no document that is still to come.
	end := b.lastBlock()
	block := b.seek(max(b.first, b.block, 0), target)
	b.first = block
	for ; block <= end; block++ {
		bound, b.times = max(bound, b.boundOf(block)), max(b.times, b.greatest(block))
		if last = b.lastOf(block); last >= least {
			return last, bound
		}
	}
	return noDoc - 1, bound
}

// termMatcher matches a term.
type termMatcher struct {
	blockBounds
	reach     *reach // nil until it is needed
	threshold float64
	// A document reaches need if its frequency times gain is not less than least plus its length times more.
	need              float64
	gain, least, more float64
	// scored is the document that result is the score of, noDoc if there is none.
	scored uint32
	result float64
}

func newTermMatcher(s *scorer, l list, weight float64) *termMatcher {
	return &termMatcher{blockBounds: newBlockBounds(s, l, weight), scored: noDoc}
}

// reaching returns the reach of the term.
func (m *termMatcher) reaching() *reach {
	if m.reach == nil {
		m.reach = &reach{scorer: m.scorer, weight: m.weight, each: 1}
	}
	return m.reach
}

func (m *termMatcher) advance(target uint32) uint32 {
	if m.threshold <= 0 {
		return m.cursor.advance(target)
	}
	return m.next(target, noDoc, m.threshold, m.reaching().table(m.threshold*tight, 0), math.MaxUint32)
}

// next makes the first document current that is not less than target, may score need or more, and is in the table. It
// returns end if there is none before end. Frequencies count as most, if they are greater.
func (m *termMatcher) next(target, end uint32, need float64, t *reachTable, most uint32) uint32 {
	if m.doc == noDoc || m.block >= 0 && m.doc >= target {
		return min(m.doc, end)
	}
	// 1. A test without divisions: the score is weight * f / (f + base + slope*length).
	if need != m.need {
		m.need = need
		m.gain, m.least, m.more = m.weight*slack-need, need*m.base, need*m.slope
	}
	last := m.lastBlock()
	for block := max(m.block, 0); target < end; block++ {
		// 2. The next block that may reach need, unless it is the current one.
		if !m.holds(target) {
			if block = m.seek(block, target); block > last {
				m.doc = noDoc
				return end
			}
			if m.boundOf(block) < need {
				if block == last {
					break
				}
				target = m.lastOf(block) + 1
				continue
			}
			if block != m.block && !m.load(block) {
				return end
			}
		}
		// 3. Its next document that does.
		m.unpackFrequencies()
		for m.find(target); m.at < m.n; m.at++ {
			doc := m.docs[m.at]
			if doc >= end {
				return end
			}
			frequency, length := min(m.counts[m.at], most), m.scorer.segment.length(doc)
			if t.excludes(frequency, length) {
				continue
			}
			if float64(frequency)*m.gain >= m.least+m.more*float64(length) && m.reach.has(t, frequency, length) {
				m.doc = doc
				return doc
			}
		}
		if block == last {
			break
		}
		target = m.lastOf(block) + 1
	}
	if end == noDoc {
		m.doc = noDoc // the documents that were left out are not needed later, because thresholds ascend
	}
	return end
}

func (m *termMatcher) bound() float64                 { return m.weight }
func (m *termMatcher) setThreshold(threshold float64) { m.threshold = threshold }
func (m *termMatcher) cost() uint64                   { return uint64(m.list.count) }
func (m *termMatcher) failed() error                  { return m.err }
func (m *termMatcher) score() float64 {
	if m.scored != m.doc {
		m.scored, m.result = m.doc, m.weight*m.saturate(m.frequency(), m.scorer.segment.length(m.doc))
	}
	return m.result
}

// phraseMatcher matches words that follow each other, with at most slop words between them.
type phraseMatcher struct {
	*scorer
	words     []*termMatcher // of the phrase's words, in order, each with the weight of the phrase
	lead      int            // the rarest
	slop      uint32
	weight    float64
	threshold float64
	doc       uint32
	times     uint32
	// No document from the last target up to end scores more than most, or has more phrases than least.
	end    uint32
	least  uint32
	most   float64
	places [][]uint32
	next   []int // for phraseTimes
	// same[i] is the first word that equals word i. Positions are read once for it.
	same []int
	// limiting are the words that have a place for each phrase: with slop, phrases may share all but the first one.
	limiting []int
	leads    bool // the rarest word is one of them
}

func newPhraseMatcher(s *scorer, lists []list, slop int, weight float64) *phraseMatcher {
	m := &phraseMatcher{scorer: s, slop: uint32(slop), weight: weight, places: make([][]uint32, len(lists)), next: make([]int, len(lists))}
	for i, l := range lists {
		m.words = append(m.words, newTermMatcher(s, l, weight))
		m.same = append(m.same, slices.IndexFunc(lists, func(other list) bool {
			return &other.postings[0] == &l.postings[0]
		}))
		if l.count < lists[m.lead].count {
			m.lead = i
		}
		if slop == 0 || i == 0 {
			m.limiting = append(m.limiting, i)
		}
	}
	m.leads = slices.Contains(m.limiting, m.lead)
	if slop == 0 && !repeats(lists) {
		m.words[m.lead].reaching().each = float64(len(lists))
	}
	return m
}

func (m *phraseMatcher) advance(target uint32) uint32 {
	for !m.stop() {
		// 1. Skip blocks that score too little, and find the rarest word.
		if m.threshold > 0 && (target >= m.end || m.most < m.threshold) {
			target = m.skip(target)
		}
		if m.threshold > 0 && m.leads {
			lead := m.words[m.lead]
			m.doc = lead.next(target, m.end, m.threshold, lead.reaching().table(m.threshold*tight, 0), m.least)
		} else {
			m.doc = m.words[m.lead].cursor.advance(target)
		}
		if m.doc == noDoc {
			return noDoc
		}
		if target = m.doc; m.threshold > 0 && m.doc >= m.end {
			continue
		}
		// 2. All words must be in the document.
		for i := range m.words {
			if i != m.lead {
				target = max(target, m.words[i].cursor.advance(m.doc))
			}
		}
		if target == noDoc {
			m.doc = noDoc
			return noDoc
		}
		if target > m.doc {
			continue
		}
		// 3. And at the right places, often enough.
		if m.matches() {
			return m.doc
		}
		target++
	}
	m.doc = noDoc
	return noDoc
}

// skip returns the first document that is not less than target and in a window that may reach the threshold.
func (m *phraseMatcher) skip(target uint32) uint32 {
	for target != noDoc {
		if target >= m.end {
			last, most := m.window(target, target)
			m.end, m.most, m.least = last+1, most, math.MaxUint32
			for _, i := range m.limiting {
				m.least = min(m.least, m.words[i].times)
			}
		}
		if m.most >= m.threshold {
			break
		}
		target = m.end
	}
	return target
}

// matches reports whether the words of the current document are a phrase often enough for the threshold.
func (m *phraseMatcher) matches() bool {
	// 1. Frequencies bound the phrases.
	if m.threshold > 0 {
		m.times = math.MaxUint32
		for _, i := range m.limiting {
			m.times = min(m.times, m.words[i].frequency())
		}
		if m.score() < m.threshold {
			return false
		}
	}
	// 2. Count the phrases.
	for i := range m.words {
		if first := m.same[i]; first < i {
			m.places[i] = m.places[first]
		} else {
			m.places[i] = m.words[i].positions(m.places[i][:0])
		}
	}
	m.times = phraseTimes(m.places, m.next, m.slop)
	return m.times > 0
}

// phraseTimes returns how many places of the first word begin a phrase: the others follow in order, with at most
// slop words between all of them. next is a place of work for each word.
func phraseTimes(places [][]uint32, next []int, slop uint32) (times uint32) {
	clear(next)
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

// window implements [matcher]. A phrase is not more frequent than its limiting words.
func (m *phraseMatcher) window(target, least uint32) (last uint32, bound float64) {
	last, bound = noDoc-1, m.weight
	for _, i := range m.limiting {
		end, most := m.words[i].window(target, least)
		last, bound = min(last, end), min(bound, most)
	}
	return last, bound
}

func (m *phraseMatcher) bound() float64                 { return m.weight }
func (m *phraseMatcher) setThreshold(threshold float64) { m.threshold = threshold }
func (m *phraseMatcher) cost() uint64                   { return uint64(m.words[m.lead].list.count) }
func (m *phraseMatcher) failed() error {
	for i := range m.words {
		if err := m.words[i].err; err != nil {
			return err
		}
	}
	return nil
}
func (m *phraseMatcher) score() float64 {
	return m.weight * m.saturate(m.times, m.segment.length(m.doc))
}
