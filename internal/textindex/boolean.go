// Matchers of AND, OR and NOT.

package textindex

import (
	"cmp"
	"math"
	"slices"
)

// operand is an operand of a conjunction or a disjunction. most is its bound in the current window.
type operand struct {
	matcher
	term *termMatcher // nil if the matcher is another one
	most float64
}

// probe is advance, but does not look for a document that scores more: only few documents are probed.
func (o *operand) probe(doc uint32) uint32 {
	if o.term != nil {
		return o.term.cursor.advance(doc)
	}
	return o.advance(doc)
}

func newOperand(m matcher) operand {
	term, _ := m.(*termMatcher)
	return operand{m, term, m.bound()}
}

// window opens the next window of some operands: a bound of each of them, and the last document of all.
func window(of []operand, target, least uint32) (last uint32) {
	last = noDoc - 1
	for i := range of {
		end, most := of[i].window(target, least)
		of[i].most, last = most, min(last, end)
	}
	return last
}

// setThresholds gives each operand the threshold that is left if the others score as much as they can. most is the sum of
// their bounds.
func setThresholds(of []matcher, threshold, most float64) {
	for _, o := range of {
		o.setThreshold(threshold - (most - o.bound()))
	}
}

// conjunction matches what all of its operands match, and no excluded one.
type conjunction struct {
	*stopper
	of        []matcher // in the order of the query, so that scores are equal on all machines
	ordered   []operand // cheapest first
	excluded  []matcher
	most      float64
	threshold float64
	// rest[i] is the most that the operands from i on add to the score of a document before end.
	rest []float64
	end  uint32
	lead *termMatcher // the cheapest operand if it is a term
	// In the window, the others score at most fixed if they are no terms, and no other term is more frequent than times.
	fixed float64
	times uint32
}

func newConjunction(of, excluded []matcher, stop *stopper) *conjunction {
	m := &conjunction{stopper: stop, of: of, excluded: excluded, rest: make([]float64, len(of)+1)}
	for _, o := range of {
		m.ordered = append(m.ordered, newOperand(o))
		m.most += o.bound()
	}
	slices.SortStableFunc(m.ordered, func(x, y operand) int { return cmp.Compare(x.cost(), y.cost()) })
	m.most *= slack
	m.lead = m.ordered[0].term
	shareLengths(m.ordered)
	return m
}

func (m *conjunction) advance(target uint32) uint32 {
next:
	for !m.stop() {
		// 1. Skip windows that score too little, and find the rarest operand.
		if m.threshold > 0 && (target >= m.end || m.rest[0] < m.threshold) {
			target = m.skip(target)
		}
		doc := uint32(noDoc)
		if m.threshold > 0 && m.lead != nil {
			doc = m.lead.next(target, m.end, m.threshold*tight-m.rest[1], m.lead.reach.table(m.threshold*tight-m.fixed, m.times), math.MaxUint32)
		} else {
			doc = m.ordered[0].advance(target)
		}
		if doc == noDoc {
			return noDoc
		}
		if target = doc; m.threshold > 0 && doc >= m.end {
			continue
		}
		// 2. The others must match. What those before have scored may be too little already.
		score, scored := 0.0, 0
		for i := range m.ordered {
			if i > 0 {
				if target = m.ordered[i].probe(doc); target > doc {
					continue next
				}
			}
			if m.rest[i+1] >= m.threshold || i == len(m.ordered)-1 || i == 0 && m.lead != nil {
				continue // the score is not needed, or tested already
			}
			for ; scored <= i; scored++ {
				score += m.ordered[scored].score()
			}
			if score*slack+m.rest[i+1] < m.threshold {
				target = doc + 1
				continue next
			}
		}
		// 3. Excluded operands must not.
		for _, o := range m.excluded {
			if o.advance(doc) == doc {
				target = doc + 1
				continue next
			}
		}
		return doc
	}
	return noDoc
}

// skip returns the first document that is not less than target and in a window that may reach the threshold.
func (m *conjunction) skip(target uint32) uint32 {
	for target != noDoc {
		if target >= m.end {
			m.end = window(m.ordered, target, target) + 1
			for i := len(m.ordered) - 1; i >= 0; i-- {
				m.rest[i] = m.rest[i+1] + m.ordered[i].most*slack
			}
			m.fixed, m.times = rivals(m.ordered[1:])
		}
		if m.rest[0] >= m.threshold {
			break
		}
		target = m.end
	}
	return target
}

func (m *conjunction) window(target, least uint32) (last uint32, bound float64) {
	last = noDoc - 1
	for _, o := range m.of {
		end, most := o.window(target, least)
		last, bound = min(last, end), bound+most
	}
	return last, bound * slack
}

