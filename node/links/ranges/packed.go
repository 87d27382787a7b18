// Lists that are kept packed where they are read, and what is kept of long ones.

package ranges

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/triple"
)

// A packed list is its first UID and then the differences, each as a uvarint.

func appendPacked(dst []byte, list []uid.UID) []byte {
	before := uid.UID(0)
	for _, u := range list {
		dst = binary.AppendUvarint(dst, uint64(u-before))
		before = u
	}
	return dst
}

// unpack appends the UIDs of a packed list.
func unpack(dst []uid.UID, packed []byte) ([]uid.UID, error) {
	last := uid.UID(0)
	for len(packed) > 0 {
		step, n := uint64(packed[0]), 1
		if step >= 0x80 {
			step, n = uvarint(packed)
		}
		next := last + uid.UID(step)
		if n <= 0 || next <= last {
			return dst, fmt.Errorf("%w: a list that does not ascend", peer.ErrMessage)
		}
		dst, last, packed = append(dst, next), next, packed[n:]
	}
	return dst, nil
}

// uvarint is binary.Uvarint, without a loop over the bytes of what has up to eight.
func uvarint(b []byte) (uint64, int) {
	if len(b) < 8 {
		return binary.Uvarint(b)
	}
	v := binary.LittleEndian.Uint64(b)
	last := ^v & 0x8080808080808080
	if last == 0 {
		return binary.Uvarint(b)
	}
	v &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7f
	// The groups of 7 bits move together: 14 each, 28 each, 56.
	v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
	v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
	v = v&0x000000000fffffff | v&0x0fffffff00000000>>4
	return v, bits.TrailingZeros64(last)/8 + 1
}

// packedDegree returns how many UIDs a packed list has: each has one last byte.
func packedDegree(packed []byte) (n int) {
	for len(packed) >= 8 {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(packed) & 0x8080808080808080)
		packed = packed[8:]
	}
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// keptList is a list of a page that this machine reads, or a part of one, as it was when
// the changes of its rows had some count. But for what is atomic it is never modified.
type keptList struct {
	bucket uint32 // of the count
	count  uint64
	degree int
	packed []byte // nil of a long list
	ends   [2]string
	// sketch is there once somebody has asked for samples of a list of more than
	// sample.SketchDegree links.
	sketch atomic.Pointer[sample.Sketch]
	// checked is an epoch under which this machine reads all rows of the list.
	checked atomic.Uint64
}

// long reports whether the list itself is not kept.
func (l *keptList) long() bool { return l.packed == nil }

// bytes is about what is taken for a list.
func (l *keptList) bytes() int64 {
	n := keptBytes + len(l.packed) + len(l.ends[0]) + len(l.ends[1])
	if s := l.sketch.Load(); s != nil {
		n += sketchBytes + memberBytes*s.Len()
	}
	return int64(n)
}

const (
	// keptBytes is about what is taken for a list beside its bytes; sketchBytes for a
	// sketch, and memberBytes for each of its members.
	keptBytes   = 192
	sketchBytes = 80
	memberBytes = 16
)

// packedLists are the lists of pages that this machine reads, as they were when the
// counts of changes of their rows were what is kept with them; in two generations, as
// [known] has them.
type packedLists struct {
	most int64 // bytes of a generation, about
	seed maphash.Seed

	mu         sync.RWMutex
	young, old map[listKey]*keptList
	bytes      int64 // of the young
}

// listKey is a page and which of its lists: its direction, and above that, for a part of
// a list, a hash of the bounds.
type listKey struct {
	page uid.UID
	of   uint64
}

func (p *packedLists) init(bytes int64) {
	p.most = bytes / 2
	p.seed = maphash.MakeSeed()
	p.young, p.old = map[listKey]*keptList{}, map[listKey]*keptList{}
}

// key returns the key of a list, or of a part of it where that has bounds.
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

// get finds what is kept of lists: nil stands for nothing. What was kept long ago is
// kept anew.
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
	for _, i := range again {
		p.put(keys[i], found[i])
	}
}

// put keeps a list; nothing of page 0, which is none.
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

// grown counts bytes. The lock is held.
func (p *packedLists) grown(bytes int64) {
	if p.bytes += bytes; p.bytes > p.most {
		p.old, p.young, p.bytes = p.young, map[listKey]*keptList{}, 0
	}
}

// sketched keeps the sketch of a list.
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
