// Hosts of extents, for samples.

package linkgraph

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// hosts maps extents to hashes of their hosts and registered domains (sample.Hosts). A known
// host stays, because an extent's host never changes.
type hosts struct {
	seed maphash.Seed
	// find returns the hosts of extents in the store.
	find func([]uid.Extent) map[uid.Extent]string
	mu   sync.RWMutex
	of   map[uid.Extent]hostOf
}

type hostOf struct{ host, domain uint64 }

func newHosts(find func([]uid.Extent) map[uid.Extent]string) *hosts {
	return &hosts{seed: maphash.MakeSeed(), find: find, of: map[uid.Extent]hostOf{}}
}

// knows reports whether the host of an extent is known.
func (h *hosts) knows(e uid.Extent) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, known := h.of[e]
	return known
}

// add adds the host of an extent from the URL of one of its pages.
func (h *hosts) add(e uid.Extent, url []byte) {
	if !h.knows(e) {
		h.addKey(e, weburl.HostKey(string(url)))
	}
}

// addKey adds the host of an extent.
func (h *hosts) addKey(e uid.Extent, key string) {
	found := hostOf{maphash.String(h.seed, key), maphash.String(h.seed, weburl.Domain(key))}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[e] = found
}

// addAll finds the hosts of extents in the store. Those that are not there stay unknown.
func (h *hosts) addAll(extents []uid.Extent) {
	for e, key := range h.find(extents) {
		h.addKey(e, key)
	}
}

// Host implements sample.Hosts.
func (h *hosts) Host(e uid.Extent) uint64 { return h.get(e).host }

// Domain implements sample.Hosts.
func (h *hosts) Domain(e uid.Extent) uint64 { return h.get(e).domain }

// get returns the hashes of an extent. If its host is not in the store, it counts as a host of its
// own.
func (h *hosts) get(e uid.Extent) hostOf {
	h.mu.RLock()
	found, ok := h.of[e]
	h.mu.RUnlock()
	if ok {
		return found
	}
	h.addAll([]uid.Extent{e})
	h.mu.RLock()
	defer h.mu.RUnlock()
	if found, ok := h.of[e]; ok {
		return found
	}
	return hostOf{uid.Mix(uint64(e)), uid.Mix(uint64(e))}
}

// findHosts looks up the hosts of extents in the store.
func (g *Graph) findHosts(extents []uid.Extent) map[uid.Extent]string {
	ranges := make([]triple.Range, 0, len(extents))
	for _, e := range extents {
		t := links.HostTriple(e, "")
		scan, err := triple.Pattern{Subject: t.Subject, Predicate: t.Predicate}.Scan(triple.SPO)
		if err != nil {
			return nil
		}
		ranges = append(ranges, scan.Range)
	}
	found := map[uid.Extent]string{}
	err := lookUp(g.ctx, g.node, ranges, func(i int, key, value []byte) error {
		_, t, err := triple.DecodeKey(key, value)
		if err == nil && t.Graph.IsZero() {
			found[extents[i]] = t.Object.Value()
		}
		return err
	})
	if err != nil && g.ctx.Err() == nil {
		g.log.Warn("the hosts of some pages could not be read, so samples may take each as a host of its own", "error", err)
	}
	return found
}

// addHosts adds the hosts of the pages of a part, and those of the pages of other parts that its
// cell has links with.
func (g *Graph) addHosts(ctx context.Context, p *part) error {
	// 1. The part has the URLs of its own pages.
	last := uid.Extent(0)
	for page := range p.delta.View().Pages() {
		if e := page.UID.Extent(); e != last {
			last = e
			g.hosts.add(e, page.URL)
		}
	}
	// 2. The store has the hosts of the others.
	c := p.delta.View().Cell()
	missing := map[uid.Extent]bool{}
	for _, d := range [2]cell.Direction{cell.Forward, cell.Backward} {
		ghosts := c.Ghosts(d)
		for i := range uint32(ghosts.Len()) {
			if e := ghosts.UID(i).Extent(); e != last {
				if last = e; !g.hosts.knows(e) {
					missing[e] = true
				}
			}
		}
	}
	extents := make([]uid.Extent, 0, len(missing))
	for e := range missing {
		if extents = append(extents, e); len(extents) == hostBatch {
			g.hosts.addAll(extents)
			extents = extents[:0]
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	g.hosts.addAll(extents)
	return nil
}

// hostBatch is the number of hosts in one look-up.
const hostBatch = 1 << 12
