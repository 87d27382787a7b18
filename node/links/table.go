package links

import (
	"encoding/binary"
	"hash/maphash"
)

// table maps URLs to ordinals: a hash table with linear probing, at most two thirds
// full, of 16 bytes a place. URLs are known by 96 bits of two hashes with seeds of
// their own, so that two of ten million are taken for one with a probability of
// 10^-15; nobody can look for such a pair, as seeds are the process's.
type table struct {
	first, second maphash.Seed
	mask          uint64
	places        []place
	used          int
}

// place is one entry; ordinal+1, so that zero is empty.
type place struct {
	hash    uint64
	check   uint32
	ordinal uint32
}

func newTable(pages int) *table {
	size := 1 << 10
	for size < pages+pages/2+1 {
		size *= 2
	}
	return &table{first: maphash.MakeSeed(), second: maphash.MakeSeed(), mask: uint64(size - 1), places: make([]place, size)}
}

func (t *table) hashes(url []byte) (uint64, uint32) {
	return maphash.Bytes(t.first, url), uint32(maphash.Bytes(t.second, url))
}

// find returns the ordinal of a URL.
func (t *table) find(url []byte) (uint32, bool) {
	hash, check := t.hashes(url)
	for at := hash & t.mask; ; at = (at + 1) & t.mask {
		p := &t.places[at]
		if p.ordinal == 0 {
			return 0, false
		}
		if p.hash == hash && p.check == check {
			return p.ordinal - 1, true
		}
	}
}

// add adds a URL; false where it is there already.
func (t *table) add(url []byte, ordinal uint32) bool {
	if 3*(t.used+1) > 2*len(t.places) {
		t.grow()
	}
	hash, check := t.hashes(url)
	if !t.put(place{hash, check, ordinal + 1}) {
		return false
	}
	t.used++
	return true
}

func (t *table) put(new place) bool {
	for at := new.hash & t.mask; ; at = (at + 1) & t.mask {
		p := &t.places[at]
		if p.ordinal == 0 {
			*p = new
			return true
		}
		if p.hash == new.hash && p.check == new.check {
			return false
		}
	}
}

func (t *table) grow() {
	before := t.places
	t.places = make([]place, 2*len(before))
	t.mask = uint64(len(t.places) - 1)
	for _, p := range before {
		if p.ordinal != 0 {
			t.put(p)
		}
	}
}

// wordSet is a set of strings that keeps them in the order in which they came.
type wordSet struct {
	table *table
	words []byte // uvarint length and bytes of each
	n     int
}

func newWordSet() *wordSet { return &wordSet{table: newTable(0)} }

func (s *wordSet) add(word []byte) {
	if !s.table.add(word, 0) {
		return
	}
	s.words = append(binary.AppendUvarint(s.words, uint64(len(word))), word...)
	s.n++
}

// bytes is about what the set takes.
func (s *wordSet) bytes() int64 { return int64(len(s.words)) + 16*int64(len(s.table.places)) }

// list returns the words, which share memory with the set.
func (s *wordSet) list() [][]byte {
	all := make([][]byte, 0, s.n)
	for rest := s.words; len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		all = append(all, rest[size:size+int(n)])
		rest = rest[size+int(n):]
	}
	return all
}
