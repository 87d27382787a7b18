package node

import (
	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/triple"
)

// recent knows which triples of the feed its latest entries have changed, so that a
// writer who follows the feed can say which triples are not there: most links that are
// added are new, and to look for each in the store takes longer than to write it.
//
// Invariant: each triple that an entry after from has changed, has in now, or else in
// before, the number of the last one that did. A triple of the same hash counts as the
// same one.
type recent struct {
	from        uint64
	now, before map[uint64]uint64 // entries by the hashes of keys in POS
	last        uint64            // the last entry in now
	lastBefore  uint64            // the same of before
}

// maxRecent is how many triples are in one of the maps: more than are in those entries
// that a reader who keeps up has yet to take in.
const maxRecent = 1 << 17

// forget forgets what entries up to a number have changed.
func (r *recent) forget(upTo uint64) { *r = recent{from: max(r.from, upTo)} }

// touched takes that an entry changes the version with this key in POS, without the
// table's byte, or what is noted on it.
func (r *recent) touched(key []byte, entry uint64) {
	if r.now == nil || len(r.now) >= maxRecent {
		r.from = max(r.from, r.lastBefore)
		r.now, r.before, r.lastBefore = map[uint64]uint64{}, r.now, r.last
	}
	version, _, _ := triple.CutAnnotation(key)
	r.now[xxhash.Sum64(version)], r.last = entry, entry
}

// untouchedSince tells that no entry after one has changed the version with this key.
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

// stillAbsent tells that an item, of which its request says that it was absent after an
// entry, has not come since.
func (f *feed) stillAbsent(r *request, at int32) bool {
	it := &r.items[at]
	if !it.absent || r.absentSince > f.last {
		return false
	}
	key := r.key(it, orderPOS)
	return f.watches(key) && f.recent.untouchedSince(key[1:], r.absentSince)
}
