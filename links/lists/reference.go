// Reader of the codec Reference; the package comment draws it.

package lists

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
)

const (
	// refWindow is the greatest distance, in keys, to the source of a copy.
	refWindow = 7
	// refChain is the maximum number of other lists that a read of one list needs.
	refChain = 3
	// refLeast is the least length of a list with a byte for its source.
	refLeast = 4
	// refMask is the count of mask bytes from which on a uvarint follows.
	refMask = 31
)

// refList is the head of a list. Its svbList describes the targets that are not copied; locals
// and ghosts count the whole list.
type refList struct {
	svbList
	locals, ghosts uint32
	back           uint32 // distance in keys to the source; 0 is none
	mask           []byte
	next           uint64 // offset of the control bytes
	limit          uint64
}

// parse decodes the head of the list at pos, which must be below limit. If back is 0, the
// svbList is complete. Otherwise place must complete it.
func (l *refList) parse(data []byte, pos, limit uint64) bool {
	b := data[pos]
	pos++
	// 1. Decode the counts of the whole list.
	l.svbList = svbList{locals: uint32(b & svbLocals), ghosts: uint32(b >> 5)}
	l.back, l.mask, l.limit = 0, nil, limit
	if l.svbList.locals == svbLocals || l.svbList.ghosts == svbGhosts {
		var ok bool
		if pos, ok = l.counts(data, pos, limit); !ok {
			return false
		}
	}
	l.locals, l.ghosts = l.svbList.locals, l.svbList.ghosts
	n := l.size()
	// 2. Decode the source and the mask. Short and long lists have none.
	if n >= refLeast && n < svbLong {
		if pos >= limit {
			return false
		}
		c := data[pos]
		pos++
		l.back = uint32(c & refWindow)
		size := uint64(c >> 3)
		if size == refMask {
			more, n := binary.Uvarint(data[pos:limit])
			if n <= 0 || more > svbLong/8 {
				return false
			}
			size += more
			pos += uint64(n)
		}
		if size > limit-pos || l.back == 0 && size > 0 {
			return false
		}
		l.mask = data[pos : pos+size]
		pos += size
	}
	// 3. Without a source, nothing is copied, so the head is complete.
	l.next = pos
	return l.back > 0 || l.place(0, 0)
}

func (l *refList) size() uint64 { return uint64(l.locals) + uint64(l.ghosts) }

// place completes the svbList if that many targets are copied.
func (l *refList) place(locals, ghosts int) bool {
	if uint64(locals) > uint64(l.locals) || uint64(ghosts) > uint64(l.ghosts) {
		return false
	}
	l.svbList.locals = l.locals - uint32(locals)
	l.svbList.ghosts = l.ghosts - uint32(ghosts)
	l.control = l.next
	l.data = l.control + (l.size()-uint64(locals)-uint64(ghosts)+3)>>2
	return l.data <= l.limit && l.length <= l.limit-l.data
}

// refScratch is the memory for one list that copies.
type refScratch struct {
	rest   [svbLong]uint32
	copied [svbLong + 8]uint32
	chain  [2][svbLong]uint32
}

var refScratches = sync.Pool{New: func() any { return new(refScratch) }}

// merge decodes a list that copies from source, with sourceLocals locals, into out, which must
// have room for the list. It returns the end of the list.
func (l *refList) merge(t *Table, s *refScratch, out []uint32, key uint32, source []uint32, sourceLocals int) (end uint64, ok bool) {
	copied, locals, ok := l.copied(s.copied[:0], source, sourceLocals)
	if !ok || !l.place(locals, len(copied)-locals) {
		return 0, false
	}
	n := int(l.svbList.locals + l.svbList.ghosts)
	rest := s.rest[:(n+slack)&^slack]
	if end, ok = l.body(t, rest, key); !ok {
		return 0, false
	}
	restLocals := int(l.svbList.locals)
	ok = mergeInto(out[:l.locals], copied[:locals], rest[:restLocals]) &&
		mergeInto(out[l.locals:l.size()], copied[locals:], rest[restLocals:n])
	return end, ok
}

