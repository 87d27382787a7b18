package ranges

import (
	"hash/maphash"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// hosts tells the hosts and registered domains of extents apart (sample.Hosts), by
// hashes, as far as pages of them were met in a call.
type hosts map[uid.Extent]hostOf

type hostOf struct{ host, domain uint64 }

var hostSeed = maphash.MakeSeed()

// add takes in a page; nothing where there is no map.
func (h hosts) add(u uid.UID, url string) {
	if _, known := h[u.Extent()]; h == nil || known || u == 0 {
		return
	}
	key := weburl.HostKey(url)
	h[u.Extent()] = hostOf{maphash.String(hostSeed, key), maphash.String(hostSeed, weburl.Domain(key))}
}

// Host implements sample.Hosts.
func (h hosts) Host(e uid.Extent) uint64 { return h[e].host }

// Domain implements sample.Hosts.
func (h hosts) Domain(e uid.Extent) uint64 { return h[e].domain }
