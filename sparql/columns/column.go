// Columns: the pairs of one predicate, by subject and by object.

package columns

import (
	"math"
	"slices"
)

// Column has the pairs (subject, object) of one predicate. It is safe for concurrent use.
type Column struct {
	BySubject Lists // the objects of each subject
	ByObject  Lists // the subjects of each object
	// LongSubjects and LongObjects say that some are long: the dictionary has their form in keys, and
	// only rows have the whole terms.
	LongSubjects, LongObjects bool
}

// Rows returns the number of triples of the predicate.
func (c *Column) Rows() int { return c.BySubject.Values() }

func (c *Column) bytes() int64 { return c.BySubject.bytes() + c.ByObject.bytes() }

// Lists has an ascending list of numbers for each of its keys. Keys and values have places, which count
// from 0. Those of a patch follow those of the packed arrays, so only a [KeyRange] has all keys.
type Lists struct {
	keys packed
	// ends has the place behind the last value of each key. It is empty if each key has one value.
	ends   packed
	values packed
	// first and last are keys, and density is about how many places lie between two numbers.
	first, last uint32
	density     float64
	patch       *patch // nil if nothing has changed
}

// Keys returns the number of keys.
func (l *Lists) Keys() int {
	keys, _ := l.Count(0, math.MaxUint32)
	return keys
}

// Values returns the number of values of all keys.
func (l *Lists) Values() int {
	_, values := l.Count(0, math.MaxUint32)
	return values
}

// Packed reports whether the keys have the places from 0 to Keys-1 in their order, and the values those from
// 0, because nothing has changed.
func (l *Lists) Packed() bool { return l.patch == nil }

// Key returns the key at a place.
func (l *Lists) Key(i int) uint32 {
	if i < l.keys.n {
		return l.keys.get(i)
	}
	return l.patch.entries[i-l.keys.n].key
}

// Value returns the value at a place.
func (l *Lists) Value(j int) uint32 {
	if j < l.values.n {
		return l.values.get(j)
	}
	return l.patch.values.list[j-l.values.n]
}

// Bounds returns the places of the values of the key at a place: from lo up to hi.
func (l *Lists) Bounds(i int) (lo, hi int) {
	if i >= l.keys.n {
		e := &l.patch.entries[i-l.keys.n]
		return l.values.n + int(e.lo), l.values.n + int(e.hi)
	}
	if l.ends.n == 0 {
		return i, i + 1
	}
	if i > 0 {
		lo = int(l.ends.get(i - 1))
	}
	return lo, int(l.ends.get(i))
}

// Count returns how many keys in [from, to) there are, and how many values they have.
func (l *Lists) Count(from, to uint32) (keys, values int) {
	lo, hi := 0, l.keys.n
	if from > 0 {
		lo = l.keys.lowerBound(0, l.keys.n, from)
	}
	if to <= l.last {
		hi = l.keys.lowerBound(lo, l.keys.n, to)
	}
	hi = max(lo, hi)
	keys, values = hi-lo, l.countBefore(hi)-l.countBefore(lo)
	if l.patch != nil {
		moreKeys, moreValues := l.patch.growth(from, to)
		keys, values = keys+moreKeys, values+moreValues
	}
	return keys, values
}

// countBefore returns how many packed values the keys before a place have.
func (l *Lists) countBefore(i int) int {
	if i == l.keys.n {
		return l.values.n
	}
	lo, _ := l.Bounds(i)
	return lo
}

// KeyRange goes through the keys of lists in a range, in ascending order. The zero value is empty.
type KeyRange struct {
	at, end           int // in the packed keys
	patchAt, patchEnd int
}

// KeysBetween returns the keys in [from, to).
func (l *Lists) KeysBetween(from, to uint32) (r KeyRange) {
	r.at = l.keys.lowerBound(0, l.keys.n, from)
	r.end = l.keys.lowerBound(r.at, l.keys.n, to)
	if l.patch != nil {
		r.patchAt, r.patchEnd = l.patch.find(from), max(l.patch.find(from), l.patch.find(to))
	}
	return r
}

// All returns all keys.
func (l *Lists) All() KeyRange {
	r := KeyRange{end: l.keys.n}
	if l.patch != nil {
		r.patchEnd = len(l.patch.entries)
	}
	return r
}

// Next returns the place of the next key; ok is false if there is none.
func (l *Lists) Next(r *KeyRange) (place int, ok bool) {
	for r.patchAt < r.patchEnd {
		e := &l.patch.entries[r.patchAt]
		// A key of the patch stands for the packed one, and may have no value left.
		if r.at < r.end {
			key := l.keys.get(r.at)
			if key < e.key {
				break
			}
			if key == e.key {
				r.at++
			}
		}
		r.patchAt++
		if e.lo < e.hi {
			return l.keys.n + r.patchAt - 1, true
		}
	}
	if r.at == r.end {
		return 0, false
	}
	r.at++
	return r.at - 1, true
}

