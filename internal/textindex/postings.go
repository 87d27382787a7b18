// Reading lists of postings.

package textindex

import (
	"encoding/binary"
	"math"
)

// noDoc is behind all documents.
const noDoc = math.MaxUint32

// cursor reads the postings of a term, in order. A document is current after the first advance.
type cursor struct {
	segment *Segment
	list    list
	full    int // full blocks
	skips   []byte
	blocks  []byte // full blocks and the rest

	block   int // the current one; full is the rest
	n, at   int // postings of the block, and the current one
	doc     uint32
	packed  []byte // frequencies of the block, not unpacked yet
	width   byte
	docs    [blockPostings]uint32
	counts  [blockPostings]uint32
	start   int // of the positions of the block
	counted int // documents of the block whose positions were skipped
	place   int // of the positions of document counted
	err     error
}

func newCursor(s *Segment, l list) *cursor {
	c := &cursor{segment: s, list: l, full: int(l.count / blockPostings), block: -1}
	if c.full*skipBytes > len(l.postings) {
		c.fail("a list of postings is cut off")
		return c
	}
	c.skips = l.postings[:c.full*skipBytes]
	c.blocks = l.postings[c.full*skipBytes : len(l.postings) : cap(l.postings)]
	return c
}

func (c *cursor) fail(what string) {
	c.err = damaged("%s", what)
	c.doc, c.full, c.block = noDoc, 0, 1
}

func (c *cursor) skip(block, field int) uint32 {
	return binary.LittleEndian.Uint32(c.skips[block*skipBytes+4*field:])
}

// lastBlock returns the index of the last block.
func (c *cursor) lastBlock() int {
	if c.list.count%blockPostings == 0 {
		return c.full - 1
	}
	return c.full
}

// lastOf returns the last document of a block; of the rest it is not known.
func (c *cursor) lastOf(block int) uint32 {
	if block < c.full {
		return c.skip(block, 0)
	}
	return noDoc - 1
}

// greatest returns a frequency that no document of a block exceeds.
func (c *cursor) greatest(block int) uint32 {
	if block < c.full {
		// The impacts begin with the greatest frequency.
		if frequency := binary.LittleEndian.Uint16(c.skips[block*skipBytes+12:]); frequency < math.MaxUint16 {
			return uint32(frequency)
		}
		return math.MaxUint32
	}
	_, frequency, _ := c.restImpact()
	return frequency
}

// bound returns the greatest result of score for a document of a block. score must ascend with the frequency, and
// descend with the length.
func (c *cursor) bound(block int, score func(frequency, length uint32) float64) (most float64) {
	// The impacts of a full block.
	if block < c.full {
		impacts := c.skips[block*skipBytes+12 : (block+1)*skipBytes]
		for i := 0; i < len(impacts); i += 4 {
			frequency := uint32(binary.LittleEndian.Uint16(impacts[i:]))
			if frequency == math.MaxUint16 {
				frequency = math.MaxUint32
			}
			most = max(most, score(frequency, uint32(binary.LittleEndian.Uint16(impacts[i+2:]))))
		}
		return most
	}
	_, frequency, length := c.restImpact()
	return score(frequency, length)
}

// restImpact returns the place of the rest's positions, its greatest frequency and its least length. If it is damaged, load
// reports it.
func (c *cursor) restImpact() (place uint64, frequency, length uint32) {
	rest, _ := c.restBytes()
	var numbers [3]uint64
	for i := range numbers {
		v, k := binary.Uvarint(rest)
		if k <= 0 {
			return 0, math.MaxUint32, 0
		}
		numbers[i], rest = v, rest[k:]
	}
	return numbers[0], uint32(min(numbers[1], math.MaxUint32)), uint32(min(numbers[2], math.MaxUint32))
}

// restBytes returns the bytes of the rest.
func (c *cursor) restBytes() ([]byte, bool) {
	at := 0
	if c.full > 0 {
		at = int(c.skip(c.full-1, 1))
	}
	if at > len(c.blocks) {
		return nil, false
	}
	return c.blocks[at:], true
}

// load decodes the documents of a block.
func (c *cursor) load(block int) bool {
	c.block, c.at, c.counted = block, 0, 0
	next := uint32(0)
	if block > 0 {
		next = c.skip(block-1, 0) + 1
	}
	if block == c.full {
		return c.loadRest(next)
	}
	// 1. Find the bytes.
	at, end := 0, int(c.skip(block, 1))
	if block > 0 {
		at = int(c.skip(block-1, 1))
	}
	if at+2 > end || end > len(c.blocks) {
		c.fail("a block of postings is cut off")
		return false
	}
	gaps := c.blocks[at]
	c.width, c.n, c.start = c.blocks[at+1], blockPostings, int(c.skip(block, 2))
	size := int(gaps) * blockPostings / 8
	if gaps > 32 || c.width > 32 || at+2+size+int(c.width)*blockPostings/8 != end {
		c.fail("a block of postings has an impossible width")
		return false
	}
	// 2. Decode the documents. Frequencies wait until they are needed.
	unpack(&c.docs, c.blocks[at+2:cap(c.blocks)], gaps)
	for i := range c.docs {
		next += c.docs[i] + 1
		c.docs[i] = next - 1
	}
	c.packed = c.blocks[at+2+size : cap(c.blocks)]
	if last := c.docs[blockPostings-1]; last != c.skip(block, 0) || last >= c.segment.documents {
		c.fail("a block of postings has other documents")
		return false
	}
	return true
}

