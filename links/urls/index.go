// The index by hashes: from hosts to their stretches of ordinals, and from strays to their
// ordinals.

package urls

import (
	"bytes"
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/ef"
)

const (
	// spareKeyBits is the number of bits of a key beyond the logarithm of their number. If a hash
	// is missing, it has another's key with a probability of at most 1 in 2^spareKeyBits, on
	// average.
	spareKeyBits = 5
	maxKeyBits   = 32

	// maxCandidates is the maximum number of stretches for one key. Further ones are strays.
	// There are more only if someone makes hashes collide.
	maxCandidates = 32
	// maxRuns is the maximum number of searched runs of one extent: its longest ones. The URLs of
	// the others are strays.
	maxRuns = 4
	// longRun is the minimum length of a searched run if the extent has more than maxRuns. A
	// shorter run is searched only if it is a quarter of the extent.
	longRun = 256
	// Up to maxUnsorted strays of one key are compared one after another. If there are more, they
	// are kept in the order of their URLs.
	maxUnsorted = 8
)

// hashIndex maps hashes, cut to keys, to numbers.
type hashIndex struct {
	keyBits uint
	keys    ef.Sequence
	numbers packedArray // of each key
}

// mix spreads every bit of a hash over the upper ones, because these make the key. (The finaliser
// of MurmurHash3.)
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// key returns the key of a hash.
func (x *hashIndex) key(hash uint64) uint64 { return mix(hash) >> (64 - x.keyBits) }

// find returns the places first to last-1 of a hash's key. If the key is missing, they are equal.
func (x *hashIndex) find(hash uint64) (first, last int) {
	if x.keys.Len() == 0 {
		return 0, 0
	}
	key := x.key(hash)
	first = x.keys.Search(key)
	it := x.keys.Iterator(first)
	for last = first; last <= first+maxUnsorted; last++ {
		if v, ok := it.Next(); !ok || v != key {
			return first, last
		}
	}
	return first, x.keys.Search(key + 1)
}

func (x *hashIndex) open(b []byte, limit uint64) (rest []byte, err error) {
	if x.keyBits > maxKeyBits {
		return nil, fmt.Errorf("keys of %d bits", x.keyBits)
	}
	var used int
	if x.keys, used, err = ef.Open(b); err != nil {
		return nil, err
	}
	b = b[used:]
	if x.numbers, used, err = openPacked(b); err != nil {
		return nil, err
	}
	if x.keys.Len() != x.numbers.len() {
		return nil, fmt.Errorf("%d keys of %d numbers", x.keys.Len(), x.numbers.len())
	}
	for i := range x.numbers.len() {
		if v := x.numbers.get(i); v >= limit {
			return nil, fmt.Errorf("%d is not below %d", v, limit)
		}
	}
	return b[used:], nil
}

// entries collects a hashIndex: key << 32 | number. The list must be sorted before use.
type entries struct {
	keyBits uint
	list    []uint64
}

func newEntries(count int) entries {
	return entries{
		keyBits: uint(min(bits.Len(uint(count))+spareKeyBits, maxKeyBits)),
		list:    make([]uint64, 0, count),
	}
}

func (e *entries) add(hash uint64, number uint32) {
	x := hashIndex{keyBits: e.keyBits}
	e.list = append(e.list, x.key(hash)<<32|uint64(number))
}

// groups calls use with every part of the sorted list with the same key.
func (e *entries) groups(use func(group []uint64)) {
	for i := 0; i < len(e.list); {
		j := i + 1
		for j < len(e.list) && e.list[j]>>32 == e.list[i]>>32 {
			j++
		}
		use(e.list[i:j])
		i = j
	}
}

func (e *entries) appendTo(dst []byte) []byte {
	var keys ef.Builder
	numbers := make([]uint64, len(e.list))
	for i, v := range e.list {
		keys.Add(v >> 32)
		numbers[i] = v & (1<<32 - 1)
	}
	return appendPacked(keys.AppendTo(dst), numbers)
}

// runIndex is the index by hosts: stretches of ascending ordinals.
type runIndex struct {
	starts []uint64 // of all stretches, then the number of URLs
	hosts  entries
	strays []stretch // not found by their hosts
}

