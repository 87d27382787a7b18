// Reader of the codec Reference; the package comment draws it.

package lists

import (
	"math/bits"
	"slices"
	"sync"
)

const (
	// refWindow is the greatest distance, in keys, to the source of a copy.
	refWindow = 31
	// refSource is the most targets of a source.
	refSource = 1024
	// refRun is the least length of a run.
	refRun = 4
	// refSizeBits is the most bits of a size up to refSource.
	refSizeBits = 21
	// refWide is added to the mode of a wide segment: the greatest length of its numbers is
	// maxBits, because one exceeds the table's.
	refWide = refWindow + 1
)

// refList is a list whose counts and first mode have been read. reader is behind them.
type refList struct {
	locals, ghosts uint32
	mode           uint32
	reader         bitReader
}

// parse reads the counts and the first mode of the list at pos.
func (l *refList) parse(t *Table, pos uint64) bool {
	r := &l.reader
	r.seek(t.data, pos)
	// 1. Read all from one load, if they are short.
	w := r.peek()
	locals, n := shortGamma(w)
	ghosts, n2 := shortGamma(w >> (n & 63))
	n += n2
	mode, n3 := shortGamma(w >> (n & 63))
	if n+n3 <= peekBits {
		r.pos += uint64(n)
		if locals|ghosts != 0 {
			r.pos += uint64(n3)
		}
	} else {
		// 2. Otherwise read one by one. An empty list has no mode.
		locals, ghosts = r.gamma(), r.gamma()
		if mode = 0; locals|ghosts != 0 {
			mode = r.gamma()
		}
	}
	l.locals, l.ghosts, l.mode = uint32(locals), uint32(ghosts), uint32(min(mode, 2*refWide))
	return locals <= uint64(t.n) && ghosts <= uint64(t.ghostEnd)
}

func (l *refList) size() uint64 { return uint64(l.locals) + uint64(l.ghosts) }

// next takes the next segment of a list from its counts. It returns the counts of the segment.
func (l *refList) next() (locals, n int) {
	locals = int(min(l.locals, PieceLen))
	ghosts := min(l.ghosts, uint32(PieceLen-locals))
	l.locals -= uint32(locals)
	l.ghosts -= ghosts
	return locals, locals + int(ghosts)
}

// segment is what a segment is decoded with. If it is the first of its list, key is the list's
// key and ghost is 0. Otherwise they are the last local and the last ghost, plus 1.
type segment struct {
	t          *Table
	r          bitReader
	key, ghost uint32
	mode       uint32
	first      bool
	past       *history // nil, or what a scanner has read
}

// begin prepares for the first segment of a list. It sets field by field, because the processor
// waits if it copies memory that it has just written in smaller pieces.
func (g *segment) begin(t *Table, l *refList, key uint32) {
	g.t, g.key, g.ghost, g.mode, g.first = t, key, 0, l.mode, true
	g.r.first, g.r.last, g.r.pos = l.reader.first, l.reader.last, l.reader.pos
}

// refScratch is the memory for one segment.
type refScratch struct {
	whole  refList // a list, and its next segment
	next   segment
	list   refList // its source
	source segment
	// Of a segment: its runs, the targets that are neither copied nor in runs, these and the
	// runs, and those that are copied; and the targets of its source.
	runs        [PieceLen/refRun + 1]run
	rest, mixed [PieceLen + copyLen]uint32
	copied      [refSource + 2*copyLen]uint32
	targets     [refSource + copyLen]uint32
}

var refScratches = sync.Pool{New: func() any { return new(refScratch) }}

// decode decodes a segment with that many locals into out, which must have room for copyLen more.
func (s *refScratch) decode(g *segment, out []uint32, locals int) bool {
	if !g.first {
		g.mode = uint32(min(g.r.gamma(), 2*refWide))
	}
	mode, numbers := g.mode, &g.t.codes
	if mode >= refWide {
		mode -= refWide
		numbers = &g.t.wide
	}
	if mode == 0 {
		return s.fill(g, numbers, out, locals, 0, 0)
	}
	// Only the first segment may copy, and only from a list that copies from none, because a
	// read must need at most one other list.
	if mode > refWindow || mode > g.key || !g.first {
		return false
	}
	source, sourceLocals, ok := s.sourceOf(g, g.key-mode)
	if !ok {
		return false
	}
	copied, copiedLocals, ok := s.copy(&g.r, source, sourceLocals)
	return ok && s.fill(g, numbers, out, locals, copied, copiedLocals)
}