// loadRest decodes the rest. next is its least possible document.
func (c *cursor) loadRest(next uint32) bool {
	// 1. A reader of numbers, which stops at the end.
	rest, ok := c.restBytes()
	number := func() uint64 {
		v, k := binary.Uvarint(rest)
		if k <= 0 {
			ok = false
			return 0
		}
		rest = rest[k:]
		return v
	}
	// 2. Where the positions begin, and the postings.
	c.start = int(min(number(), math.MaxInt32))
	number() // the impact
	number()
	c.n, c.packed = int(c.list.count%blockPostings), nil
	for i := range c.n {
		v := number()
		document := uint64(next) + v/2
		if c.counts[i] = 1; v%2 == 0 {
			c.counts[i] = uint32(min(number()+2, math.MaxInt32))
		}
		if !ok || document >= uint64(c.segment.documents) {
			c.fail("the last postings of a list are damaged")
			return false
		}
		c.docs[i] = uint32(document)
		next = uint32(document) + 1
	}
	return true
}

// unpack reads values of some bits each. b has 8 bytes more than it needs.
func unpack(out *[blockPostings]uint32, b []byte, width byte) {
	mask := uint64(1)<<width - 1
	switch {
	case width == 0:
		clear(out[:])
	case width <= 8:
		// Eight values fill width bytes.
		for at := 0; at < blockPostings; at += 8 {
			word, to := binary.LittleEndian.Uint64(b), out[at:at+8:at+8]
			b = b[width:]
			to[0] = uint32(word & mask)
			word >>= width & 63
			to[1] = uint32(word & mask)
			word >>= width & 63
			to[2] = uint32(word & mask)
			word >>= width & 63
			to[3] = uint32(word & mask)
			word >>= width & 63
			to[4] = uint32(word & mask)
			word >>= width & 63
			to[5] = uint32(word & mask)
			word >>= width & 63
			to[6] = uint32(word & mask)
			word >>= width & 63
			to[7] = uint32(word & mask)
		}
	default:
		bit := 0
		for i := range out {
			out[i] = uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
			bit += int(width)
		}
	}
}

// seek returns the first block, from some block on, that may have documents that are not less than target. It is behind
// the last block if there is none. A near block is found at once, and a far one in logarithmic time.
func (c *cursor) seek(block int, target uint32) int {
	// 1. Double the step until a block ends behind the target.
	step := 1
	for block+step <= c.full && c.skip(block+step-1, 0) < target {
		block += step
		step *= 2
	}
	// 2. Halve it.
	for step /= 2; step > 0; step /= 2 {
		if block+step <= c.full && c.skip(block+step-1, 0) < target {
			block += step
		}
	}
	for block < c.full && c.skip(block, 0) < target {
		block++
	}
	if block == c.full && target == noDoc {
		block++
	}
	return block
}

// advance makes the first document current that is not less than target, and returns it; noDoc if there is none.
func (c *cursor) advance(target uint32) uint32 {
	if c.doc == noDoc || c.block >= 0 && c.doc >= target {
		return c.doc
	}
	last := c.lastBlock()
	for block := max(c.block, 0); ; block++ {
		// 1. Find the block, unless it is the current one.
		if !c.holds(target) {
			if block = c.seek(block, target); block > last {
				c.doc = noDoc
				return noDoc
			}
			if block != c.block && !c.load(block) {
				return noDoc
			}
		}
		// 2. Find the document.
		if c.find(target); c.at < c.n {
			c.doc = c.docs[c.at]
			return c.doc
		}
	}
}

// holds reports whether the current block has a document that is not less than target. No block before it has.
func (c *cursor) holds(target uint32) bool {
	return c.block >= 0 && c.n > 0 && c.docs[c.n-1] >= target
}

// find makes the first posting of the block current whose document is not less than target; n if there is none.
func (c *cursor) find(target uint32) {
	docs := c.docs[:c.n]
	at := c.at
	// 1. Steps of eight. In the last one, the lesser documents are counted without branches, which would be guessed badly.
	for ; at+8 <= len(docs); at += 8 {
		if next := docs[at : at+8 : at+8]; next[7] >= target {
			less := func(i int) int { return int((uint64(next[i]) - uint64(target)) >> 63) }
			c.at = at + less(0) + less(1) + less(2) + less(3) + less(4) + less(5) + less(6)
			return
		}
	}
	// 2. The end of a short block.
	for at < len(docs) && docs[at] < target {
		at++
	}
	c.at = at
}

// frequency returns how often the current document has the term.
func (c *cursor) frequency() uint32 {
	if c.packed == nil {
		return c.counts[c.at]
	}
	bit := c.at * int(c.width)
	return uint32(binary.LittleEndian.Uint64(c.packed[bit>>3:])>>(bit&7)&(1<<c.width-1)) + 1
}

// unpackFrequencies unpacks the frequencies of the block, unless they are unpacked.
func (c *cursor) unpackFrequencies() {
	if c.packed == nil {
		return
	}
	unpack(&c.counts, c.packed, c.width)
	for i := range c.counts {
		c.counts[i]++
	}
	c.packed = nil
}

// positionBytes returns the encoded positions of the current document.
func (c *cursor) positionBytes() []byte {
	c.unpackFrequencies()
	b := c.list.positions
	if c.counted == 0 || c.counted > c.at {
		c.counted, c.place = 0, c.start
	}
	for ; c.counted < c.at; c.counted++ {
		c.place = skipUvarints(b, c.place, int(c.counts[c.counted]))
	}
	end := skipUvarints(b, c.place, int(c.counts[c.at]))
	if c.place > len(b) || end > len(b) {
		c.fail("the positions of a document are cut off")
		return nil
	}
	return b[c.place:end]
}

// positions appends the positions of the current document.
func (c *cursor) positions(dst []uint32) []uint32 {
	last := uint64(0)
	for b := c.positionBytes(); len(b) > 0; {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			c.fail("a position is cut off")
			return dst
		}
		last += v
		dst, b = append(dst, uint32(last)), b[k:]
	}
	return dst
}
