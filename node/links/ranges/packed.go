// Lists that are kept packed where they are read.

package ranges

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/peer"
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
		step, n := binary.Uvarint(packed)
		next := last + uid.UID(step)
		if n <= 0 || next <= last {
			return dst, fmt.Errorf("%w: a list that does not ascend", peer.ErrMessage)
		}
		dst, last, packed = append(dst, next), next, packed[n:]
	}
	return dst, nil
}

// packedLists are the lists of pages that this machine reads, as they were when the
// counts of changes of their rows were what is kept with them; in two generations, as
// [known] has them.
type packedLists struct {
	most  int64 // bytes of a generation, about
	seeds [2]maphash.Seed

	mu         sync.RWMutex
	young, old map[listKey]packedList
	bytes      int64 // of the young
}

// listKey is a hash of 128 bits of a direction and a URL.
type listKey [2]uint64

type packedList struct {
	count  uint64
	packed []byte
}

// listBytes is about what is taken for a list beside its bytes.
const listBytes = 96

func (p *packedLists) init(bytes int64) {
	p.most = bytes / 2
	p.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	p.young, p.old = map[listKey]packedList{}, map[listKey]packedList{}
}

func (p *packedLists) key(d links.Direction, url string) (k listKey) {
	for i, seed := range p.seeds {
		k[i] = maphash.String(seed, url)
	}
	k[0] ^= uint64(d)
	return k
}

// get returns a list, if it is kept and still what it was; it must not be modified.
func (p *packedLists) get(k listKey, count uint64) ([]byte, bool) {
	p.mu.RLock()
	l, ok := p.young[k]
	old := false
	if !ok {
		l, old = p.old[k]
	}
	p.mu.RUnlock()
	if !ok && !old || l.count != count {
		return nil, false
	}
	if old {
		p.put(k, l)
	}
	return l.packed, true
}

func (p *packedLists) put(k listKey, l packedList) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, ok := p.young[k]
	p.young[k] = l
	p.bytes += int64(len(l.packed) - len(before.packed))
	if !ok {
		p.bytes += listBytes
	}
	if p.bytes > p.most {
		p.old, p.young, p.bytes = p.young, map[listKey]packedList{}, 0
	}
}
