// The dictionary of a worker: terms and their numbers.

package rdfload

import (
	"errors"
	"hash/maphash"
	"math"
	"sync/atomic"

	"github.com/trefoildb/trefoil/rdfload/internal/arena"
)

// dictionary numbers the distinct terms of one worker in a run. It holds the terms in their key
// form, one after the other, and an open hash table finds them. The hash must be seeded, because
// documents come from strangers.
type dictionary struct {
	seed  maphash.Seed
	slots *arena.Array[uint64] // hash's upper 32 bits << 32 | id + 1; 0 is free
	mask  uint64
	terms *arena.Array[byte]
	ends  *arena.Array[uint64] // ends[id] is the end of the term; it starts at the end before
	// longs holds the whole form of each term if keys hold it shortened.
	longs     map[uint32][]byte
	longBytes int

	published atomic.Int64 // result of takes at the last publish, for other goroutines
}

const firstSlots = 1 << 12

// maxTerms bounds the terms of all dictionaries of a run, because ids and ranks, plus one, must fit
// in 32 bits. A run is sealed long before, see [loader.full].
const maxTerms = 1<<32 - 2

// newDictionary reserves room for budget bytes of terms. It reserves room for budget/16 terms, but
// at most limit.
func newDictionary(seed maphash.Seed, budget int64, limit int) (*dictionary, error) {
	d := &dictionary{seed: seed, longs: make(map[uint32][]byte)}
	var err error
	if d.terms, err = arena.New[byte](int(budget)); err != nil {
		return nil, err
	}
	if d.ends, err = arena.New[uint64](min(int(budget/16), limit)); err != nil {
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
	d.slots.Release()
	d.terms.Release()
	d.ends.Release()
}

// reset removes all terms but keeps the memory.
func (d *dictionary) reset() {
	clear(d.slots.Data)
	d.terms.Touch(len(d.terms.Data))
	d.ends.Touch(len(d.ends.Data))
	d.terms.Data = d.terms.Data[:0]
	d.ends.Data = d.ends.Data[:0]
	clear(d.longs)
	d.longBytes = 0
	d.publish()
}

// renew is reset, but also releases the memory.
func (d *dictionary) renew() error {
	d.reset()
	d.slots.Release()
	d.longs = make(map[uint32][]byte)
	err := errors.Join(d.resize(firstSlots), d.terms.Renew(), d.ends.Renew())
	d.publish()
	return err
}

// resident returns the real memory of the arenas in bytes. It may exceed the memory in use, because
// a reset keeps the pages.
func (d *dictionary) resident() int64 {
	return int64(len(d.slots.Data))*8 + d.terms.Resident() + d.ends.Resident()
}

// len returns the number of terms; ids are 0 to len-1.
func (d *dictionary) len() int { return len(d.ends.Data) }

// term returns the bytes of a term. They are valid until reset and must not be changed.
func (d *dictionary) term(id uint32) []byte {
	start := uint64(0)
	if id > 0 {
		start = d.ends.Data[id-1]
	}
	return d.terms.Data[start:d.ends.Data[id]]
}

// takes returns the memory in use, plus the memory that sealing the run needs for these terms.
// Sealing needs a copy of each term with its end, a rank, a place in sorting, and a count in
// sorting by graph.
func (d *dictionary) takes() int64 {
	const each = 8 + 8 + 4 + 16 + 4
	return int64(len(d.slots.Data))*8 + 2*int64(len(d.terms.Data)) + int64(d.len())*each +
		int64(d.longBytes) + int64(len(d.longs))*96
}

// publish publishes the result of takes to other goroutines. If the ids are three quarters used, it
// publishes a huge number because the run must end.
func (d *dictionary) publish() {
	takes := d.takes()
	if d.len() > cap(d.ends.Data)/4*3 { // of ids: the run must end
		takes = math.MaxInt64 / 256
	}
	d.published.Store(takes)
}

func (d *dictionary) hash(tag byte, body []byte) uint64 {
	return (maphash.Bytes(d.seed, body) + uint64(tag)) * 0x9E3779B97F4A7C15
}

// find returns the id of the term with this tag and body; ok is false if the dictionary lacks it.
func (d *dictionary) find(hash uint64, tag byte, body []byte) (id uint32, ok bool) {
	want := hash >> 32
	for i := hash & d.mask; ; i = (i + 1) & d.mask {
		slot := d.slots.Data[i]
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

// add numbers a new term: find must have returned false for it. whole is its whole form if keys
// hold it shortened, else nil. The dictionary keeps whole, but copies term. The error is errBudget
// if an arena is full.
func (d *dictionary) add(hash uint64, term, whole []byte) (uint32, error) {
	if len(d.terms.Data)+len(term) > cap(d.terms.Data) || d.len() == cap(d.ends.Data) {
		return 0, errBudget
	}
	if 4*(d.len()+1) > 3*len(d.slots.Data) {
		if err := d.grow(); err != nil {
			return 0, err
		}
	}
	id := uint32(d.len())
	d.terms.Data = append(d.terms.Data, term...)
	d.ends.Data = append(d.ends.Data, uint64(len(d.terms.Data)))
	d.place(hash, id)
	if whole != nil {
		d.longs[id] = whole
		d.longBytes += len(whole)
	}
	return id, nil
}

func (d *dictionary) place(hash uint64, id uint32) {
	i := hash & d.mask
	for d.slots.Data[i] != 0 {
		i = (i + 1) & d.mask
	}
	d.slots.Data[i] = hash>>32<<32 | uint64(id+1)
}

// grow doubles the hash table.
func (d *dictionary) grow() error {
	old := d.slots
	if err := d.resize(2 * len(old.Data)); err != nil {
		return err
	}
	old.Release()
	for id := range uint32(d.len()) {
		t := d.term(id)
		d.place(d.hash(t[0], t[1:]), id)
	}
	return nil
}

func (d *dictionary) resize(slots int) error {
	a, err := arena.New[uint64](slots)
	if err != nil {
		return err
	}
	a.Data = a.Data[:slots]
	d.slots, d.mask = a, uint64(slots-1)
	return nil
}
