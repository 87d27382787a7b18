// Batch: many lists, read at once.

package lists

import (
	"encoding/binary"

	"github.com/trefoildb/trefoil/links/ef"
)

const (
	// BatchLen is the most lists that a [Batch] reads at once.
	BatchLen = 64
	// ShortList is the most targets, of both kinds together, of a list that a Batch reads.
	ShortList = 128

	// atOnce is how many ghosts are copied at a time, even if fewer are needed: the processor
	// mispredicts the end of a short loop.
	atOnce = 8
	room   = BatchLen*ShortList + atOnce
)

// Batch is the memory to read many short lists at once, of one table or of several. Each step of
// a read depends on the step before. A batch does one step for all lists before the next one. So
// the processor waits for uncached memory of all lists together, and not list by list. Steps
// that only read are loops of their own, because with fewer instructions between two reads more
// reads overlap.
//
// A Batch is large and should be reused. The zero value is ready.
type Batch struct {
	lists   [BatchLen]batchList
	numbers [room]uint32 // the locals of all lists
	ghosts  [room]uint32 // of all lists
	owners  [room]uint8  // list of each ghost
	used    int          // number of ghosts
	scratch refScratch
	touched uint64 // result of prefetching reads; unused
}

// batchList is a list of a batch.
//
// Invariant: after decoding, if ok is set, its targets are numbers[from:] and
// ghosts[ghostsFrom:].
type batchList struct {
	place            ef.Place // of its position
	pos              uint64
	from, ghostsFrom uint32
	locals, ghosts   uint8
	ok               bool
}

// Decode reads the lists of keys[i] of tables[i], at most BatchLen of them. A table may be nil.
// It keeps nothing of the slices. List returns the lists.
func (b *Batch) Decode(tables []*Table, keys []uint32) {
	keys = keys[:len(tables)]
	for i, t := range tables {
		l := &b.lists[i]
		if l.ok = t != nil && keys[i] < t.n; l.ok {
			l.place = t.positions.Find(keys[i])
		}
	}
	touched := uint64(0)
	for i, t := range tables {
		if l := &b.lists[i]; l.ok {
			touched |= t.positions.Touch(l.place, keys[i])
		}
	}
	b.touched = touched | b.touchLists(tables, keys)
	from := 0
	b.used = 0
	for i, t := range tables {
		if b.lists[i].ok {
			from = b.decode(i, t, keys[i], from)
		}
	}
}

// touchLists finds the positions of the lists and prefetches the lists.
func (b *Batch) touchLists(tables []*Table, keys []uint32) (touched uint64) {
	var heads, tails [BatchLen]*byte
	n := 0
	for i, t := range tables {
		l := &b.lists[i]
		if !l.ok {
			continue
		}
		if l.pos = t.positions.Value(l.place, keys[i]); l.pos >= t.limit {
			l.ok = false
			continue
		}
		at := l.pos
		if t.codec == Reference {
			at >>= 3 // its positions count bits
		}
		heads[n&(BatchLen-1)], tails[n&(BatchLen-1)] = &t.data[at], &t.data[at+svbSlack-1]
		n++
	}
	for i, head := range heads[:n] {
		touched |= uint64(*head) | uint64(*tails[i])
	}
	return touched
}

// decode decodes list i, its locals to b.numbers from index from on. It returns the end of the
// locals.
func (b *Batch) decode(i int, t *Table, key uint32, from int) (end int) {
	l := &b.lists[i]
	if t.codec == Reference {
		return b.decodeCopying(l, i, t, key, from)
	}
	var h svbList
	if l.ok = h.parse(t.data, l.pos, t.limit); !l.ok {
		return from
	}
	// 1. Leave long lists to Table.Decode.
	n := uint64(h.locals) + uint64(h.ghosts)
	if l.ok = n <= ShortList; !l.ok {
		return from
	}
	// 2. Decode the sums. Ghosts are base too large, because the sums go on from the locals.
	base := uint32(0)
	if n > 0 {
		out := b.numbers[from : from+int(n+slack)&^slack]
		var sum uint64
		if sum, _, l.ok = h.unpack(t, out, key); l.ok {
			base, _, l.ok = check(t, out, int(h.locals), int(h.ghosts), sum)
		}
		if !l.ok {
			return from
		}
	}
	// 3. Move the ghosts. The next list may overwrite them in numbers.
	end = from + int(h.locals)
	l.from, l.ghostsFrom = uint32(from), uint32(b.used)
	l.locals, l.ghosts = uint8(h.locals), uint8(h.ghosts)
	b.addGhosts(i, end, int(h.ghosts), base)
	return end
}

// decodeCopying is decode for Reference.
func (b *Batch) decodeCopying(l *batchList, i int, t *Table, key uint32, from int) (end int) {
	s := &b.scratch
	h := &s.whole
	if l.ok = h.parse(t, l.pos) && h.size() <= ShortList; !l.ok {
		return from
	}
	locals, size := h.next()
	if size > 0 {
		s.next.begin(t, h, key)
		if l.ok = s.decode(&s.next, b.numbers[from:from+size], locals); !l.ok {
			return from
		}
	}
	end = from + locals
	l.from, l.ghostsFrom = uint32(from), uint32(b.used)
	l.locals, l.ghosts = uint8(locals), uint8(size-locals)
	b.addGhosts(i, end, size-locals, 0)
	return end
}

// addGhosts adds n ghosts of list i. They are in b.numbers from index from on, each base too
// large.
func (b *Batch) addGhosts(i, from, n int, base uint32) {
	for k := 0; ; k += atOnce {
		in, out := (*[atOnce]uint32)(b.numbers[from+k:]), (*[atOnce]uint32)(b.ghosts[b.used+k:])
		for j, ghost := range in {
			out[j] = ghost - base
		}
		binary.LittleEndian.PutUint64(b.owners[b.used+k:], uint64(i)*0x0101010101010101)
		if k+atOnce >= n {
			break
		}
	}
	b.used += n
}

// List returns the targets of list i in memory of the batch. ok is false if a batch cannot read
// it: it is longer than ShortList, or is damaged. Use [Table.Decode] then.
func (b *Batch) List(i int) (locals, ghosts []uint32, ok bool) {
	l := &b.lists[i]
	if !l.ok {
		return nil, nil, false
	}
	from, ghostsFrom := int(l.from), int(l.ghostsFrom)
	return b.numbers[from : from+int(l.locals)], b.ghosts[ghostsFrom : ghostsFrom+int(l.ghosts)], true
}

// Ghosts returns the ghosts of all lists of the batch and the list of each, in memory of the
// batch.
func (b *Batch) Ghosts() (ghosts []uint32, owners []uint8) {
	return b.ghosts[:b.used], b.owners[:b.used]
}

// GhostsOf returns the bounds of list i's ghosts in the result of Ghosts.
func (b *Batch) GhostsOf(i int) (from, end int) {
	l := &b.lists[i]
	return int(l.ghostsFrom), int(l.ghostsFrom) + int(l.ghosts)
}