// sourceOf returns the targets of the list of a key, and the number of its locals. copyLen
// elements may be read behind the targets.
func (s *refScratch) sourceOf(g *segment, key uint32) (source []uint32, locals int, ok bool) {
	if g.past != nil {
		if p := &g.past[key%(refWindow+1)]; p.known && p.key == key {
			return p.targets[:p.n], p.locals, true
		}
	}
	pos, ok := g.t.position(key)
	l := &s.list
	if !ok || !l.parse(g.t, pos) || l.size() > refSource {
		return nil, 0, false
	}
	source, locals = s.targets[:l.size()], int(l.locals)
	s.source.begin(g.t, l, key)
	numbers := &g.t.codes
	switch l.mode {
	case 0:
	case refWide:
		numbers = &g.t.wide
	default:
		return nil, 0, false
	}
	return source, locals, s.fill(&s.source, numbers, source, locals, 0, 0)
}

// copy copies targets of a source to s.copied. It returns their number, and how many are locals.
func (s *refScratch) copy(r *bitReader, source []uint32, sourceLocals int) (n, locals int, ok bool) {
	w, at := r.peek(), 0
	blocks, used := shortGamma(w)
	if blocks > uint64(len(source)) || used > refSizeBits {
		return 0, 0, false
	}
	// 1. Copy a block, and leave out the next one. Several are read from one load.
	less := uint64(0) // by which the next block's stored size is less
	for ; blocks > 0; blocks -= min(blocks, 2) {
		if used > peekBits-2*refSizeBits {
			r.pos += uint64(used)
			w, used = r.peek(), 0
		}
		size, bits := shortGamma(w >> used)
		used += bits
		size += less
		less = 1
		gap := uint64(len(source)-at) - size
		if blocks > 1 {
			gap, bits = shortGamma(w >> (used & 63))
			used += bits
			gap++
		}
		if size > uint64(len(source)-at) || gap > uint64(len(source)-at)-size {
			return 0, 0, false
		}
		s.copyBlock(n, source, at, int(size))
		locals += max(0, min(at+int(size), sourceLocals)-at)
		n += int(size)
		at += int(size + gap)
	}
	r.pos += uint64(used)
	// 2. Copy the rest. It is empty if the last block was a copied one.
	s.copyBlock(n, source, at, len(source)-at)
	locals += max(0, sourceLocals-at)
	return n + len(source) - at, locals, true
}

// copyBlock copies source[at:at+size] to s.copied[n:].
func (s *refScratch) copyBlock(n int, source []uint32, at, size int) {
	source = source[:cap(source)]
	copyTargets((*[copyLen]uint32)(s.copied[n:]), (*[copyLen]uint32)(source[at:]))
	for i := copyLen; i < size; i += copyLen {
		copyTargets((*[copyLen]uint32)(s.copied[n+i:]), (*[copyLen]uint32)(source[at+i:]))
	}
}

// fill decodes the targets that are not copied, and merges all. That many are copied.
func (s *refScratch) fill(g *segment, numbers *codes, out []uint32, locals, copied, copiedLocals int) bool {
	restLocals, restGhosts := locals-copiedLocals, len(out)-locals-(copied-copiedLocals)
	if restLocals < 0 || restGhosts < 0 {
		return false
	}
	// 1. Read the runs. A one is the number 0.
	runLocals, runGhosts, runs, localRuns, ok := 0, 0, 0, 0, true
	if restLocals >= refRun && !g.r.skipOne() {
		if localRuns, runLocals, ok = s.readRuns(g, 0, restLocals, true); !ok {
			return false
		}
		restLocals -= runLocals
	}
	if runs = localRuns; restGhosts >= refRun && !g.r.skipOne() {
		if runs, runGhosts, ok = s.readRuns(g, localRuns, restGhosts, false); !ok {
			return false
		}
		restGhosts -= runGhosts
	}
	// 2. Decode the others. Without copies and runs, they are all.
	merged := copied+runs > 0
	rest := out
	if merged {
		rest = s.rest[:restLocals+restGhosts]
	}
	down := uint64(0)
	if g.first && restLocals > 0 {
		if down = g.r.take(uint(bits.Len(uint(restLocals)))); down > uint64(restLocals) {
			return false
		}
	}
	g.r.numbers(len(rest))
	if down > 0 {
		ok = g.r.readDescending(rest[:down], numbers, g.key)
	}
	ok = ok && g.r.readAscending(rest[down:restLocals], numbers, g.key, g.t.n)
	if restGhosts > 0 {
		ok = ok && g.r.readAscending(rest[restLocals:], numbers, g.ghost, g.t.ghostEnd)
	}
	if !merged || !ok {
		return ok
	}
	// 3. Merge, ghosts first, because a merge overwrites what is behind its lists.
	if len(out) == locals {
		return s.merge(out, s.copied[:copied], s.runs[:runs], rest)
	}
	ok = s.merge(out[locals:], s.copied[copiedLocals:copied], s.runs[localRuns:runs], rest[restLocals:])
	behind := (*[copyLen]uint32)(out[locals : locals+copyLen])
	saved := *behind
	ok = ok && s.merge(out[:locals], s.copied[:copiedLocals], s.runs[:localRuns], rest[:restLocals])
	*behind = saved
	return ok
}

