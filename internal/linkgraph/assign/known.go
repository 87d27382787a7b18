// The UIDs of recently changed pages.

package assign

import (
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/links/uid"
)

// known caches pages and their UIDs. An update needs those of its pages, and the keeper needs
// them again a moment later. Consecutive changes often have the same pages, and a search in a
// cell takes ten times as long. An entry comes from the cells, their deltas or the store. It
// stays right until a UID is forgotten; then the graph must use a new cache. known is safe for
// concurrent use.
type known struct {
	mu sync.RWMutex
	// Now is filled; when it is full, it becomes before.
	Now, Before map[string]uid.UID
}

const (
	MaxKnown      = 1 << 16 // pages in one of two maps
	MaxKnownBytes = 256     // of a URL; longer ones are not kept
)

func NewKnown() *known { return &known{Now: map[string]uid.UID{}} }

// Get sets the UIDs of known URLs, and returns the indexes of the others.
func (k *known) Get(urls []string, uids []uid.UID) (others []int) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for i, url := range urls {
		u, ok := k.Now[url]
		if !ok {
			u, ok = k.Before[url]
		}
		if uids[i] = u; !ok {
			others = append(others, i)
		}
	}
	return others
}

// Add caches the UIDs of the URLs at some indexes. A UID of 0 is skipped.
func (k *known) Add(urls []string, uids []uid.UID, places []int) {
	if len(places) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range places {
		if uids[i] == 0 || len(urls[i]) > MaxKnownBytes {
			continue
		}
		if len(k.Now) >= MaxKnown {
			k.Now, k.Before = make(map[string]uid.UID, MaxKnown), k.Now
		}
		k.Now[strings.Clone(urls[i])] = uids[i]
	}
}
