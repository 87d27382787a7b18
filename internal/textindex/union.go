// The matcher of the terms that a prefix or a fuzzy word stands for, as if they were one.

package textindex

import (
	"encoding/binary"
	"math/bits"
)

// unionWindow is how many documents a union counts at a time.
const unionWindow = 1 << 13

// unionMatcher matches the documents of many lists, and adds up their frequencies. It counts the documents of a window
// list by list. A list waits in the window of its next document, so a window costs time for its own lists only.
type unionMatcher struct {
	*scorer
	streams []stream
	// waiting[i] is the first stream that waits in window i, plus 1; stream.next is the one behind it.
	waiting   []uint32
	weight    float64
	threshold float64
	total     uint64
	opened    int // windows that were opened
	base      uint32
	doc       uint32
	counts    [unionWindow]uint32 // by document of the window
	marks     [unionWindow / 64]uint64
	result    float64 // score of the document
	reach     reach
	err       error
}

func newUnionMatcher(s *scorer, lists []list, weight float64) *unionMatcher {
	m := &unionMatcher{scorer: s, weight: weight, reach: reach{scorer: s, weight: weight, each: 1}, streams: make([]stream, len(lists)), waiting: make([]uint32, (s.segment.documents+unionWindow-1)/unionWindow)}
	for i, l := range lists {
		m.total += uint64(l.count)
		m.streams[i] = newStream(l)
		m.wait(i)
	}
	return m
}

// wait makes a stream wait in the window of its next document, if it has one.
func (m *unionMatcher) wait(i int) {
	s := &m.streams[i]
	switch doc, err := s.peek(m.segment.documents); {
	case err != nil:
		m.err = err
	case doc != noDoc:
		s.next, m.waiting[doc/unionWindow] = m.waiting[doc/unionWindow], uint32(i+1)
	}
}

func (m *unionMatcher) advance(target uint32) uint32 {
	if m.opened > 0 && m.doc >= target {
		return m.doc
	}
	for {
		// 1. The next document of the window that reaches the threshold.
		if m.opened > 0 && target < m.base+unionWindow {
			if m.doc = m.find(max(target, m.base)); m.doc != noDoc {
				return m.doc
			}
		}
		// 2. Or the next window that is not empty, and not before the target.
		if !m.open(target) {
			m.doc = noDoc
			return noDoc
		}
	}
}

// find returns the first document of the window from target on that reaches the threshold; noDoc if there is none.
func (m *unionMatcher) find(target uint32) uint32 {
	at := target - m.base
	word := m.marks[at/64] >> (at % 64) << (at % 64)
	t := m.reach.table(m.threshold*tight, 0)
	for i := at / 64; ; word = m.marks[i] {
		for ; word != 0; word &= word - 1 {
			at := i*64 + uint32(bits.TrailingZeros64(word))
			frequency, length := m.counts[at], m.segment.length(m.base+at)
			if t.excludes(frequency, length) || !m.reach.has(t, frequency, length) {
				continue
			}
			m.result = m.weight * m.saturate(frequency, length)
			if m.result >= m.threshold {
				return m.base + at
			}
		}
		if i++; i == unionWindow/64 {
			return noDoc
		}
	}
}

// open counts the next window that has lists and is not before the target. It returns false if there is none.
func (m *unionMatcher) open(target uint32) bool {
	for ; m.opened < len(m.waiting) && m.err == nil; m.opened++ {
		// Lists of a window before the target go on from there.
		i := m.waiting[m.opened]
		if i == 0 {
			continue
		}
		m.base = uint32(m.opened) * unionWindow
		if before := uint64(m.base)+unionWindow <= uint64(target); before {
			for i > 0 && m.err == nil {
				s := &m.streams[i-1]
				next := s.next
				if m.err = s.skip(target); m.err == nil {
					m.wait(int(i - 1))
				}
				i = next
			}
			continue
		}
		clear(m.counts[:])
		clear(m.marks[:])
		for i > 0 && m.err == nil {
			s := &m.streams[i-1]
			next := s.next
			m.count(s)
			m.wait(int(i - 1))
			i = next
		}
		m.opened++
		return m.err == nil
	}
	return false
}

