package rdfload

import (
	"hash/maphash"
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
}

const firstSlots = 1 << 12

func newDictionary(seed maphash.Seed, budget int64) (*dictionary, error) {
	d := &dictionary{seed: seed, longs: make(map[uint32][]byte)}
	var err error
	if d.terms, err = newArena[byte](int(budget)); err != nil {
		return nil, err
	}
	if d.ends, err = newArena[uint64](int(budget / 16)); err != nil {
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
	d.terms.data = d.terms.data[:0]
	d.ends.data = d.ends.data[:0]
	clear(d.longs)
	d.longBytes = 0
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

// bytes returns the memory in use.
func (d *dictionary) bytes() int64 {
	return int64(len(d.slots.data))*8 + int64(len(d.terms.data)) + int64(len(d.ends.data))*8 +
		int64(d.longBytes) + int64(len(d.longs))*96
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
// is long, else nil.
func (d *dictionary) add(hash uint64, term, whole []byte) (uint32, error) {
	if 4*(d.len()+1) > 3*len(d.slots.data) {
		if err := d.grow(); err != nil {
			return 0, err
		}
	}
	if len(d.terms.data)+len(term) > cap(d.terms.data) || d.len() == cap(d.ends.data) {
		return 0, errBudget
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
