// From URLs to ordinals.

package urls

import (
	"bytes"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

// Find returns the ordinal of a URL. hostHash must be the hash given to StartExtent for the host.
// It does not allocate, unless someone made hashes of URLs collide. It reports false if the URL
// is missing.
func (t *Table) Find(url string, hostHash uint64) (ordinal uint32, ok bool) {
	return t.FindBytes(unsafe.Slice(unsafe.StringData(url), len(url)), hostHash)
}

// FindBytes is Find for a URL in a slice. It does not keep the slice.
func (t *Table) FindBytes(url []byte, hostHash uint64) (ordinal uint32, ok bool) {
	return t.FindIn(url, t.Runs(hostHash))
}

// findInRun searches the ordinals first to last-1. Their URLs must ascend.
func (t *Table) findInRun(url []byte, first, last uint32) (ordinal uint32, ok bool) {
	if first >= last {
		return 0, false
	}
	// Block lo contains the run's beginning. The other blocks up to hi begin inside the run.
	lo, hi := int(first>>t.shift), int((last-1)>>t.shift)
	// Invariant: node from-1 begins at or below url, or it is the node of block lo. Nodes from to
	// onwards begin above url.
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
	within := s.scan(&p, lo+1-base, min(hi-base, nodeLen-1)+1, url)
	return t.findInBlock(url, base+within, s, first, last)
}

// findInBlock searches block k for url among the ordinals first to last-1. Their URLs must
// ascend. s must have reached the first URL of the block.
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
	ordinal = base + uint32(s.scan(&p, from, int(min(last-base, 1<<t.shift)), url))
	return ordinal, ordinal >= first && s.order == 0
}

// search is the state of a search for a URL. It reads a suffix only if it may decide.
//
// Invariant: matched is the length of the common prefix of the current URL and the wanted one.
// order is their order.
type search struct {
	matched, order int
}

// scan goes forward from URL 0 of the piece; s must have reached that one. It considers the URLs
// from to to-1, which must ascend, and stops at the last one not above url. If all are above it,
// it stops at from-1. It returns the number of that URL.
func (s *search) scan(p *piece, from, to int, url []byte) (at int) {
	// Bytes shared beyond matched repeat those of the URL before, so the order stays the same. A
	// suffix must be compared only if shared is at most matched.
	h := headers{b: p.headers}
	first := 0
	for i := 1; i < to; i++ {
		shared, n, ok := h.next()
		if !ok {
			s.order = -1
			return i - 1
		}
		if shared <= s.matched {
			if shared < s.matched && i > from {
				// The URL before has the byte of url here, and this one a greater byte.
				return i - 1
			}
			rest := p.bytes(first, n)
			more := commonPrefix(rest, url[shared:])
			order := bytes.Compare(rest[more:], url[shared+more:])
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
		first += n
	}
	return to - 1
}

// findStray searches the strays, the URLs outside of searched runs.
func (t *Table) findStray(url []byte) (ordinal uint32, ok bool) {
	// 1. Compare a few strays of the same key one after another.
	first, last := t.strays.find(xxhash.Sum64(url))
	if last-first <= maxUnsorted {
		for ; first < last; first++ {
			ordinal = uint32(t.strays.numbers.get(first))
			if ordinal, ok = t.findInRun(url, ordinal, ordinal+1); ok {
				return ordinal, true
			}
		}
		return 0, false
	}
	// 2. Many strays of one key have the order of their URLs. Search them by halving, because
	// anyone can make hashes collide.
	var other []byte
	for first < last {
		mid := int(uint(first+last) >> 1)
		ordinal = uint32(t.strays.numbers.get(mid))
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