// count counts the documents of a list in the window.
func (m *unionMatcher) count(s *stream) {
	end := uint32(min(uint64(m.base)+unionWindow, uint64(m.segment.documents)))
	for {
		// 1. One document, with all checks.
		doc, err := s.peek(m.segment.documents)
		if err != nil {
			m.err = err
			return
		}
		if doc >= end {
			return
		}
		m.add(doc, s.frequency)
		s.pop()
		// 2. Those behind it in its block. The first that is not as it should be is left to peek.
		switch full := s.list.count / blockPostings; {
		case s.at == 0:
		case s.block < full:
			m.countFull(s, end)
		default:
			m.countRest(s, end)
		}
	}
}

// add counts a document of the window.
func (m *unionMatcher) add(doc, frequency uint32) {
	at := (doc - m.base) % unionWindow
	m.counts[at] += frequency
	m.marks[at/64] |= 1 << (at % 64)
}

// countFull counts the documents of a full block but for the first, which peek has read, and the last.
func (m *unionMatcher) countFull(s *stream, end uint32) {
	_, skips, blocks := s.full()
	end = min(end, binary.LittleEndian.Uint32(skips[s.block*skipBytes:]))
	packed := blocks[s.place+2 : cap(blocks)]
	gaps, width := uint32(s.gaps), uint32(s.width)
	gapMask, frequencyMask := uint64(1)<<gaps-1, uint64(1)<<width-1
	gap, frequency := uint32(s.at)*gaps, blockPostings*gaps+uint32(s.at)*width
	for ; s.at < blockPostings-1; s.at++ {
		doc := s.doc + uint32(binary.LittleEndian.Uint64(packed[gap>>3:])>>(gap&7)&gapMask)
		if doc >= end {
			return
		}
		m.add(doc, uint32(binary.LittleEndian.Uint64(packed[frequency>>3:])>>(frequency&7)&frequencyMask)+1)
		s.doc, gap, frequency = doc+1, gap+gaps, frequency+width
	}
}

// countRest counts the documents of the rest of a list but for the first, which peek has read.
func (m *unionMatcher) countRest(s *stream, end uint32) {
	_, _, blocks := s.full()
	rest := byte(s.list.count % blockPostings)
	for ; s.at < rest && int(s.place) < len(blocks); s.at++ {
		b := blocks[s.place:]
		v, k := uint64(b[0]), 1
		if v >= 0x80 {
			v, k = binary.Uvarint(b)
		}
		doc, frequency := uint64(s.doc)+v/2, uint64(1)
		if k <= 0 || doc >= uint64(end) {
			return
		}
		if v%2 == 0 {
			f, size := binary.Uvarint(b[k:])
			if size <= 0 {
				return
			}
			frequency, k = min(f+2, 1<<31-1), k+size
		}
		m.add(uint32(doc), uint32(frequency))
		s.doc, s.place = uint32(doc)+1, s.place+uint32(k)
	}
}

// window of a union is the whole list, because bounds of many lists add up to more than the weight.
func (m *unionMatcher) window(uint32, uint32) (last uint32, bound float64) {
	return noDoc - 1, m.weight
}

func (m *unionMatcher) bound() float64                 { return m.weight }
func (m *unionMatcher) setThreshold(threshold float64) { m.threshold = threshold }
func (m *unionMatcher) cost() uint64                   { return m.total }
func (m *unionMatcher) failed() error                  { return m.err }
func (m *unionMatcher) score() float64                 { return m.result }

// stream reads a list of postings one by one. It is a tenth as large as a cursor, because it has no decoded block.
type stream struct {
	list      list
	next      uint32 // for the user of the stream
	doc       uint32 // the document; the least possible one until it is read
	frequency uint32
	read      bool // doc and frequency are those of the posting
	gaps      byte // widths of the block
	width     byte
	at        byte   // the posting in the block
	block     uint32 // the block; count/blockPostings is the rest
	place     uint32 // of the block, or of the next posting of the rest
}

func newStream(l list) stream { return stream{list: l} }

