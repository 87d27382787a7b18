package rdfload

import (
	"errors"
	"hash/maphash"
	"math"
	"sync/atomic"
)

// dictionary numbers the distinct terms that one worker meets in a run. Terms
// are held as they stand in keys, one after the other; an open hash table finds
// them. The hash is seeded: documents come from strangers.
type dictionary struct {
	seed  maphash.Seed
	slots *arena[uint64] // hash's upper 32 bits << 32 | id + 1; 0 is free
	mask  uint64
	terms *arena[byte]
	ends  *arena[uint64] // ends[id] is where the term ends; it starts at the one before
	// longs holds the whole form of each term that stands shortened in keys.
	longs     map[uint32][]byte
	longBytes int

	published atomic.Int64 // what takes said when publish was called, for other goroutines
}

const firstSlots = 1 << 12

// maxTerms is how many terms all dictionaries of a run may have together, so that
// ids and ranks, plus one, fit in 32 bits. A run is sealed long before, see
// [loader.full].
const maxTerms = 1<<32 - 2

// newDictionary reserves room for budget bytes of terms, and for as many terms as
// the budget can hold, but at most limit.
func newDictionary(seed maphash.Seed, budget int64, limit int) (*dictionary, error) {
	d := &dictionary{seed: seed, longs: make(map[uint32][]byte)}
	var err error
	if d.terms, err = newArena[byte](int(budget)); err != nil {
		return nil, err
	}
	if d.ends, err = newArena[uint64](min(int(budget/16), limit)); err != nil {
		d.release()
		return nil, err
	}
	if err = d.resize(firstSlots); err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

func (d *dictionary) release() {
	d.slots.release()
	d.terms.release()
	d.ends.release()
}

// reset forgets all terms.
func (d *dictionary) reset() {
	clear(d.slots.data)
	d.terms.touch(len(d.terms.data))
	d.ends.touch(len(d.ends.data))
	d.terms.data = d.terms.data[:0]
	d.ends.data = d.ends.data[:0]
	clear(d.longs)
	d.longBytes = 0
	d.publish()
}

// renew is reset that gives the memory back.
func (d *dictionary) renew() error {
	d.reset()
	d.slots.release()
	d.longs = make(map[uint32][]byte)
	err := errors.Join(d.resize(firstSlots), d.terms.renew(), d.ends.renew())
	d.publish()
	return err
}

// resident returns the memory that the arenas take though the dictionary may
// have less in use.
func (d *dictionary) resident() int64 {
	return int64(len(d.slots.data))*8 + d.terms.resident() + d.ends.resident()
}

// len returns how many terms there are; ids are 0 to len-1.
func (d *dictionary) len() int { return len(d.ends.data) }

// term returns a term's bytes; they are valid until reset.
func (d *dictionary) term(id uint32) []byte {
	start := uint64(0)
	if id > 0 {
		start = d.ends.data[id-1]
	}
	return d.terms.data[start:d.ends.data[id]]
}

// takes returns the memory in use, with what sealing the run will take for these
// terms: a copy of each with its end, a rank, a place in sorting, and a count in
// sorting by graph.
func (d *dictionary) takes() int64 {
	const each = 8 + 8 + 4 + 16 + 4
	return int64(len(d.slots.data))*8 + 2*int64(len(d.terms.data)) + int64(d.len())*each +
		int64(d.longBytes) + int64(len(d.longs))*96
}

// publish makes what the dictionary takes known to other goroutines.
func (d *dictionary) publish() {
	takes := d.takes()
	if d.len() > cap(d.ends.data)/4*3 { // of ids: the run must end
		takes = math.MaxInt64 / 256
	}
	d.published.Store(takes)
}

func (d *dictionary) hash(tag byte, body []byte) uint64 {
	return (maphash.Bytes(d.seed, body) + uint64(tag)) * 0x9E3779B97F4A7C15
}

// find returns the id of the term with this tag and body.
func (d *dictionary) find(hash uint64, tag byte, body []byte) (id uint32, ok bool) {
	want := hash >> 32
	for i := hash & d.mask; ; i = (i + 1) & d.mask {
		slot := d.slots.data[i]
		if slot == 0 {
			return 0, false
		}
		if slot>>32 == want {
			id := uint32(slot) - 1
			if t := d.term(id); t[0] == tag && string(t[1:]) == string(body) {
				return id, true
			}
		}
	}
}

// add numbers a term that find did not find. whole is its whole form where it
// is long, else nil; the dictionary keeps it, and copies term.
func (d *dictionary) add(hash uint64, term, whole []byte) (uint32, error) {
	if len(d.terms.data)+len(term) > cap(d.terms.data) || d.len() == cap(d.ends.data) {
		return 0, errBudget
	}
	if 4*(d.len()+1) > 3*len(d.slots.data) {
		if err := d.grow(); err != nil {
			return 0, err
		}
	}
	id := uint32(d.len())
	d.terms.data = append(d.terms.data, term...)
	d.ends.data = append(d.ends.data, uint64(len(d.terms.data)))
	d.place(hash, id)
	if whole != nil {
		d.longs[id] = whole
		d.longBytes += len(whole)
	}
	return id, nil
}

func (d *dictionary) place(hash uint64, id uint32) {
	i := hash & d.mask
	for d.slots.data[i] != 0 {
		i = (i + 1) & d.mask
	}
	d.slots.data[i] = hash>>32<<32 | uint64(id+1)
}

// grow doubles the hash table.
func (d *dictionary) grow() error {
	old := d.slots
	if err := d.resize(2 * len(old.data)); err != nil {
		return err
	}
	old.release()
	for id := range uint32(d.len()) {
		t := d.term(id)
		d.place(d.hash(t[0], t[1:]), id)
	}
	return nil
}

func (d *dictionary) resize(slots int) error {
	a, err := newArena[uint64](slots)
	if err != nil {
		return err
	}
	a.data = a.data[:slots]
	d.slots, d.mask = a, uint64(slots-1)
	return nil
}
