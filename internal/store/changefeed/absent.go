// Recent changes of watched predicates, which prove that a triple is absent.

package changefeed

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// recent records the triples with watched predicates that the latest requests have changed. A writer
// that follows the feed can then prove that a triple is absent. This matters because most added
// links are new, and looking each up takes longer than writing it.
//
// Invariant: if a request after from has changed a triple, now, or else before, has the sequence of
// the last such request. Triples of the same hash count as the same.
type recent struct {
	from        uint64
	now, before map[uint64]uint64 // sequences by the hashes of keys in POS
	last        uint64            // the last sequence in now
	lastBefore  uint64            // the last sequence in before
}

// maxRecent is the number of triples in each map. It is more than a reader lags behind if it keeps
// up.
const maxRecent = 1 << 17

// forget drops the changes up to a sequence.
func (r *recent) forget(upTo uint64) { *r = recent{from: max(r.from, upTo)} }

// touched records that the request of a sequence changes a triple, or its annotations. key is its
// key in POS without the table's byte.
func (r *recent) touched(key []byte, sequence uint64) {
	if r.now == nil || len(r.now) >= maxRecent {
		r.from = max(r.from, r.lastBefore)
		r.now, r.before, r.lastBefore = map[uint64]uint64{}, r.now, r.last
	}
	r.now[xxhash.Sum64(key)], r.last = sequence, sequence
}

// untouchedSince reports whether no request after a sequence has changed the triple with this key.
func (r *recent) untouchedSince(key []byte, since uint64) bool {
	if since < r.from {
		return false
	}
	if since >= r.last {
		return true
	}
	hash := xxhash.Sum64(key)
	at, ok := r.now[hash]
	if !ok {
		at = r.before[hash]
	}
	return at <= since
}

// StillAbsent reports whether a triple that was absent at a position is still absent. key is its
// Pebble key in POS, and since the sequence of the position.
func (f *Feed) StillAbsent(key []byte, since uint64) bool {
	return since <= f.end.Sequence && f.watches(key) && f.recent.untouchedSince(key[1:], since)
}

// watches reports whether a Pebble key in POS is of a triple with a watched predicate.
func (f *Feed) watches(key []byte) bool {
	for _, p := range f.watched {
		if bytes.HasPrefix(key, p) {
			return true
		}
	}
	return false
}
