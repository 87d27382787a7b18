// Cache of UIDs and URLs, which never change.

package assign

import (
	"sync"

	"github.com/trefoildb/trefoil/links/uid"
)

// cache caches UIDs of pages, which never change, in two generations. If the young one exceeds
// its share of memory, it becomes the old one.
type cache struct {
	most int64 // bytes of a generation, about

	mu         sync.RWMutex
	young, old generation
}

// generation is a set of pages. It may have the URL of a UID that does not count for its page.
type generation struct {
	uids  map[string]uid.UID
	urls  map[uid.UID]string
	bytes int64
}

// knownBytes is about the memory of a page beside its URL.
const knownBytes = 128

func newGeneration() generation {
	return generation{uids: map[string]uid.UID{}, urls: map[uid.UID]string{}}
}

func (k *cache) init(bytes int64) {
	k.most = bytes / 2
	k.young, k.old = newGeneration(), newGeneration()
}

// put caches the UID of a page.
func (k *cache) put(url string, u uid.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.young.uids[url], k.young.urls[u] = u, url
	k.grown(url)
}

// putURL caches the URL of a UID. The page may have another UID, which counts.
func (k *cache) putURL(u uid.UID, url string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.young.urls[u] = url
	k.grown(url)
}

// grown counts a page. The lock must be held.
func (k *cache) grown(url string) {
	if k.young.bytes += int64(len(url)) + knownBytes; k.young.bytes > k.most {
		k.old, k.young = k.young, newGeneration()
	}
}

// uid returns the UID of a page, 0 if it is not cached. If old is true, it is dropped soon
// unless it is put again.
func (k *cache) uid(url []byte) (u uid.UID, old bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if u, ok := k.young.uids[string(url)]; ok {
		return u, false
	}
	u, old = k.old.uids[string(url)]
	return u, old
}

// url returns the URL of a page, "" if it is not cached. For old see uid.
func (k *cache) url(u uid.UID) (url string, old bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if url, ok := k.young.urls[u]; ok {
		return url, false
	}
	url, old = k.old.urls[u]
	return url, old
}
