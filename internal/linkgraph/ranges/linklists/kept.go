// Packed lists that this machine keeps, and sketches of long ones.

package linklists

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// keptList is a list of a page that this machine reads, or a part of one. It is the list at
// some count of changes of its rows. Only its atomic fields may change.
type keptList struct {
	bucket uint32 // of the count
	count  uint64
	degree int
	packed []byte // nil if the list is long
	ends   [2]string
	// sketch is set when somebody has requested samples of a list with more than
	// sample.SketchDegree links.
	sketch atomic.Pointer[sample.Sketch]
	// checked is an epoch under which this machine reads all rows of the list.
	checked atomic.Uint64
}

// long reports whether the list itself is not kept.
func (l *keptList) long() bool { return l.packed == nil }

// bytes returns about the memory of a list.
func (l *keptList) bytes() int64 {
	n := keptBytes + len(l.packed) + len(l.ends[0]) + len(l.ends[1])
	if s := l.sketch.Load(); s != nil {
		n += sketchBytes + memberBytes*s.Len()
	}
	return int64(n)
}

const (
	// keptBytes is about the memory of a list beside its packed bytes, sketchBytes of a sketch,
	// and memberBytes of each member of a sketch.
	keptBytes   = 192
	sketchBytes = 80
	memberBytes = 16
)

// packedLists caches the lists of pages that this machine reads, each with the count of changes
// of its rows. It has two generations, like the cache of UIDs in package assign.
type packedLists struct {
	most int64 // bytes of a generation, about
	seed maphash.Seed

	mu         sync.RWMutex
	young, old map[listKey]*keptList
	bytes      int64 // of the young generation
}

// listKey is a page and one of its lists: its direction, and above that, if it is a part of a
// list, a hash of the bounds.
type listKey struct {
	page uid.UID
	of   uint64
}

func (p *packedLists) init(bytes int64) {
	p.most = bytes / 2
	p.seed = maphash.MakeSeed()
	p.young, p.old = map[listKey]*keptList{}, map[listKey]*keptList{}
}

// key returns the key of a list, or of a part of it if the part has bounds.
func (p *packedLists) key(d links.Direction, page uid.UID, part triple.Range) listKey {
	k := listKey{page, uint64(d)}
	if part.Lo != nil {
		var h maphash.Hash
		h.SetSeed(p.seed)
		_, _ = h.Write(part.Lo) // it never fails
		_ = h.WriteByte(0)
		_, _ = h.Write(part.Hi)
		k.of |= max(h.Sum64()<<1, 2)
	}
	return k
}

// get finds cached lists; nil means none. If a list is in the old generation, it moves to the
// young one.
func (p *packedLists) get(keys []listKey, found []*keptList) {
	var again []int
	p.mu.RLock()
	for i, k := range keys {
		l, ok := p.young[k]
		if !ok {
			if l, ok = p.old[k]; ok {
				again = append(again, i)
			}
		}
		found[i] = l
	}
	p.mu.RUnlock()
	// put takes the write lock, so it must run after the read lock is released.
	for _, i := range again {
		p.put(keys[i], found[i])
	}
}

// put caches a list. Page 0 is ignored, because it is no page.
func (p *packedLists) put(k listKey, l *keptList) {
	if k.page == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, ok := p.young[k]; ok {
		p.bytes -= before.bytes()
	}
	p.young[k] = l
	p.grown(l.bytes())
}

// grown adds bytes to the young generation, which becomes the old one if it is full. The lock
// must be held.
func (p *packedLists) grown(bytes int64) {
	if p.bytes += bytes; p.bytes > p.most {
		p.old, p.young, p.bytes = p.young, map[listKey]*keptList{}, 0
	}
}

// sketched stores the sketch of a list. Its bytes count only if the list is still in the young
// generation.
func (p *packedLists) sketched(k listKey, l *keptList, s *sample.Sketch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.young[k] == l
	before := l.bytes()
	l.sketch.Store(s)
	if kept {
		p.grown(l.bytes() - before)
	}
}
