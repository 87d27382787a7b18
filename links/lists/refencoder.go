// Encoder of the codec Reference.

package lists

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// refEncoder writes the lists of Reference. It keeps the last lists, because a list may copy
// from them.
type refEncoder struct {
	numberEncoder
	past   [refWindow + 1]pastTargets // by key modulo their number
	rest   [2][]uint32                // locals and ghosts that must not be copied
	mask   []byte
	copies []byte // the list in the form that copies
	chain  int    // maximum number of other lists per read, at most refChain; 0 is refChain
}

// pastTargets is one of the last lists.
type pastTargets struct {
	targets []uint32 // locals, then ghosts
	locals  int
	depth   int // number of other lists that a read of it needs
	usable  bool
	marks   uint64 // 64 bits, one set for each target: similar lists share many
}

// marks returns the marks of a list.
func marks(locals, ghosts []uint32) (m uint64) {
	for _, v := range locals {
		m |= 1 << (v * 0x9e3779b1 >> 26)
	}
	for _, v := range ghosts {
		m |= 1 << (v * 0x85ebca6b >> 26)
	}
	return m
}

// begin forgets the lists in the end, because they come again.
func (e *refEncoder) begin(first eachList) lengths {
	first(e.sample)
	e.past = [refWindow + 1]pastTargets{}
	return e.choose()
}

// sample counts the numbers of a list.
func (e *refEncoder) sample(key uint32, locals, ghosts []uint32) {
	rest := [2][]uint32{locals, ghosts}
	if back := e.best(key, locals, ghosts); back > 0 && len(locals)+len(ghosts) >= refLeast {
		e.split(&e.past[(key-back)%(refWindow+1)], locals, ghosts)
		rest = e.rest
	}
	e.numbers = appendNumbers(e.numbers[:0], key, rest[0], rest[1])
	e.seen.add(e.numbers)
	e.remember(key, locals, ghosts)
}

// remember keeps a list for copying, if it is not too long.
func (e *refEncoder) remember(key uint32, locals, ghosts []uint32) *pastTargets {
	slot := &e.past[key%(refWindow+1)]
	slot.usable = false
	if n := len(locals) + len(ghosts); n > 0 && n < svbLong {
		slot.targets = append(append(slot.targets[:0], locals...), ghosts...)
		slot.locals, slot.depth, slot.usable = len(locals), 0, true
		slot.marks = marks(locals, ghosts)
	}
	return slot
}

func (e *refEncoder) append(key uint32, locals, ghosts []uint32) {
	e.numbers = appendNumbers(e.numbers[:0], key, locals, ghosts)
	// 1. Write the list without copies.
	y := e.layoutFor(e.numbers)
	start := len(e.buf)
	e.buf = y.appendCounts(e.buf, e.numbers, len(locals), len(ghosts))
	slot := e.remember(key, locals, ghosts)
	if !slot.usable || len(e.numbers) < refLeast {
		e.buf = y.pack(e.buf, e.numbers)
		return
	}
	// 2. If the list may copy, its head must have a byte for the source.
	e.buf = y.pack(append(e.buf, 0), e.numbers)
	back := e.best(key, locals, ghosts)
	if back == 0 {
		return
	}
	// 3. Write the list with copies, and keep the shorter form.
	source := &e.past[(key-back)%(refWindow+1)]
	e.split(source, locals, ghosts)
	e.numbers = appendNumbers(e.numbers[:0], key, e.rest[0], e.rest[1])
	y = e.layoutFor(e.numbers)
	c := y.appendCounts(e.copies[:0], nil, len(locals), len(ghosts))
	c = append(c, byte(back)|byte(min(len(e.mask), refMask))<<3)
	if len(e.mask) >= refMask {
		c = binary.AppendUvarint(c, uint64(len(e.mask)-refMask))
	}
	e.copies = y.pack(append(c, e.mask...), e.numbers)
	if len(e.copies) < len(e.buf)-start {
		e.buf = append(e.buf[:start], e.copies...)
		slot.depth = source.depth + 1
	}
}

// best returns the distance in keys to the list with the most common targets, or 0 if no list
// has enough. Only usable lists count, because chains are bounded. It compares the two lists
// with the most similar marks.
func (e *refEncoder) best(key uint32, locals, ghosts []uint32) (back uint32) {
	m := marks(locals, ghosts)
	var first, second struct {
		back  uint32
		score int
	}
	// 1. Rank by marks, because a full comparison of seven lists takes too long.
	chain := cmp.Or(e.chain, refChain)
	for b := uint32(1); b <= min(refWindow, key); b++ {
		p := &e.past[(key-b)%(refWindow+1)]
		if !p.usable || p.depth >= chain {
			continue
		}
		score := bits.OnesCount64(p.marks&m)*8 - len(p.targets)
		switch {
		case first.back == 0 || score > first.score:
			second, first.back, first.score = first, b, score
		case second.back == 0 || score > second.score:
			second.back, second.score = b, score
		}
	}
	// 2. Compare the two best ones target by target.
	most := 2
	for _, b := range []uint32{first.back, second.back} {
		if b == 0 {
			continue
		}
		p := &e.past[(key-b)%(refWindow+1)]
		n := common(p.targets[:p.locals], locals) + common(p.targets[p.locals:], ghosts)
		// A mask costs one bit for each target of the source.
		if n -= len(p.targets) / 8; n > most {
			most, back = n, b
		}
	}
	return back
}

// common returns the number of common targets of two ascending lists.
func common(a, b []uint32) (n int) {
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		if x == y {
			n++
		}
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return n
}

// split sets e.mask to the mask of the targets copied from source, without trailing bytes of
// ones. It sets e.rest to the other targets.
func (e *refEncoder) split(source *pastTargets, locals, ghosts []uint32) {
	n := len(source.targets)
	e.mask = slices.Grow(e.mask[:0], (n+7)/8)[:(n+7)/8]
	clear(e.mask)
	e.rest[0] = e.splitPart(e.rest[0][:0], source.targets[:source.locals], 0, locals)
	e.rest[1] = e.splitPart(e.rest[1][:0], source.targets[source.locals:], source.locals, ghosts)
	for i := n; i%8 != 0; i++ { // bits behind the last target do not count
		e.mask[i/8] |= 1 << (i % 8)
	}
	for len(e.mask) > 0 && e.mask[len(e.mask)-1] == 0xff {
		e.mask = e.mask[:len(e.mask)-1]
	}
}

func (e *refEncoder) splitPart(rest, source []uint32, bit int, list []uint32) []uint32 {
	i := 0
	for _, v := range list {
		for i < len(source) && source[i] < v {
			i++
		}
		if i < len(source) && source[i] == v {
			e.mask[(bit+i)/8] |= 1 << ((bit + i) % 8)
		} else {
			rest = append(rest, v)
		}
	}
	return rest
}
