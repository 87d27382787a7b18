// Hosts of extents, for samples.

package linkgraph

import (
	"hash/maphash"
	"sync"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// hosts maps extents to hashes of their hosts and registered domains (sample.Hosts). A known
// host stays, because an extent's host never changes.
type hosts struct {
	seed maphash.Seed
	mu   sync.RWMutex
	of   map[uid.Extent]hostOf
}

type hostOf struct{ host, domain uint64 }

func newHosts() *hosts { return &hosts{seed: maphash.MakeSeed(), of: map[uid.Extent]hostOf{}} }

// add adds the host of an extent from the URL of one of its pages.
func (h *hosts) add(e uid.Extent, url []byte) {
	h.mu.RLock()
	_, known := h.of[e]
	h.mu.RUnlock()
	if known {
		return
	}
	key := weburl.HostKey(string(url))
	found := hostOf{maphash.String(h.seed, key), maphash.String(h.seed, weburl.Domain(key))}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[e] = found
}

// Host implements sample.Hosts.
func (h *hosts) Host(e uid.Extent) uint64 { return h.get(e).host }

// Domain implements sample.Hosts.
func (h *hosts) Domain(e uid.Extent) uint64 { return h.get(e).domain }

// get returns the hashes of an extent. If it is not known, it counts as a host of its own,
// because no link leads to it.
func (h *hosts) get(e uid.Extent) hostOf {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if found, ok := h.of[e]; ok {
		return found
	}
	return hostOf{uid.Mix(uint64(e)), uid.Mix(uint64(e))}
}
