package links

import (
	"encoding/binary"
	"hash/maphash"
)

// sum is what a URL is known by: 96 bits of two hashes with seeds of their own, so
// that two of ten million are taken for one with a probability of 10^-15; nobody can
// look for such a pair, as seeds are the process's.
type sum struct {
	hash  uint64
	check uint32
}

// seeds make sums. Sums of different seeds have nothing to do with each other.
type seeds struct{ first, second maphash.Seed }

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

func (s *seeds) sum(url []byte) sum {
	return sum{maphash.Bytes(s.first, url), uint32(maphash.Bytes(s.second, url))}
}

// table maps URLs, by their sums, to ordinals: a hash table with linear probing, at
// most two thirds full, of 16 bytes a place.
type table struct {
	seeds
	mask   uint64
	places []place
	used   int
}

// place is one entry; ordinal+1, so that zero is empty.
type place struct {
	hash    uint64
	check   uint32
	ordinal uint32
}

// newTable returns a table with room for so many pages. It grows.
func newTable(s seeds, pages int) *table {
	size := 1 << 10
	for size < pages+pages/2+1 {
		size *= 2
	}
	return &table{seeds: s, mask: uint64(size - 1), places: make([]place, size)}
}

// touch reads where a URL is or would be, so that find has it in a cache. The result
// means nothing.
func (t *table) touch(s sum) uint32 { return t.places[s.hash&t.mask].ordinal }

// find returns 1 + the ordinal of a URL, 0 where it has none.
func (t *table) find(s sum) uint32 {
	for at := s.hash & t.mask; ; at = (at + 1) & t.mask {
		p := &t.places[at]
		if p.hash == s.hash && p.check == s.check || p.ordinal == 0 {
			return p.ordinal
		}
	}
}

// add adds a URL; false where it is there already.
func (t *table) add(s sum, ordinal uint32) bool {
	if 3*(t.used+1) > 2*len(t.places) {
		t.grow()
	}
	if !t.put(place{s.hash, s.check, ordinal + 1}) {
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

func newWordSet(s seeds) *wordSet { return &wordSet{table: newTable(s, 0)} }

// add adds a word, whose sum by the set's seeds it gets.
func (s *wordSet) add(word []byte, of sum) {
	if !s.table.add(of, 0) {
		return
	}
	s.words = append(binary.AppendUvarint(s.words, uint64(len(word))), word...)
	s.n++
}

// bytes is about what the set takes.
func (s *wordSet) bytes() int64 { return int64(len(s.words)) + 16*int64(len(s.table.places)) }

// list returns the words. They share a copy of the set's memory.
func (s *wordSet) list() []string {
	all, words := make([]string, 0, s.n), string(s.words)
	for at := 0; at < len(words); {
		n, size := binary.Uvarint(s.words[at:])
		at += size
		all = append(all, words[at:at+int(n)])
		at += int(n)
	}
	return all
}
