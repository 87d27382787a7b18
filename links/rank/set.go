// Sets of pages with compact numbers.

package rank

import (
	"hash/maphash"
	"math"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Set is a set of pages. It numbers them 0, 1, 2, ... in the order of their addition. Several
// goroutines may read it at once. The zero value is empty and ready for use.
//
// It is a hash table with linear probing, at most half full, behind a bit map of hashes. Most
// links are not in the set, and the bit map rejects most of these. It stays in the processor's
// cache. Hashes are keyed, because an attacker must not be able to make UIDs that collide. A slot
// holds 1 + a page's number and, above it, lower bits of the hash if there is room. These bits
// distinguish most other pages without a look at uids. 0 is a free slot.
type Set struct {
	uids   []uid.UID
	slots  []uint32
	filter []uint64
	shift  int    // the slot of a hash is its bits from this one on
	number uint32 // mask of a slot's bits for 1 + a page's number
	keys   [2]uint64
}

const (
	minSlots        = 64
	filterBitsASlot = 8 // at least 16 for each member
	filterShift     = 3 // log2 of it
	setWord         = 64
)

// Len returns the number of pages.
func (s *Set) Len() int { return len(s.uids) }

// UIDs returns the pages by number. The slice belongs to the set and must not be changed.
func (s *Set) UIDs() []uid.UID { return s.uids }

// Add adds a page if it is missing, and returns its number. It rejects 0, because 0 is no UID,
// and reports false.
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

// hash folds a product of 128 bits. It costs one multiplication and spreads all bits of the UID
// over the upper bits and the lower ones. The upper ones select the slot.
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

// grow makes a table of at least this number of slots. It draws the keys when the first table is
// made.
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

// Find returns the number of a page. It reports false if the page is not in the set.
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

// probe returns the number of a page. If it is missing, it returns the free slot for it.
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

// AppendWithin appends the numbers of the links of a class that are in the set, in any order.
// links must be ascending and is only read. If class is the class of all links, classes is not
// used. If the list is much longer than the set, the cost is O(set * log list).
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

// Numbers sets numbers[i] to the number of links[i], or to NotIn if the link is not in the set.
// numbers must be as long as links. It is fast for many links at once, of one page or of several.
func (s *Set) Numbers(numbers []uint32, links []uid.UID) {
	if len(s.uids) == 0 {
		for i := range links {
			numbers[i] = NotIn
		}
		return
	}
	// Collect the links that pass the bit map without a branch, because it would often be
	// mispredicted. Then look them all up in one go, so that their cache misses overlap.
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