// merge merges three ascending lists, which must have no common targets.
func (s *refScratch) merge(out, copied []uint32, runs []run, rest []uint32) bool {
	if len(runs) == 0 {
		return mergeInto(out, copied, rest)
	}
	if len(copied) == 0 {
		return mergeRuns(out, rest, runs)
	}
	mixed := s.mixed[:len(out)-len(copied)]
	return mergeRuns(mixed, rest, runs) && mergeInto(out, copied, mixed)
}

// readRuns reads runs of at most room targets to s.runs[at:]. It returns the end of all runs,
// and the number of their targets.
func (s *refScratch) readRuns(g *segment, at, room int, local bool) (end, n int, ok bool) {
	count := g.r.gamma()
	if count > uint64(room/refRun) {
		return 0, 0, false
	}
	next, limit := uint64(g.ghost), uint64(g.t.ghostEnd)
	if local {
		next, limit = uint64(g.key), uint64(g.t.n)
	}
	for i := range count {
		first := next + uint64(g.r.distance())
		if local && i == 0 && g.first {
			first = uint64(unzigzag(uint32(first-next), g.key))
		}
		size := g.r.gamma() + refRun
		if size > uint64(room-n) || first+size > limit {
			return 0, 0, false
		}
		s.runs[at] = run{uint32(first), uint32(size)}
		at++
		n += int(size)
		next = first + size + 1
	}
	return at, n, true
}

type reference struct{}

func (reference) limit(data []byte) (uint64, bool) {
	return (uint64(len(data)) - refSlack) * 8, len(data) >= refSlack
}

func (reference) degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool) {
	var l refList
	ok = l.parse(t, pos)
	return l.locals, l.ghosts, ok
}

func (reference) decode(t *Table, key uint32, pos uint64, locals, ghosts []uint32) (l, g []uint32, ok bool) {
	s := refScratches.Get().(*refScratch)
	h, part := &s.whole, &s.next
	ok = h.parse(t, pos)
	part.begin(t, h, key)
	part.past = nil
	// A list of one segment, which is nearly every list, goes through the loop once.
	for ok && h.size() > 0 {
		n, size := h.next()
		at := len(locals)
		locals = slices.Grow(locals, size+copyLen)
		out := locals[at : at+size]
		if ok = s.decode(part, out, n); ok {
			part.goOn(out, n)
		}
		locals = locals[:at+n]
		if n < size {
			ghosts = append(ghosts, out[n:]...)
		}
	}
	refScratches.Put(s)
	return locals, ghosts, ok
}

// goOn prepares for the segment behind out.
func (g *segment) goOn(out []uint32, locals int) {
	g.first = false
	if locals > 0 {
		g.key = out[locals-1] + 1
	}
	if locals < len(out) {
		g.ghost = out[len(out)-1] + 1
	}
}

// history is a scanner's memory of the last lists, by key modulo their number.
type history [refWindow + 1]pastList

type pastList struct {
	known     bool
	key       uint32
	locals, n int
	targets   [refSource + 16]uint32 // not a power of two, because lists would share lines of the cache
}

// reset drops all lists.
func (h *history) reset() {
	for i := range h {
		h[i].known = false
	}
}

// copying is a scanner's memory for Reference.
type copying struct {
	past    history
	scratch refScratch
	list    refList // the current list, without the segments that were read
	next    segment
}

func (reference) scan(s *Scanner, key uint32) bool {
	c := s.copying
	// 1. Begin the list, unless a segment of the one before is left.
	if s.rest.locals|s.rest.ghosts == 0 {
		if s.pos >= s.t.limit || !c.list.parse(s.t, s.pos) {
			return false
		}
		c.next.begin(s.t, &c.list, key)
		c.next.past = &c.past
	}
	n := c.list.size()
	locals, size := c.list.next()
	s.rest.locals, s.rest.ghosts = c.list.locals, c.list.ghosts
	// 2. Decode the segment. A short list is kept, because later lists may copy from it.
	out := s.buf[:size]
	slot := &c.past[key%(refWindow+1)]
	if slot.known = false; c.next.first && n <= refSource {
		slot.key, slot.locals, slot.n = key, locals, size
		out = slot.targets[:size]
	}
	if size > 0 && !c.scratch.decode(&c.next, out, locals) {
		return false
	}
	slot.known = c.next.first && n <= refSource && c.next.mode%refWide == 0
	c.next.goOn(out, locals)
	s.locals, s.ghosts = out[:locals], out[locals:]
	s.pos = c.next.r.pos
	return true
}