// copied appends the targets of source selected by the mask, and counts the locals among them.
func (l *refList) copied(dst, source []uint32, sourceLocals int) (copied []uint32, locals int, ok bool) {
	if 8*(len(l.mask)-1) >= len(source) && len(l.mask) > 0 {
		return nil, 0, false
	}
	// A missing mask byte is all ones, because trailing bytes of ones are left out.
	for at := 0; at < len(source); at += 8 {
		m := byte(0xff)
		if at/8 < len(l.mask) {
			m = l.mask[at/8]
		}
		if room := len(source) - at; room < 8 {
			m &= 1<<room - 1
		}
		if at < sourceLocals {
			locals += bits.OnesCount8(m & byte(1<<min(8, sourceLocals-at)-1))
		}
		if at+8 > len(source) {
			for ; m != 0; m &= m - 1 {
				dst = append(dst, source[at+bits.TrailingZeros8(m)])
			}
			break
		}
		// All eight are written and only some kept, because that needs no branch.
		n := len(dst)
		from, to := (*[8]uint32)(source[at:]), (*[8]uint32)(dst[n:n+8])
		k := uint(0)
		for i, v := range from {
			to[k&7] = v
			k += uint(m>>i) & 1
		}
		dst = dst[:n+int(k)]
	}
	return dst, locals, true
}

// mergeInto fills out with two ascending lists. It returns false if they have a common target.
func mergeInto(out, a, b []uint32) bool {
	if len(out) != len(a)+len(b) {
		return false
	}
	i, j, common := 0, 0, false
	for i < len(a) && j < len(b) {
		x, y := a[i], b[j]
		out[i+j] = min(x, y)
		common = common || x == y
		step := 0
		if x < y {
			step = 1
		}
		i += step
		j += 1 - step
	}
	copy(out[i+j:], a[i:])
	copy(out[i+j:], b[j:])
	return !common
}

type reference struct{}

func (reference) limit(data []byte) (uint64, bool) { return streamVByte{}.limit(data) }

func (reference) degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool) {
	var l refList
	ok = l.parse(t.data, pos, t.limit)
	return l.locals, l.ghosts, ok
}

// skip always fails. It is not needed, because the stride must be 1.
func (reference) skip(*Table, uint64) (uint64, bool) { return 0, false }

func (reference) decode(t *Table, key uint32, pos uint64, locals, ghosts []uint32) (l, g []uint32, ok bool) {
	var h refList
	if !h.parse(t.data, pos, t.limit) {
		return nil, nil, false
	}
	n := int(h.size())
	at := len(locals)
	if cap(locals)-at < n+slack {
		locals = slices.Grow(locals, n+slack)
	}
	out := locals[at : at+(n+slack)&^slack]
	if h.back == 0 {
		_, ok = h.body(t, out, key)
	} else {
		s := refScratches.Get().(*refScratch)
		ok = h.chain(t, s, out, key)
		refScratches.Put(s)
	}
	if !ok {
		return nil, nil, false
	}
	ghosts = append(ghosts, out[h.locals:n]...)
	return locals[:at+int(h.locals)], ghosts, true
}

// chain decodes a list that copies, after the lists that it copies from.
func (l *refList) chain(t *Table, s *refScratch, out []uint32, key uint32) bool {
	// 1. Follow the sources to a list that copies from none. A longer chain is damage.
	var heads [refChain]refList
	keys := [refChain + 1]uint32{key}
	depth, h := 0, l
	for ; h.back > 0; depth++ {
		if depth == refChain || h.back > keys[depth] {
			return false
		}
		k := keys[depth] - h.back
		pos, ok := t.position(k)
		h = &heads[depth]
		keys[depth+1] = k
		if !ok || !h.parse(t.data, pos, t.limit) || h.size() >= svbLong {
			return false
		}
	}
	// 2. Decode that list.
	source := s.chain[depth&1][:(h.size()+slack)&^slack]
	if _, ok := h.body(t, source, keys[depth]); !ok {
		return false
	}
	// 3. Decode back towards this list. Two buffers are enough, because each list needs only the
	// one before.
	for depth--; depth > 0; depth-- {
		copies := &heads[depth-1]
		to := s.chain[depth&1][:copies.size()]
		if _, ok := copies.merge(t, s, to, keys[depth], source[:h.size()], int(h.locals)); !ok {
			return false
		}
		h, source = copies, to
	}
	_, ok := l.merge(t, s, out, key, source[:h.size()], int(h.locals))
	return ok
}

