// This file makes the lists of the codec Reference.

package lists

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// refEncoder makes the lists of Reference. It keeps the last lists.
type refEncoder struct {
	numberEncoder
	past   [refWindow + 1]pastTargets // by key modulo their number
	rest   [2][]uint32                // locals and ghosts that are not copied
	mask   []byte
	copies []byte // the list as one that copies
	chain  int    // lists that one reads behind a list, at most refChain; 0 is that
}

// pastTargets is one of the last lists.
type pastTargets struct {
	targets []uint32 // locals, then ghosts
	locals  int
	depth   int // how many lists one reads behind it
	usable  bool
	marks   uint64 // a bit of 64 for each target: lists with few in common are not alike
}

// marks are those of a list.
func marks(locals, ghosts []uint32) (m uint64) {
	for _, v := range locals {
		m |= 1 << (v * 0x9e3779b1 >> 26)
	}
	for _, v := range ghosts {
		m |= 1 << (v * 0x85ebca6b >> 26)
	}
	return m
}

// begin forgets the lists of the sample: they come again.
func (e *refEncoder) begin() lengths {
	if e.layout == nil {
		e.past = [refWindow + 1]pastTargets{}
	}
	return e.numberEncoder.begin()
}

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

// remember makes a list one that may be copied, if it is not too long.
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
	y := e.choose(e.numbers)
	start := len(e.buf)
	e.buf = y.appendCounts(e.buf, e.numbers, len(locals), len(ghosts))
	slot := e.remember(key, locals, ghosts)
	if !slot.usable || len(e.numbers) < refLeast {
		e.buf = y.pack(e.buf, e.numbers)
		return
	}
	e.buf = y.pack(append(e.buf, 0), e.numbers)
	back := e.best(key, locals, ghosts)
	if back == 0 {
		return
	}
	source := &e.past[(key-back)%(refWindow+1)]
	e.split(source, locals, ghosts)
	e.numbers = appendNumbers(e.numbers[:0], key, e.rest[0], e.rest[1])
	y = e.choose(e.numbers)
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

// best returns how many keys before is the list that has most targets in common
// with this one, of those that may be copied; 0 where none has enough. It looks
// at the two whose marks are the most alike.
func (e *refEncoder) best(key uint32, locals, ghosts []uint32) (back uint32) {
	m := marks(locals, ghosts)
	var first, second struct {
		back  uint32
		score int
	}
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
	most := 2
	for _, b := range []uint32{first.back, second.back} {
		if b == 0 {
			continue
		}
		p := &e.past[(key-b)%(refWindow+1)]
		n := common(p.targets[:p.locals], locals) + common(p.targets[p.locals:], ghosts)
		// A mask costs a bit a target of the source.
		if n -= len(p.targets) / 8; n > most {
			most, back = n, b
		}
	}
	return back
}

// common counts the targets that two ascending lists have in common.
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

// split sets e.mask to what is copied of source, without the last bytes that are
// all ones, and e.rest to the targets that are not.
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