func (m *conjunction) bound() float64 { return m.most }
func (m *conjunction) cost() uint64   { return m.ordered[0].cost() }
func (m *conjunction) failed() error  { return firstFailure(m.of, m.excluded) }
func (m *conjunction) score() (sum float64) {
	for _, o := range m.of {
		sum += o.score()
	}
	return sum
}

func (m *conjunction) setThreshold(threshold float64) {
	m.threshold = threshold
	setThresholds(m.of, threshold, m.most)
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
	*stopper
	of []matcher // in the order of the query
	// ordered has the lowest bound of the window first. before[i] is the most that those before i add to the score of a
	// document before end.
	ordered []operand
	before  []float64
	end     uint32
	// In the window, the operands but for the last one score at most fixed if they are no terms, and no term of them is more
	// frequent than times.
	fixed float64
	times uint32
	// essential is the index in ordered of the first operand without which a document may reach the threshold.
	essential int
	threshold float64
	most      float64
	total     uint64
	doc       uint32
}

// windowOfOperands is how many documents a window has at least for each operand, because it costs time for each.
const windowOfOperands = 32

func newDisjunction(of []matcher, stop *stopper) *disjunction {
	m := &disjunction{stopper: stop, of: of, before: make([]float64, len(of)+1)}
	for _, o := range of {
		m.ordered = append(m.ordered, newOperand(o))
		m.most += o.bound()
		m.total += o.cost()
	}
	m.most *= slack
	shareLengths(m.ordered)
	return m
}

func (m *disjunction) advance(target uint32) uint32 {
	for !m.stop() {
		// 1. Skip windows that score too little, and find the next document of an operand that is essential.
		if m.threshold > 0 && (target >= m.end || m.before[len(m.of)] < m.threshold) {
			target = m.skip(target)
		}
		m.doc = noDoc
		if lead := m.ordered[m.essential].term; lead != nil && m.threshold > 0 && m.essential == len(m.ordered)-1 {
			m.doc = lead.next(target, m.end, m.threshold*tight-m.before[m.essential], lead.reach.table(m.threshold*tight-m.fixed, m.times), math.MaxUint32)
		} else {
			for _, o := range m.ordered[m.essential:] {
				m.doc = min(m.doc, o.advance(target))
			}
		}
		switch {
		case m.threshold <= 0:
			return m.doc
		case m.doc >= m.end:
			if target = m.end; target == noDoc {
				m.doc = noDoc
				return noDoc
			}
		case m.reaches():
			return m.doc
		default:
			target = m.doc + 1
		}
	}
	m.doc = noDoc
	return noDoc
}

// skip opens the first window that is not before target and may reach the threshold. It returns its first document.
func (m *disjunction) skip(target uint32) uint32 {
	for target != noDoc {
		if target >= m.end {
			least := min(uint64(target)+windowOfOperands*uint64(len(m.of)), noDoc-1)
			m.end = window(m.ordered, target, uint32(least)) + 1
			slices.SortFunc(m.ordered, func(x, y operand) int { return cmp.Compare(x.most, y.most) })
			for i := range m.ordered {
				m.before[i+1] = m.before[i] + m.ordered[i].most*slack
			}
			m.fixed, m.times = rivals(m.ordered[:len(m.ordered)-1])
		}
		if m.before[len(m.of)] >= m.threshold {
			break
		}
		target = m.end
	}
	m.findEssential()
	return target
}

func (m *disjunction) findEssential() {
	for m.essential = 0; m.essential < len(m.ordered)-1 && m.before[m.essential+1] < m.threshold; {
		m.essential++
	}
}

// reaches reports whether the current document may reach the threshold. It advances all operands to it, unless what the
// others may add is too little.
func (m *disjunction) reaches() bool {
	score := 0.0
	for i := len(m.ordered) - 1; i >= 0; i-- {
		if i < m.essential && score*slack+m.before[i+1] < m.threshold {
			return false
		}
		if o := &m.ordered[i]; o.probe(m.doc) == m.doc {
			score += o.score()
		}
	}
	return score*slack >= m.threshold
}

func (m *disjunction) window(target, least uint32) (last uint32, bound float64) {
	last = noDoc - 1
	for _, o := range m.of {
		end, most := o.window(target, least)
		last, bound = min(last, end), bound+most
	}
	return last, bound * slack
}

func (m *disjunction) bound() float64 { return m.most }
func (m *disjunction) cost() uint64   { return m.total }
func (m *disjunction) failed() error  { return firstFailure(m.of) }
func (m *disjunction) score() (sum float64) {
	for _, o := range m.of {
		if o.advance(m.doc) == m.doc {
			sum += o.score()
		}
	}
	return sum
}

func (m *disjunction) setThreshold(threshold float64) {
	m.threshold = threshold
	setThresholds(m.of, threshold, m.most)
	if m.end > 0 {
		m.findEssential()
	}
}
