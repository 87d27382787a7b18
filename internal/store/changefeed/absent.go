// Recent changes of the feed, which prove that a triple is absent.

package changefeed

import (
	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/triple"
)

// recent records the triples that the latest entries of the feed have changed. A writer that
// follows the feed can then prove that a triple is absent. This matters because most added links
// are new, and looking each up takes longer than writing it.
//
// Invariant: if an entry after from has changed a triple, now, or else before, has the number of
// the last such entry. Triples of the same hash count as the same.
type recent struct {
	from        uint64
	now, before map[uint64]uint64 // entries by the hashes of keys in POS
	last        uint64            // the last entry in now
	lastBefore  uint64            // the last entry in before
}

// maxRecent is the number of triples in each map. It is more than a reader lags behind if it keeps
// up.
const maxRecent = 1 << 17

// forget drops the changes of entries up to a number.
func (r *recent) forget(upTo uint64) { *r = recent{from: max(r.from, upTo)} }

// touched records that an entry changes a triple, or its annotations. key is its key in POS
// without the table's byte.
func (r *recent) touched(key []byte, entry uint64) {
	if r.now == nil || len(r.now) >= maxRecent {
		r.from = max(r.from, r.lastBefore)
		r.now, r.before, r.lastBefore = map[uint64]uint64{}, r.now, r.last
	}
	version, _, _ := triple.CutAnnotation(key)
	r.now[xxhash.Sum64(version)], r.last = entry, entry
}

// untouchedSince reports whether no entry after one has changed the triple with this key.
func (r *recent) untouchedSince(key []byte, entry uint64) bool {
	if entry < r.from {
		return false
	}
	if entry >= r.last {
		return true
	}
	hash := xxhash.Sum64(key)
	at, ok := r.now[hash]
	if !ok {
		at = r.before[hash]
	}
	return at <= entry
}

// StillAbsent reports whether a triple that was absent after entry since is still absent. key is its
// Pebble key in POS.
func (f *Feed) StillAbsent(key []byte, since uint64) bool {
	return since <= f.last && f.watches(key) && f.recent.untouchedSince(key[1:], since)
}
