// Hosts and registered domains of extents, for samples.

package linklists

import (
	"context"
	"hash/maphash"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// Hosts maps extents to hashes of their hosts and registered domains (sample.Hosts), as far as
// a call has learned them.
type Hosts map[uid.Extent]hostHash

type hostHash struct{ host, domain uint64 }

var hostSeed = maphash.MakeSeed()

// hostOfURL returns the hashes of the host and the domain of a page.
func hostOfURL(url string) hostHash {
	key := weburl.HostKey(url)
	return hostHash{maphash.String(hostSeed, key), maphash.String(hostSeed, weburl.Domain(key))}
}

// Host implements sample.Hosts.
func (h Hosts) Host(e uid.Extent) uint64 { return h[e].host }

// Domain implements sample.Hosts.
func (h Hosts) Domain(e uid.Extent) uint64 { return h[e].domain }

// rememberedHosts is the number of extents in each of two generations of the cache. An entry
// stays valid, because an extent's host never changes.
const rememberedHosts = 1 << 19

// Add adds the hosts of pages to h. If an extent is not cached, the URL of one of its pages is
// looked up. If that page has no URL, the extent counts as a host of its own.
func (g *HostNames) Add(ctx context.Context, r *rowreader.Reader, h Hosts, pages []uid.UID) error {
	// 1. Take cached hosts. One page of each other extent is looked up; until then the extent
	// is a host of its own.
	var asked []uid.UID
	last, any := uid.Extent(0), false
	for _, u := range pages {
		e := u.Extent()
		if any && e == last {
			continue
		}
		last, any = e, true
		if _, ok := h[e]; ok {
			continue
		}
		of, ok := g.cache.Get(e)
		if !ok {
			of = hostHash{uid.Mix(uint64(e)), uid.Mix(uint64(e))}
			asked = append(asked, u)
		}
		h[e] = of
	}
	if len(asked) == 0 {
		return nil
	}
	// 2. Look up the URLs in one call, and cache the hosts that were found.
	urls, err := g.uids.LookUpURLs(ctx, r, asked)
	if err != nil {
		return err
	}
	for i, url := range urls {
		if url != "" {
			e := asked[i].Extent()
			h[e] = hostOfURL(url)
			g.cache.Put(e, h[e])
		}
	}
	return nil
}

// HostNames finds the hosts of pages, and caches them.
type HostNames struct {
	*rowreader.Readers
	uids  *assign.Assigner
	cache linkkeys.Recent[uid.Extent, hostHash]
}

// NewHosts returns HostNames with an empty cache.
func NewHosts(r *rowreader.Readers, uids *assign.Assigner) *HostNames {
	h := &HostNames{Readers: r, uids: uids}
	h.cache.Most = rememberedHosts
	return h
}
