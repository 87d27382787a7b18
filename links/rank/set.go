// This file holds sets of pages with compact numbers.

package rank

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Set is a set of pages, numbered 0, 1, 2, ... in the order in which they were
// added. It may be read by several goroutines at once. The zero value is empty,
// and ready for use.
//
// It is a hash table with linear probing, at most half full, behind a bit map of
// hashes: of the links that are looked up, most are not in the set, and most of
// these end at the bit map, which stays in the processor's cache. Hashes are
// keyed, so that nobody can make UIDs that collide.
type Set struct {
	uids   []uid.UID
	slots  []slot
	filter []uint64
	shift  int // a hash's slot is its upper bits from here on
	key    uint64
}

// A slot is free if its UID is 0.
type slot struct {
	uid uid.UID
	id  uint32
}

const (
	minSlots        = 64
	filterBitsASlot = 8 // at least 16 for each member
	filterShift     = 3 // log2 of it
	setWord         = 64
)

// Len returns how many pages there are.
func (s *Set) Len() int { return len(s.uids) }

// UIDs returns the pages by number. The slice is the set's and only to be read.
func (s *Set) UIDs() []uid.UID { return s.uids }

// Add adds a page, unless it is there already, and returns its number. 0 is no
// UID and is not added: it reports false.
func (s *Set) Add(u uid.UID) (uint32, bool) {
	if u == 0 {
		return 0, false
	}
	if 2*len(s.uids) >= len(s.slots) {
		s.grow(2 * len(s.slots))
	}
	h := s.hash(u)
	if id, ok := s.probe(u, h); ok {
		return id, true
	}
	id := uint32(len(s.uids))
	s.uids = append(s.uids, u)
	s.put(u, id, h)
	return id, true
}

// Reserve makes room for n pages in all.
func (s *Set) Reserve(n int) {
	if 2*n > len(s.slots) {
		s.uids = slices.Grow(s.uids, n-len(s.uids))
		s.grow(2 * n)
	}
}

func (s *Set) hash(u uid.UID) uint64 { return uid.Mix(uint64(u) ^ s.key) }

// put puts a page that is not in the table into the next free slot.
func (s *Set) put(u uid.UID, id uint32, h uint64) {
	at := h >> s.shift
	for s.slots[at].uid != 0 {
		at = (at + 1) & uint64(len(s.slots)-1)
	}
	s.slots[at] = slot{u, id}
	bit := h >> (s.shift - filterShift)
	s.filter[bit/setWord] |= 1 << (bit % setWord)
}

// grow makes a table of at least so many slots.
func (s *Set) grow(slots int) {
	if s.key == 0 {
		s.key = maphash.Comparable(maphash.MakeSeed(), 0)
	}
	width := bits.Len(uint(max(slots, minSlots) - 1))
	s.shift = 64 - width
	s.slots = make([]slot, 1<<width)
	s.filter = make([]uint64, filterBitsASlot<<width/setWord)
	for id, u := range s.uids {
		s.put(u, uint32(id), s.hash(u))
	}
}

// Find returns the number of a page, if it is in the set.
func (s *Set) Find(u uid.UID) (uint32, bool) {
	if len(s.uids) == 0 {
		return 0, false
	}
	h := s.hash(u)
	bit := h >> (s.shift - filterShift)
	if s.filter[bit/setWord]>>(bit%setWord)&1 == 0 {
		return 0, false
	}
	return s.probe(u, h)
}

func (s *Set) probe(u uid.UID, h uint64) (uint32, bool) {
	for at := h >> s.shift; s.slots[at].uid != 0; at = (at + 1) & uint64(len(s.slots)-1) {
		if s.slots[at].uid == u {
			return s.slots[at].id, true
		}
	}
	return 0, false
}

// AppendWithin appends the numbers of those links of a class that are in the
// set, in any order. links is ascending and only read. classes is not asked for
// the class of all links. A list that is much longer than the set costs
// O(set * log list).
func (s *Set) AppendWithin(dst []uint32, links []uid.UID, class sample.Class, classes sample.Classes) []uint32 {
	if class == sample.All {
		return s.appendWithin(dst, links)
	}
	for len(links) > 0 {
		length, of := classes.Run(links)
		if of >= class {
			dst = s.appendWithin(dst, links[:length])
		}
		links = links[length:]
	}
	return dst
}

func (s *Set) appendWithin(dst []uint32, links []uid.UID) []uint32 {
	if len(s.uids) == 0 {
		return dst
	}
	const muchLonger = 32
	if len(links)/muchLonger > len(s.uids) {
		for id, u := range s.uids {
			if _, found := slices.BinarySearch(links, u); found {
				dst = append(dst, uint32(id))
			}
		}
		return dst
	}
	filter, shift := s.filter, (s.shift-filterShift)&(setWord-1)
	for _, u := range links {
		h := s.hash(u)
		bit := h >> shift
		if filter[bit/setWord]>>(bit%setWord)&1 == 0 {
			continue
		}
		if id, ok := s.probe(u, h); ok {
			dst = append(dst, id)
		}
	}
	return dst
}
