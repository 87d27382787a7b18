// The UIDs of pages that were changed lately.

package links

import (
	"strings"
	"sync"

	"github.com/trefoildb/trefoil/links/uid"
)

// known remembers pages and their UIDs: an update needs those of its pages, the keeper
// needs them again a moment later, and of changes that come one after the other many
// are of the same pages. To find a page in a cell takes ten times as long. What it says
// is what the cells, their deltas or the store said, which stays right as long as no UID
// is forgotten; then the graph takes a new one. It may be used by many at once.
type known struct {
	mu sync.RWMutex
	// now is filled, and is before when it is full.
	now, before map[string]uid.UID
}

const (
	maxKnown      = 1 << 16 // pages in one of two maps
	maxKnownBytes = 256     // of a URL; longer ones are not kept
)

func newKnown() *known { return &known{now: map[string]uid.UID{}} }

// get sets the UIDs of the URLs that are known, and returns the places of the others.
func (k *known) get(urls []string, uids []uid.UID) (others []int) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for i, url := range urls {
		u, ok := k.now[url]
		if !ok {
			u, ok = k.before[url]
		}
		if uids[i] = u; !ok {
			others = append(others, i)
		}
	}
	return others
}

// add takes in the UIDs of the URLs at some places. One of 0 is none.
func (k *known) add(urls []string, uids []uid.UID, places []int) {
	if len(places) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, i := range places {
		if uids[i] == 0 || len(urls[i]) > maxKnownBytes {
			continue
		}
		if len(k.now) >= maxKnown {
			k.now, k.before = make(map[string]uid.UID, maxKnown), k.now
		}
		k.now[strings.Clone(urls[i])] = uids[i]
	}
}