// stretch is the ordinals first to last-1.
type stretch struct{ first, last uint32 }

// newRunIndex decides whether each run is searched, and makes the index. The last run ends at n.
func newRunIndex(runs []run, n uint32) runIndex {
	ends := func(i int) uint32 {
		if i+1 < len(runs) {
			return runs[i+1].start
		}
		return n
	}
	// 1. Choose the searched runs of each extent.
	searched := 0
	for i := 0; i < len(runs); {
		j := i + 1
		for j < len(runs) && !runs[j].startExtent {
			j++
		}
		searched += chooseRuns(runs[i:j], ends(j-1))
		i = j
	}
	// 2. Index them by host. If too many have one key, the last ones become strays, because a
	// search must stay short.
	x := runIndex{hosts: newEntries(searched)}
	for i, r := range runs {
		if r.searched {
			x.hosts.add(r.hash, uint32(i))
		}
	}
	slices.Sort(x.hosts.list)
	kept := x.hosts.list[:0]
	x.hosts.groups(func(group []uint64) {
		for len(group) > maxCandidates {
			runs[uint32(group[len(group)-1])].searched = false
			group = group[:len(group)-1]
		}
		kept = append(kept, group...)
	})
	x.hosts.list = kept

	// 3. Merge neighbours into one stretch if they are not searched.
	number := make([]uint32, len(runs))
	for i, r := range runs {
		if i == 0 || r.searched || runs[i-1].searched {
			x.starts = append(x.starts, uint64(r.start))
		}
		number[i] = uint32(len(x.starts) - 1)
		if r.searched {
			continue
		}
		if k := len(x.strays) - 1; k >= 0 && x.strays[k].last == r.start {
			x.strays[k].last = ends(i)
		} else {
			x.strays = append(x.strays, stretch{r.start, ends(i)})
		}
	}
	x.starts = append(x.starts, uint64(n))
	// 4. The entries have numbers of runs so far. They must have numbers of stretches.
	for i, v := range x.hosts.list {
		x.hosts.list[i] = v>>32<<32 | uint64(number[uint32(v)])
	}
	return x
}

// chooseRuns marks the searched runs of an extent, which ends at end. It returns their number.
func chooseRuns(runs []run, end uint32) int {
	if len(runs) <= maxRuns {
		for i := range runs {
			runs[i].searched = true
		}
		return len(runs)
	}
	length := func(i int) uint32 {
		if i+1 < len(runs) {
			return runs[i+1].start - runs[i].start
		}
		return end - runs[i].start
	}
	// 1. Find the maxRuns longest runs, longest first.
	longest := make([]int, 0, maxRuns+1)
	for i := range runs {
		at := len(longest)
		for at > 0 && length(longest[at-1]) < length(i) {
			at--
		}
		if longest = slices.Insert(longest, at, i); len(longest) > maxRuns {
			longest = longest[:maxRuns]
		}
	}
	// 2. Search a run only if it is long, because each searched run costs time for every URL of
	// the host.
	all := end - runs[0].start
	for n, i := range longest {
		if length(i) < min(longRun, (all+3)/4) {
			return n
		}
		runs[i].searched = true
	}
	return len(longest)
}

// newStrayIndex makes the index of the URLs of t in the given stretches.
func newStrayIndex(t *Table, stretches []stretch) entries {
	count := 0
	for _, s := range stretches {
		count += int(s.last - s.first)
	}
	x := newEntries(count)
	for _, s := range stretches {
		it := t.Scan(s.first)
		for ordinal := s.first; ordinal < s.last; ordinal++ {
			_, url, _ := it.Next()
			x.add(xxhash.Sum64(url), ordinal)
		}
	}
	slices.Sort(x.list)
	var a, b []byte
	x.groups(func(group []uint64) {
		if len(group) <= maxUnsorted {
			return
		}
		slices.SortFunc(group, func(v, w uint64) int {
			a, b = t.AppendURL(a[:0], uint32(v)), t.AppendURL(b[:0], uint32(w))
			return cmp.Or(bytes.Compare(a, b), cmp.Compare(v, w))
		})
	})
	return x
}
