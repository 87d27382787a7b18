// Hash tables of URLs for a build.

package build

import (
	"encoding/binary"
	"hash/maphash"
)

// sum identifies a URL: 96 bits of two hashes with different seeds. The probability of a
// collision among ten million is 10^-15. An attacker cannot search for one, because seeds are
// random for each process.
type sum struct {
	hash  uint64
	check uint32
}

// seeds make sums. Sums of different seeds must not be compared.
type seeds struct{ first, second maphash.Seed }

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed()} }

func (s *seeds) Sum(url []byte) sum {
	return sum{maphash.Bytes(s.first, url), uint32(maphash.Bytes(s.second, url))}
}

// table maps URLs, by their sums, to ordinals. It is a hash table with linear probing, at most
// two thirds full, with 16 bytes for each place.
type table struct {
	seeds
	mask   uint64
	places []place
	used   int
}

// place is one entry. ordinal is stored plus 1, because zero means empty.
type place struct {
	hash    uint64
	check   uint32
	ordinal uint32
}

// newTable returns a table with room for the given number of pages. It grows if needed.
func newTable(s seeds, pages int) *table {
	size := 1 << 10
	for size < pages+pages/2+1 {
		size *= 2
	}
	return &table{seeds: s, mask: uint64(size - 1), places: make([]place, size)}
}

// touch loads the place of a URL into a cache, so that find is fast. Its result has no meaning.
func (t *table) touch(s sum) uint32 { return t.places[s.hash&t.mask].ordinal }

// Find returns 1 + the ordinal of a URL, 0 if it is not in the table.
func (t *table) Find(s sum) uint32 {
	for at := s.hash & t.mask; ; at = (at + 1) & t.mask {
		p := &t.places[at]
		if p.hash == s.hash && p.check == s.check || p.ordinal == 0 {
			return p.ordinal
		}
	}
}

// Add adds a URL. It returns false if the URL is in the table already.
func (t *table) Add(s sum, ordinal uint32) bool {
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

// wordSet is a set of strings in the order of insertion.
type wordSet struct {
	table *table
	words []byte // uvarint length and bytes of each
	n     int
}

func newWordSet(s seeds) *wordSet { return &wordSet{table: newTable(s, 0)} }

// Add adds a word. of must be its sum by the set's seeds.
func (s *wordSet) Add(word []byte, of sum) {
	if !s.table.Add(of, 0) {
		return
	}
	s.words = append(binary.AppendUvarint(s.words, uint64(len(word))), word...)
	s.n++
}

// bytes returns about the memory of the set.
func (s *wordSet) bytes() int64 { return int64(len(s.words)) + 16*int64(len(s.table.places)) }

// List returns the words. They share a copy of the set's memory.
func (s *wordSet) List() []string {
	all, words := make([]string, 0, s.n), string(s.words)
	for at := 0; at < len(words); {
		n, size := binary.Uvarint(s.words[at:])
		at += size
		all = append(all, words[at:at+int(n)])
		at += int(n)
	}
	return all
}
