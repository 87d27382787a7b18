package ranges

import (
	"context"
	"hash/maphash"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// hosts tells the hosts and registered domains of extents apart (sample.Hosts), by
// hashes, as far as they were learned for a call.
type hosts map[uid.Extent]hostOf

type hostOf struct{ host, domain uint64 }

var hostSeed = maphash.MakeSeed()

// hostOfURL returns the host of a page.
func hostOfURL(url string) hostOf {
	key := weburl.HostKey(url)
	return hostOf{maphash.String(hostSeed, key), maphash.String(hostSeed, weburl.Domain(key))}
}

// Host implements sample.Hosts.
func (h hosts) Host(e uid.Extent) uint64 { return h[e].host }

// Domain implements sample.Hosts.
func (h hosts) Domain(e uid.Extent) uint64 { return h[e].domain }

// rememberedHosts is of how many extents hosts are remembered, in each of two
// generations. An extent's host never changes.
const rememberedHosts = 1 << 19

// learn adds the hosts of pages to h. Those that are not remembered are told by the URL
// of one page of each extent. An extent without a page that has one is a host of its
// own.
func (r *reader) learn(ctx context.Context, h hosts, pages []uid.UID) error {
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
		of, ok := r.graph.hosts.get(e)
		if !ok {
			of = hostOf{uid.Mix(uint64(e)), uid.Mix(uint64(e))}
			asked = append(asked, u)
		}
		h[e] = of
	}
	if len(asked) == 0 {
		return nil
	}
	urls, err := r.urls(ctx, asked)
	if err != nil {
		return err
	}
	for i, url := range urls {
		if url != "" {
			e := asked[i].Extent()
			h[e] = hostOfURL(url)
			r.graph.hosts.put(e, h[e])
		}
	}
	return nil
}