// history is a scanner's memory of the last lists.
type history struct {
	refScratch
	past  [refWindow + 1]pastList // by key modulo the length
	at    int                     // start of the next list
	arena [4 * refWindow * svbLong]uint32
}

// pastList is a list in the arena.
type pastList struct {
	key            uint32
	known          bool
	start          int
	locals, ghosts int
}

// reset drops all lists.
func (h *history) reset() {
	h.past, h.at = [refWindow + 1]pastList{}, 0
}

// room returns room for a list of less than svbLong targets, and slack. At the end of the arena
// it moves the lists of the window to the front.
func (h *history) room(key uint32) []uint32 {
	if h.at+svbLong <= len(h.arena) {
		return h.arena[h.at:]
	}
	h.at = 0
	// They must move from the oldest to the newest, because they lie in this order: none is
	// overwritten.
	for back := uint32(refWindow); back >= 1; back-- {
		p := &h.past[(key-back)%(refWindow+1)]
		if p.known && p.key == key-back {
			n := p.locals + p.ghosts
			copy(h.arena[h.at:], h.arena[p.start:p.start+n])
			p.start = h.at
			h.at += n
		}
	}
	return h.arena[h.at:]
}

func (reference) scan(s *Scanner, key uint32) bool {
	if s.rest.locals|s.rest.ghosts != 0 {
		return s.piece()
	}
	t := s.t
	var l refList
	if s.pos >= t.limit || !l.parse(t.data, s.pos, t.limit) {
		return false
	}
	h := s.history
	n := int(l.size())
	// 1. Return a long list in pieces. It is no source, so its slot stays unknown.
	slot := &h.past[key%(refWindow+1)]
	slot.known = false
	if n >= svbLong {
		s.rest = rest{locals: l.locals, ghosts: l.ghosts, control: l.control, data: 2 * l.data, last: l.start(t, key), layout: l.layout(t)}
		s.pos = l.data + l.length
		return s.piece()
	}
	// 2. Decode into the arena, because later lists may copy from there.
	out := h.room(key)[:(n+slack)&^slack]
	var ok bool
	if l.back == 0 {
		s.pos, ok = l.body(t, out, key)
	} else if l.back <= key {
		p := &h.past[(key-l.back)%(refWindow+1)]
		if p.known && p.key == key-l.back {
			s.pos, ok = l.merge(t, &h.refScratch, out, key, h.arena[p.start:p.start+p.locals+p.ghosts], p.locals)
		} else {
			s.pos, ok = l.mergeUnknown(t, &h.refScratch, out, key)
		}
	}
	if !ok {
		return false
	}
	// 3. Keep the list.
	*slot = pastList{key: key, known: true, start: h.at, locals: int(l.locals), ghosts: int(l.ghosts)}
	h.at += n
	s.locals, s.ghosts = out[:l.locals], out[l.locals:n]
	return true
}

// mergeUnknown decodes a list if its source lies before the start of the scan.
func (l *refList) mergeUnknown(t *Table, s *refScratch, out []uint32, key uint32) (end uint64, ok bool) {
	pos, ok := t.position(key - l.back)
	var h refList
	if !ok || !h.parse(t.data, pos, t.limit) || h.size() >= svbLong {
		return 0, false
	}
	source := make([]uint32, (h.size()+slack)&^slack)
	if h.back == 0 {
		_, ok = h.body(t, source, key-l.back)
	} else {
		ok = h.chain(t, s, source, key-l.back)
	}
	if !ok {
		return 0, false
	}
	return l.merge(t, s, out, key, source[:h.size()], int(h.locals))
}
