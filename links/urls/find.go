// From URLs to ordinals.

package urls

import (
	"bytes"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Find returns the ordinal of a URL, given the hash of its host that
// StartExtent was given. It allocates nothing, but for URLs whose hashes
// somebody has made to meet.
func (t *Table) Find(url string, hostHash uint64) (ordinal uint32, ok bool) {
	return t.FindBytes(unsafe.Slice(unsafe.StringData(url), len(url)), hostHash)
}

// FindBytes is Find for a URL in a slice, which it does not keep.
func (t *Table) FindBytes(url []byte, hostHash uint64) (ordinal uint32, ok bool) {
	return t.FindIn(url, t.Runs(hostHash))
}

// findInRun searches the ordinals first to last-1, whose URLs ascend.
func (t *Table) findInRun(url []byte, first, last uint32) (ordinal uint32, ok bool) {
	if first >= last {
		return 0, false
	}
	// Block lo is where the run begins; the others up to hi begin in it.
	lo, hi := int(first>>t.shift), int((last-1)>>t.shift)
	// Invariant: node from-1 begins at or below url, or is that of block lo; the
	// nodes from to on begin above it.
	from, to := lo>>nodeShift+1, hi>>nodeShift+1
	for from < to {
		mid := int(uint(from+to) >> 1)
		if head, _ := firstURL(t.body(mid + mid<<nodeShift)); bytes.Compare(head, url) <= 0 {
			from = mid + 1
		} else {
			to = mid
		}
	}
	base := (from - 1) << nodeShift
	p := t.node(base)
	var s search
	s.matched, s.order = commonPrefix(p.first, url), bytes.Compare(p.first, url)
	within := s.scan(t, &p, lo+1-base, min(hi-base, nodeLen-1)+1, url)
	return t.findInBlock(url, base+within, s, first, last)
}

// findInBlock searches block k, to whose first URL s has come, for url among
// the ordinals first to last-1, whose URLs ascend.
func (t *Table) findInBlock(url []byte, k int, s search, first, last uint32) (ordinal uint32, ok bool) {
	base := uint32(k) << t.shift
	if base >= first && s.order >= 0 {
		return base, s.order == 0
	}
	p := t.leaf(k)
	from := 1
	if first > base {
		from = int(first - base)
	}
	ordinal = base + uint32(s.scan(t, &p, from, int(min(last-base, 1<<t.shift)), url))
	return ordinal, ordinal >= first && s.order == 0
}

// search is how far the search for a URL has come. It decodes only what may
// decide.
//
// Invariant: matched is the number of bytes that the URL come to and the one
// searched for have in common from the first on, order their order.
type search struct {
	matched, order int
}

// scan goes from URL 0 of the piece, to which s has come, to the last one that
// is not above url among those from from to to-1, which ascend, and to from-1 if
// they are all above it. It returns its number.
func (s *search) scan(t *Table, p *piece, from, to int, url []byte) (at int) {
	h := headers{b: p.headers}
	unit := 0
	for i := 1; i < to; i++ {
		shared, units, ok := h.next()
		if !ok {
			s.order = -1
			return i - 1
		}
		if shared <= s.matched {
			if shared < s.matched && i > from {
				// The URL before has url's byte there, this one a greater one.
				return i - 1
			}
			more, order := t.symbols.match(p.body, span{p.payload, unit, units}, url[shared:])
			if i >= from && order > 0 {
				return i - 1
			}
			s.matched, s.order = shared+more, order
			if i >= from && order == 0 {
				return i
			}
		} else if i == from && s.order > 0 {
			return i - 1
		}
		unit += units
	}
	return to - 1
}

// findStray searches the URLs that are no part of a run.
func (t *Table) findStray(url []byte) (ordinal uint32, ok bool) {
	first, last := t.strays.find(xxhash.Sum64(url))
	if last-first <= maxUnsorted {
		for ; first < last; first++ {
			ordinal = uint32(t.strays.numbers.At(first))
			if ordinal, ok = t.findInRun(url, ordinal, ordinal+1); ok {
				return ordinal, true
			}
		}
		return 0, false
	}
	var other []byte
	for first < last {
		mid := int(uint(first+last) >> 1)
		ordinal = uint32(t.strays.numbers.At(mid))
		other = t.AppendURL(other[:0], ordinal)
		switch order := bytes.Compare(other, url); {
		case order == 0:
			return ordinal, true
		case order < 0:
			first = mid + 1
		default:
			last = mid
		}
	}
	return 0, false
}
