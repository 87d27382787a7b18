// Samples of lists in memory.

package sample

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/links/uid"
)

// Mode is a way of sampling. The zero value is [ModeRandom].
type Mode uint8

const (
	// ModeRandom draws uniformly, without replacement, from a seed.
	ModeRandom Mode = iota
	// ModeConsistent takes the targets with the smallest uid.Mix.
	ModeConsistent
)

// String returns random or consistent.
func (m Mode) String() string {
	switch m {
	case ModeRandom:
		return "random"
	case ModeConsistent:
		return "consistent"
	}
	return fmt.Sprintf("mode %d", uint8(m))
}

// ParseMode returns the mode with this name.
func ParseMode(name string) (Mode, error) {
	for m := range ModeConsistent + 1 {
		if m.String() == name {
			return m, nil
		}
	}
	return ModeRandom, fmt.Errorf("sample: no way of sampling is called %q: choose random or consistent", name)
}

// Spec describes the sample of each list. The zero value gives no link.
type Spec struct {
	N     int // maximum number of links; none if negative
	Mode  Mode
	Class Class
	Seed  uint64 // of a random sample
}

// Sample appends the sample s of the links of page. links must be ascending without duplicates,
// and must not overlap the free capacity of dst. Sample does not keep it. hosts may be nil if the
// class is [All].
func Sample(dst, links []uid.UID, page uid.UID, s Spec, hosts Hosts) []uid.UID {
	var classes Classes
	if s.Class != All {
		classes = ClassesOf(hosts, page)
	}
	if s.Mode == ModeConsistent {
		return Consistent(dst, links, s.N, s.Class, classes)
	}
	return Random(dst, links, s.N, s.Class, classes, SeedOf(s.Seed, page))
}

// SeedOf returns the seed of one page for the seed of a batch. The samples of different pages are
// then independent.
func SeedOf(seed uint64, page uid.UID) uint64 {
	return uid.Mix(seed+golden) ^ uid.Mix(uint64(page))
}

// Random appends a uniformly random sample of n of the links of a class. Equal seeds give equal
// samples. If class is [All], classes is not used.
//
// It needs O(n log n) if n is small beside the list, and O(links) otherwise. If few links are of
// the class, it needs O(runs of one extent * log of their length) more.
func Random(dst, links []uid.UID, n int, class Class, classes Classes, seed uint64) []uid.UID {
	n = max(n, 0)
	r := source(seed)
	// 1. Without a class, draw indexes and replace each by its link.
	if class == All {
		start := len(dst)
		dst = r.appendIndexes(dst, n, len(links))
		for i, index := range dst[start:] {
			dst[start+i] = links[index]
		}
		return dst
	}
	// 2. Draw links of any class and reject the wrong ones. This is fast if most links are of the
	// class.
	if dst, ok := r.tryIndexes(dst, links, n, class, classes); ok {
		return dst
	}
	// 3. Otherwise count the links of the class, and draw indexes among these.
	count := 0
	for rest := links; len(rest) > 0; {
		length, of := classes.Run(rest)
		if of >= class {
			count += length
		}
		rest = rest[length:]
	}
	start := len(dst)
	dst = r.appendIndexes(dst, n, count)
	// 4. Replace the indexes by links. Invariant: chosen has the indexes left, and all are at
	// least passed.
	chosen := dst[start:]
	passed := 0 // links of the class before rest
	for rest := links; len(chosen) > 0; {
		length, of := classes.Run(rest)
		if of >= class {
			for len(chosen) > 0 && int(chosen[0]) < passed+length {
				chosen[0] = rest[int(chosen[0])-passed]
				chosen = chosen[1:]
			}
			passed += length
		}
		rest = rest[length:]
	}
	return dst
}

