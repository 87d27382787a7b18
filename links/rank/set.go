// This file holds sets of pages with compact numbers.

package rank

import (
	"hash/maphash"
	"math"
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
// keyed, so that nobody can make UIDs that collide. A slot is 1 + a page's number,
// and above it as many of the hash's lower bits as there is room for: another page
// than the one that is looked for is told apart by these most often. 0 is free.
type Set struct {
	uids   []uid.UID
	slots  []uint32
	filter []uint64
	shift  int    // a hash's slot is its upper bits from here on
	number uint32 // of a slot's bits, those for 1 + a page's number
	keys   [2]uint64
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
	id, at, ok := s.probe(u, h)
	if ok {
		return id, true
	}
	id = uint32(len(s.uids))
	s.uids = append(s.uids, u)
	s.fill(at, id, h)
	return id, true
}

// Reserve makes room for n pages in all.
func (s *Set) Reserve(n int) {
	if 2*n > len(s.slots) {
		s.uids = slices.Grow(s.uids, n-len(s.uids))
		s.grow(2 * n)
	}
}

// hash folds a product of 128 bits: one multiplication, and all bits of the UID are
// in the upper ones, which say the slot, and in the lower ones too.
func (s *Set) hash(u uid.UID) uint64 {
	high, low := bits.Mul64(uint64(u)^s.keys[0], s.keys[1])
	return high ^ low
}

// fill puts a page into a free slot.
func (s *Set) fill(at uint64, id uint32, h uint64) {
	s.slots[at] = uint32(h)&^s.number | (id + 1)
	bit := h >> (s.shift - filterShift)
	s.filter[bit/setWord] |= 1 << (bit % setWord)
}

// grow makes a table of at least so many slots.
func (s *Set) grow(slots int) {
	if s.keys == [2]uint64{} {
		seed := maphash.MakeSeed()
		s.keys = [2]uint64{maphash.Comparable(seed, 0), maphash.Comparable(seed, 1) | 1}
	}
	width := bits.Len(uint(max(slots, minSlots) - 1))
	s.shift = 64 - width
	s.slots = make([]uint32, 1<<width)
	s.number = uint32(1<<min(width, 32) - 1)
	s.filter = make([]uint64, filterBitsASlot<<width/setWord)
	for id, u := range s.uids {
		h := s.hash(u)
		at := h >> s.shift
		for s.slots[at] != 0 {
			at = (at + 1) & uint64(len(s.slots)-1)
		}
		s.fill(at, uint32(id), h)
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
	id, _, ok := s.probe(u, h)
	return id, ok
}

// probe returns the number of a page, or else the free slot where it would be.
func (s *Set) probe(u uid.UID, h uint64) (id uint32, at uint64, ok bool) {
	last := uint64(len(s.slots) - 1)
	for at = h >> s.shift; ; at = (at + 1) & last {
		found := s.slots[at&last]
		if found == 0 {
			return 0, at, false
		}
		if id = found&s.number - 1; (found^uint32(h))&^s.number == 0 && s.uids[id] == u {
			return id, at, true
		}
	}
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
	var numbers [numbersAtOnce]uint32
	for len(links) > 0 {
		n := min(len(links), numbersAtOnce)
		s.Numbers(numbers[:n], links[:n])
		links = links[n:]
		for _, id := range numbers[:n] {
			if id != NotIn {
				dst = append(dst, id)
			}
		}
	}
	return dst
}

// NotIn is no page's number: see [Set.Numbers].
const NotIn = math.MaxUint32

const numbersAtOnce = 1 << 7

// Numbers sets numbers[i] to the number of links[i], or to NotIn where that is not in the
// set. numbers is as long as links. It is for many links at once, of one page or of
// several.
func (s *Set) Numbers(numbers []uint32, links []uid.UID) {
	if len(s.uids) == 0 {
		for i := range links {
			numbers[i] = NotIn
		}
		return
	}
	// What passes the bit map is gathered without a branch, which would be mistaken
	// too often, and then looked up all in one go: so cache misses are waited for
	// together.
	var passed [numbersAtOnce]uint8
	filter, shift := s.filter, (s.shift-filterShift)&(setWord-1)
	for len(links) > 0 {
		some, out := links[:min(len(links), numbersAtOnce)], numbers[:min(len(links), numbersAtOnce)]
		links, numbers = links[len(some):], numbers[len(some):]
		n := 0
		for i, u := range some {
			out[i] = NotIn
			passed[n%numbersAtOnce] = uint8(i)
			bit := s.hash(u) >> shift
			n += int(filter[bit/setWord] >> (bit % setWord) & 1)
		}
		for _, i := range passed[:n] {
			u := some[i]
			if id, _, ok := s.probe(u, s.hash(u)); ok {
				out[i] = id
			}
		}
	}
}
