// Encoder of the codec Reference: lists in blocks.

package lists

import "slices"

const (
	// refBlock is how many lists choose their sources together. A block ends earlier if it has
	// refBlockTargets targets.
	refBlock        = 1024
	refBlockTargets = 1 << 18
)

// refEncoder writes the lists of Reference.
type refEncoder struct {
	bitWriter
	at      []uint64 // position of each list
	chunks  [][]byte // earlier bytes, so growth moves nothing
	before  uint64   // total length of chunks
	lengths lengths
	costs   costs
	block   block
	sources sources
	plan    refPlan
}

// costs is the length in bits of a number's code, by the number's bits.
type costs [33]uint8

func costsOf(l lengths) (c costs) {
	code := 0
	for b := range c {
		for code < 3 && int(l[code]) < b {
			code++
		}
		c[b] = 2 + l[code]
		if int(l[code]) < b { // the segment becomes wide
			c[b] = 100
		}
	}
	return c
}

// block is some lists, one after another, that are not written yet.
type block struct {
	first   uint32 // key of the first one
	targets []uint32
	lists   []blockList
}

// blockList is a list in targets[from:], locals before ghosts.
type blockList struct{ from, locals, n int }

func (b *block) reset(first uint32) {
	*b = block{first: first, targets: b.targets[:0], lists: b.lists[:0]}
	if cap(b.targets) > 4*refBlockTargets { // a long list should not stay
		b.targets = nil
	}
}

func (b *block) add(locals, ghosts []uint32) {
	b.lists = append(b.lists, blockList{len(b.targets), len(locals), len(locals) + len(ghosts)})
	b.targets = append(append(b.targets, locals...), ghosts...)
}

// list returns the locals and ghosts of list i.
func (b *block) list(i int) (l [2][]uint32) {
	e := b.lists[i]
	all := b.targets[e.from : e.from+e.n]
	return [2][]uint32{all[:e.locals], all[e.locals:]}
}

// usualLengths are about right for lists of pages. They serve before begin has seen some.
var usualLengths = lengths{2, 6, 12, 18}

func (e *refEncoder) begin(first eachList) lengths {
	e.lengths, e.costs = usualLengths, costsOf(usualLengths)
	var seen histogram
	// 1. Choose sources as append will.
	count := func() {
		e.sources.choose(&e.block, &e.costs)
		for i := range e.block.lists {
			e.eachSegment(i, func() { seen.add(e.plan.numbers) })
		}
	}
	e.block.reset(0)
	first(func(key uint32, locals, ghosts []uint32) {
		if !e.block.continues(key) {
			count()
			e.block.reset(key)
		}
		e.block.add(locals, ghosts)
	})
	count()
	// 2. The lists come again, so forget them.
	e.block.reset(0)
	e.lengths = seen.bestBits()
	e.costs = costsOf(e.lengths)
	return e.lengths
}

// continues reports whether the list of a key may be added.
func (b *block) continues(key uint32) bool {
	return key == b.first+uint32(len(b.lists)) && len(b.lists) < refBlock && len(b.targets) < refBlockTargets
}

func (e *refEncoder) append(key uint32, locals, ghosts []uint32) {
	if !e.block.continues(key) {
		e.flush()
		e.block.reset(key)
	}
	e.block.add(locals, ghosts)
}

// flush writes the lists of the block.
func (e *refEncoder) flush() {
	e.sources.choose(&e.block, &e.costs)
	for i, l := range e.block.lists {
		e.at = append(e.at, e.bits())
		e.gamma(uint64(l.locals))
		e.gamma(uint64(l.n - l.locals))
		e.eachSegment(i, func() { e.plan.write(&e.bitWriter, e.lengths, &e.costs) })
	}
	e.block.reset(0)
}

// eachSegment sets the plan to each segment of list i in turn.
func (e *refEncoder) eachSegment(i int, do func()) {
	list := e.block.list(i)
	key := e.block.first + uint32(i)
	if len(list[0])+len(list[1]) == 0 {
		return
	}
	if back := e.sources.sourceDistance(i); back > 0 {
		e.plan.copying(key, back, list, e.block.list(i-back))
		do()
		return
	}
	// The plan of a later segment has the last targets of the one before as its start.
	start := [2]uint32{key, 0}
	for first := true; len(list[0])+len(list[1]) > 0; first = false {
		var part [2][]uint32
		room := PieceLen
		for k, l := range list {
			n := min(len(l), room)
			part[k], list[k] = l[:n], l[n:]
			room -= n
		}
		e.plan.plain(start, first, part)
		do()
		for k, l := range part {
			if len(l) > 0 {
				start[k] = l[len(l)-1] + 1
			}
		}
	}
}

// bits returns the number of bits so far.
func (e *refEncoder) bits() uint64 {
	if len(e.buf) >= chunkBytes {
		e.chunks = append(e.chunks, e.buf)
		e.before += uint64(len(e.buf))
		e.buf = make([]byte, 0, chunkBytes+chunkBytes/8)
	}
	return e.before*8 + e.bitWriter.bits()
}

func (e *refEncoder) positions() []uint64 {
	e.flush()
	return append(e.at, e.bits())
}

func (e *refEncoder) size() uint64 { return e.before + uint64(len(e.buf)) }

func (e *refEncoder) appendTo(dst []byte) []byte {
	dst = slices.Grow(dst, int(e.size())+refSlack+16)
	for _, c := range e.chunks {
		dst = append(dst, c...)
	}
	dst = append(dst, e.buf...)
	if e.have > 0 {
		dst = append(dst, byte(e.acc))
	}
	return append(dst, make([]byte, refSlack)...)
}