// tryIndexes draws links until n are of the class. It gives up after some tries, because few
// links may be of the class. The caller may then draw them in another way: giving up does not
// depend on which links of the class were drawn.
func (r *source) tryIndexes(dst, links []uid.UID, n int, class Class, classes Classes) ([]uid.UID, bool) {
	const (
		maxTries = 8   // for each link of the sample
		maxTried = 64  // links of the sample: each is compared with all others
		linksFor = 256 // each link of the sample: in shorter lists all runs are counted soon
	)
	if n > maxTried || len(links) < linksFor*max(n, 1) {
		return dst, false
	}
	start := len(dst)
	for tries := maxTries * (n + 4); len(dst)-start < n; tries-- {
		if tries == 0 {
			return dst[:start], false
		}
		u := links[r.uniform(uint64(len(links)))]
		if classes.Narrowest(u.Extent()) >= class && !slices.Contains(dst[start:], u) {
			dst = append(dst, u)
		}
	}
	slices.Sort(dst[start:])
	return dst, true
}

// appendIndexes appends n different random numbers below count, ascending. If there are no more,
// it appends all of them.
func (r *source) appendIndexes(dst []uid.UID, n, count int) []uid.UID {
	start := len(dst)
	if n >= count {
		dst = slices.Grow(dst, count)
		for i := range count {
			dst = append(dst, uid.UID(i))
		}
		return dst
	}
	dst = slices.Grow(dst, n)
	// 1. A large sample: one pass over all numbers.
	if n > count/4 {
		// Take each number with the probability given by the counts of numbers wanted and left
		// (Knuth, TAOCP 2, 3.4.2, S).
		for i := 0; n > 0; i++ {
			if r.uniform(uint64(count-i)) < uint64(n) {
				dst = append(dst, uid.UID(i))
				n--
			}
		}
		return dst
	}
	// 2. A small sample: draw, and replace duplicates by new draws. A pass must not draw more
	// than are missing, because the result must be the same as of drawing one after the other.
	for {
		for missing := n - (len(dst) - start); missing > 0; missing-- {
			dst = append(dst, uid.UID(r.uniform(uint64(count))))
		}
		slices.Sort(dst[start:])
		dst = dst[:start+len(slices.Compact(dst[start:]))]
		if len(dst)-start == n {
			return dst
		}
	}
}

// Consistent appends the n links of a class with the smallest uid.Mix. If class is [All], classes
// is not used. It needs O(links), or O(links log n) for the worst order of UIDs.
func Consistent(dst, links []uid.UID, n int, class Class, classes Classes) []uid.UID {
	if class == All && n >= len(links) {
		return append(dst, links...)
	}
	if class == All && len(links) <= fewLinks {
		return consistentOfFew(dst, links, max(n, 0))
	}
	s := selection{values: dst, start: len(dst), n: max(n, 0)}
	s.reset()
	s.addLinks(links, class, classes)
	return s.appendLinks()
}

// fewLinks is the maximum number of links for [consistentOfFew]. Most lists of a web graph are as
// short.
const fewLinks = 64

// consistentOfFew sorts the numbers and then takes the links with one of the first n. So the
// links need not be sorted again.
func consistentOfFew(dst, links []uid.UID, n int) []uid.UID {
	if n == 0 {
		return dst
	}
	var mixes, sorted [fewLinks]uint64
	for i, u := range links {
		mixes[i] = uid.Mix(uint64(u))
	}
	copy(sorted[:], mixes[:len(links)])
	slices.Sort(sorted[:len(links)])
	last := sorted[n-1]
	for i, u := range links {
		if mixes[i] <= last {
			dst = append(dst, u)
		}
	}
	return dst
}

// golden is the increment of splitmix64: 2^64 / the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

// source is splitmix64, a generator of random numbers. It passes the usual statistical tests, and
// its seed is one number.
type source uint64

func (r *source) next() uint64 {
	*r += golden
	return uid.Mix(uint64(*r))
}

// uniform returns a random number below n, each with the same probability (Lemire, Fast Random
// Integer Generation in an Interval, TOMACS 2019). n must not be 0.
func (r *source) uniform(n uint64) uint64 {
	high, low := bits.Mul64(r.next(), n)
	if low < n {
		for threshold := -n % n; low < threshold; {
			high, low = bits.Mul64(r.next(), n)
		}
	}
	return high
}