// full returns the number of full blocks, and their skips and bytes.
func (s *stream) full() (n uint32, skips, blocks []byte) {
	n = s.list.count / blockPostings
	at := int(n) * skipBytes
	if at > len(s.list.postings) {
		return n, nil, nil
	}
	return n, s.list.postings[:at], s.list.postings[at:len(s.list.postings):cap(s.list.postings)]
}

var errStream = damaged("a list of postings is damaged")

// peek returns the current document; noDoc is the end.
func (s *stream) peek(documents uint32) (uint32, error) {
	if s.read {
		return s.doc, nil
	}
	full, skips, blocks := s.full()
	if skips == nil && full > 0 {
		return noDoc, errStream
	}
	if s.block < full {
		return s.peekFull(skips, blocks, documents)
	}
	// The rest.
	rest := s.list.count % blockPostings
	if uint32(s.at) >= rest {
		return noDoc, nil
	}
	ok := true
	number := func() uint64 {
		v, k := uint64(0), 0
		if ok && int(s.place) <= len(blocks) {
			v, k = binary.Uvarint(blocks[s.place:])
		}
		ok = ok && k > 0
		s.place += uint32(max(k, 0))
		return v
	}
	if s.at == 0 {
		if s.place = 0; full > 0 {
			s.place = binary.LittleEndian.Uint32(skips[(full-1)*skipBytes+4:])
		}
		for range 3 { // the place of the positions, and the impact
			number()
		}
	}
	v := number()
	document := uint64(s.doc) + v/2
	if s.frequency = 1; v%2 == 0 {
		s.frequency = uint32(min(number()+2, 1<<31-1))
	}
	if !ok || document >= uint64(documents) {
		return noDoc, errStream
	}
	s.doc, s.read = uint32(document), true
	return s.doc, nil
}

// peekFull is peek in a full block.
func (s *stream) peekFull(skips, blocks []byte, documents uint32) (uint32, error) {
	skip := skips[s.block*skipBytes:]
	last := binary.LittleEndian.Uint32(skip)
	// 1. Begin the block.
	if s.at == 0 {
		if s.place = 0; s.block > 0 {
			s.place = binary.LittleEndian.Uint32(skips[(s.block-1)*skipBytes+4:])
		}
		end := uint64(binary.LittleEndian.Uint32(skip[4:]))
		if uint64(s.place)+2 > end || end > uint64(len(blocks)) {
			return noDoc, errStream
		}
		s.gaps, s.width = blocks[s.place], blocks[s.place+1]
		if s.gaps > 32 || s.width > 32 || uint64(s.place)+2+uint64(int(s.gaps)+int(s.width))*blockPostings/8 != end {
			return noDoc, errStream
		}
	}
	// 2. Unpack one posting. The padding behind the lists lets 8 bytes be read.
	packed := blocks[s.place+2 : cap(blocks)]
	value := func(bit uint32, width byte) uint32 {
		return uint32(binary.LittleEndian.Uint64(packed[bit>>3:]) >> (bit & 7) & (1<<width - 1))
	}
	s.doc += value(uint32(s.at)*uint32(s.gaps), s.gaps)
	s.frequency = value(blockPostings*uint32(s.gaps)+uint32(s.at)*uint32(s.width), s.width) + 1
	if s.doc >= documents || (s.doc == last) != (s.at == blockPostings-1) {
		return noDoc, errStream
	}
	s.read = true
	return s.doc, nil
}

// pop ends the current posting.
func (s *stream) pop() {
	s.read = false
	s.doc++
	if s.at++; s.at == blockPostings {
		s.at = 0
		s.block++
	}
}

// skip ends the postings of documents before target.
func (s *stream) skip(target uint32) error {
	full, skips, _ := s.full()
	before := s.block
	for s.block < full && skips != nil && binary.LittleEndian.Uint32(skips[s.block*skipBytes:]) < target {
		s.block++
	}
	if s.block > before {
		s.doc, s.at, s.read = binary.LittleEndian.Uint32(skips[(s.block-1)*skipBytes:])+1, 0, false
	}
	for {
		if doc, err := s.peek(noDoc); err != nil || doc >= target {
			return err
		}
		s.pop()
	}
}
