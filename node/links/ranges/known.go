// What is remembered of pages.

package ranges

import (
	"sync"

	"github.com/trefoildb/trefoil/links/uid"
)

// known remembers UIDs of pages, which never change, in two generations: when the
// younger one has had its share of memory, it takes the place of the older one.
type known struct {
	most int64 // bytes of a generation, about

	mu         sync.RWMutex
	young, old generation
}

// generation is some pages. URLs are of all, UIDs of those whose page counts for them.
type generation struct {
	uids  map[string]uid.UID
	urls  map[uid.UID]string
	bytes int64
}

// knownBytes is about what is taken for a page beside its URL.
const knownBytes = 128

func newGeneration() generation {
	return generation{uids: map[string]uid.UID{}, urls: map[uid.UID]string{}}
}

func (k *known) init(bytes int64) {
	k.most = bytes / 2
	k.young, k.old = newGeneration(), newGeneration()
}

// put remembers the UID of a page.
func (k *known) put(url string, u uid.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.young.uids[url], k.young.urls[u] = u, url
	k.grown(url)
}

// putURL remembers the URL of a page, which may have another UID that counts.
func (k *known) putURL(u uid.UID, url string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.young.urls[u] = url
	k.grown(url)
}

// grown counts a page. The lock is held.
func (k *known) grown(url string) {
	if k.young.bytes += int64(len(url)) + knownBytes; k.young.bytes > k.most {
		k.old, k.young = k.young, newGeneration()
	}
}

// uid returns the UID of a page, 0 where it is not remembered. old tells that it will be
// forgotten before others, unless it is put again.
func (k *known) uid(url []byte) (u uid.UID, old bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if u, ok := k.young.uids[string(url)]; ok {
		return u, false
	}
	u, old = k.old.uids[string(url)]
	return u, old
}

// url returns the URL of a page, "" where it is not remembered.
func (k *known) url(u uid.UID) (url string, old bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if url, ok := k.young.urls[u]; ok {
		return url, false
	}
	url, old = k.old.urls[u]
	return url, old
}
