// Patches: the lists of keys that changed since a set was built.

package columns

import (
	"slices"
	"sort"
)

// patch has the whole list of each key that has changed. Its places follow those of the packed arrays.
// It is never changed.
type patch struct {
	entries []patchEntry // by key, ascending
	values  shared[uint32]
	live    int // how many values are of an entry
	// sums are the counts of the entries before each place, and of all.
	sums []patchCount
}

// patchEntry is a key of a patch.
type patchEntry struct {
	key    uint32
	lo, hi uint32 // where its values are in those of the patch; lo == hi: none is left
	packed uint32 // how many values the packed arrays have of the key
}

// shared is a list that never changes. A longer one may share its memory.
type shared[T any] struct {
	list []T
	used *int // the length of the longest list of this memory
}

// extend returns the list for appending to it. The result of that must be passed to keep, and no other list
// of this memory may be extended meanwhile.
func (s *shared[T]) extend() []T {
	if s.used == nil || *s.used > len(s.list) {
		return slices.Clip(s.list)
	}
	return s.list
}

// keep returns the list that was made from what extend has returned.
func (s *shared[T]) keep(list []T) shared[T] {
	next := shared[T]{list, s.used}
	if s.used == nil || *s.used > len(s.list) {
		next.used = new(int)
	}
	*next.used = len(list)
	return next
}

// patchCount is how many keys and values a patch has more than the packed arrays.
type patchCount struct{ keys, values int32 }

// pairChange is a change of one pair in lists.
type pairChange struct {
	key, value uint32
	deleted    bool
}

// find returns the place of the first entry whose key is at least key.
func (p *patch) find(key uint32) int {
	return sort.Search(len(p.entries), func(i int) bool { return p.entries[i].key >= key })
}

// growth returns how many more keys and values than the packed arrays the patch has for keys in [from, to).
func (p *patch) growth(from, to uint32) (keys, values int) {
	lo, hi := &p.sums[p.find(from)], &p.sums[p.find(to)]
	return int(hi.keys - lo.keys), int(hi.values - lo.values)
}

// count sets the sums, and counts the values of entries.
func (p *patch) count() {
	p.sums = make([]patchCount, len(p.entries)+1)
	for i := range p.entries {
		e := &p.entries[i]
		sum := p.sums[i]
		if e.lo < e.hi {
			sum.keys++
		}
		if e.packed > 0 {
			sum.keys--
		}
		sum.values += int32(e.hi-e.lo) - int32(e.packed)
		p.sums[i+1] = sum
		p.live += int(e.hi - e.lo)
	}
}

func (p *patch) bytes() int64 {
	if p == nil {
		return 0
	}
	return 16*int64(cap(p.entries)) + 8*int64(cap(p.sums)) + 4*int64(cap(p.values.list))
}

// Bounds of a patch. Look-ups get slower with its entries, and a list is copied for each change of it.
const (
	maxPatchEntries = 1 << 14
	maxPatchValues  = 1 << 21
)

// minSparse is how many values of no entry do not matter.
const minSparse = 1 << 12

// change returns the lists behind changes of pairs. They must be sorted by key and value, one of each pair.
// ok is false if the patch would be too large.
func (l *Lists) change(changes []pairChange) (changed Lists, ok bool) {
	old := l.patch
	if old == nil {
		old = &patch{}
	}
	// 1. The values of no entry are left behind if they are many, or if there is no room for them.
	dense := len(old.values.list) > 2*old.live+minSparse
	next := l.patched(old, changes, dense)
	if next == nil && !dense {
		next = l.patched(old, changes, true)
	}
	if next == nil || len(next.entries) > maxPatchEntries {
		return Lists{}, false
	}
	// 2. The packed arrays stay.
	next.count()
	changed = *l
	changed.patch = next
	return changed, true
}

// patched returns the patch behind changes of old, without its counts; nil if it would have too many values.
// It shares the values of old, or has only those of entries if dense is set.
func (l *Lists) patched(old *patch, changes []pairChange, dense bool) *patch {
	next := &patch{entries: make([]patchEntry, 0, len(old.entries)+len(changes))}
	rest, near := old.entries, 0
	var from shared[uint32]
	if !dense {
		from = old.values
	}
	values := from.extend()
	keep := func(entries []patchEntry) {
		for _, e := range entries {
			if dense {
				values = append(values, old.values.list[e.lo:e.hi]...)
				e.lo, e.hi = uint32(len(values))-(e.hi-e.lo), uint32(len(values))
			}
			next.entries = append(next.entries, e)
		}
	}
	for len(changes) > 0 {
		// 1. Take the changes of the next key. The entries before it stay.
		key, n := changes[0].key, 1
		for n < len(changes) && changes[n].key == key {
			n++
		}
		before := sort.Search(len(rest), func(i int) bool { return rest[i].key >= key })
		keep(rest[:before])
		rest = rest[before:]
		// 2. Merge them with its list.
		e := patchEntry{key: key, lo: uint32(len(values))}
		lo, hi := 0, 0
		var packed bool
		if near, packed = l.findPacked(key, near); packed {
			lo, hi = l.Bounds(near)
			e.packed = uint32(hi - lo)
		}
		if len(rest) > 0 && rest[0].key == key {
			lo, hi = l.values.n+int(rest[0].lo), l.values.n+int(rest[0].hi)
			rest = rest[1:]
		}
		if len(values)+hi-lo+n > maxPatchValues {
			return nil
		}
		values = l.merge(values, lo, hi, changes[:n])
		e.hi = uint32(len(values))
		next.entries = append(next.entries, e)
		changes = changes[n:]
	}
	// 3. So do those behind the last one.
	if keep(rest); len(values) > maxPatchValues {
		return nil
	}
	next.values = from.keep(values)
	return next
}

// merge appends the values at places from lo up to hi to dst, with changes of their key.
func (l *Lists) merge(dst []uint32, lo, hi int, changes []pairChange) []uint32 {
	for i := range changes {
		c := &changes[i]
		same := l.FindValue(lo, hi, c.value)
		dst = l.appendValues(dst, lo, same)
		if lo = same; lo < hi && l.Value(lo) == c.value {
			lo++
		}
		if !c.deleted {
			dst = append(dst, c.value)
		}
	}
	return l.appendValues(dst, lo, hi)
}

// appendValues appends the values at places from lo up to hi, of one key, to dst.
func (l *Lists) appendValues(dst []uint32, lo, hi int) []uint32 {
	if n := l.values.n; lo >= n && lo < hi {
		return append(dst, l.patch.values.list[lo-n:hi-n]...)
	}
	for ; lo < hi; lo++ {
		dst = append(dst, l.values.get(lo))
	}
	return dst
}