// Find returns the place of a key. near is the place of an earlier result: if the key is close behind
// it, the search is short. If the key is missing, place may be passed as near.
func (l *Lists) Find(key uint32, near int) (place int, ok bool) {
	if l.patch != nil {
		if i := l.patch.find(key); i < len(l.patch.entries) && l.patch.entries[i].key == key {
			return l.keys.n + i, l.patch.entries[i].lo < l.patch.entries[i].hi
		}
	}
	return l.findPacked(key, near)
}

// findPacked is Find without the patch.
func (l *Lists) findPacked(key uint32, near int) (place int, ok bool) {
	n := l.keys.n
	if n == 0 || key > l.last {
		return n, false
	}
	// 1. Keys often ascend, so the next ones are tried first.
	lo, hi := 0, n
	if near < n && l.keys.get(near) <= key {
		lo = near
		if ahead := min(near+nearKeys, n-1); l.keys.get(ahead) >= key {
			hi = ahead + 1
		}
	}
	// 2. Otherwise search around the place that the key has if all are equally dense.
	if hi == n {
		lo, hi = l.bracket(key, lo)
	}
	place = l.keys.lowerBound(lo, hi, key)
	return place, place < n && l.keys.get(place) == key
}

// nearKeys is how far a key may be behind an earlier one to count as near.
const nearKeys = 15

// bracket returns bounds of the place of a key, in growing steps from its likely place. The key must not
// be greater than the last one, nor less than the one at least.
func (l *Lists) bracket(key uint32, least int) (lo, hi int) {
	guess := max(least, int(float64(max(key, l.first)-l.first)*l.density))
	hi = l.keys.n
	guess = min(guess, hi-1)
	if l.keys.get(guess) < key {
		lo = guess + 1
		for step := 4; lo+step < hi; step *= 4 {
			if l.keys.get(lo+step) >= key {
				return lo, lo + step + 1
			}
			lo += step + 1
		}
		return lo, hi
	}
	lo, hi = least, guess+1
	for step := 4; hi-1-step > lo; step *= 4 {
		if l.keys.get(hi-1-step) < key {
			return hi - step, hi
		}
		hi -= step
	}
	return lo, hi
}

// FindValue returns the first place in [lo, hi) whose value is at least v. The places must be of one
// key.
func (l *Lists) FindValue(lo, hi int, v uint32) int {
	if l.patch == nil || lo < l.values.n {
		return l.values.lowerBound(lo, hi, v)
	}
	i, _ := slices.BinarySearch(l.patch.values.list[lo-l.values.n:hi-l.values.n], v)
	return lo + i
}

func (l *Lists) bytes() int64 {
	return l.keys.bytes() + l.ends.bytes() + l.values.bytes() + l.patch.bytes()
}

// measure sets what helps to find keys.
func (l *Lists) measure() {
	if n := l.keys.n; n > 0 {
		l.first, l.last = l.keys.get(0), l.keys.get(n-1)
		l.density = float64(n-1) / float64(max(l.last-l.first, 1))
	}
}

// listsBuilder collects the lists of one column. Pairs must come in the order of keys, then values,
// each once. add returns the bytes that a pair takes beside its value until it is packed.
type listsBuilder struct {
	keys, values         []uint32
	ends                 []uint32 // empty while each key has one value
	longKeys, longValues bool
}

func (b *listsBuilder) add(key, value uint32) (bytes int64) {
	n := len(b.keys)
	isNew := n == 0 || b.keys[n-1] != key
	// 1. The first key with two values needs ends, and so do all before it.
	if !isNew && len(b.ends) == 0 {
		for i := range n {
			b.ends = append(b.ends, uint32(i+1))
		}
		bytes += 4 * int64(n)
	}
	// 2. Add the pair.
	b.values = append(b.values, value)
	if isNew {
		b.keys = append(b.keys, key)
		bytes += 4
	}
	switch {
	case len(b.ends) == 0:
	case isNew:
		b.ends = append(b.ends, uint32(len(b.values)))
		bytes += 4
	default:
		b.ends[n-1] = uint32(len(b.values))
	}
	return bytes
}

// lists returns the lists, and empties the builder.
func (b *listsBuilder) lists() Lists {
	l := Lists{keys: pack(b.keys), values: pack(b.values)}
	l.measure()
	if len(b.ends) > 0 {
		l.ends = pack(b.ends)
	}
	*b = listsBuilder{}
	return l
}
