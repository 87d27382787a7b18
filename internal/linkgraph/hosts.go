// Hosts of extents, for samples.

package linkgraph

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// hosts maps extents to hashes of their hosts and registered domains, see forCall. A known host
// stays, because an extent's host never changes.
type hosts struct {
	seed maphash.Seed
	// find returns the hosts of extents in the store.
	find func([]uid.Extent) (map[uid.Extent]string, error)
	mu   sync.RWMutex
	of   map[uid.Extent]hostOf
}

type hostOf struct{ host, domain uint64 }

func newHosts(find func([]uid.Extent) (map[uid.Extent]string, error)) *hosts {
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
func (h *hosts) addAll(extents []uid.Extent) error {
	found, err := h.find(extents)
	for e, key := range found {
		h.addKey(e, key)
	}
	return err
}

// foundHosts are the hosts for one call, which must check failed at its end. They implement
// sample.Hosts, and are safe for concurrent use.
type foundHosts struct {
	*hosts
	err atomic.Pointer[error]
}

// forCall returns the hosts for a call.
func (h *hosts) forCall() *foundHosts { return &foundHosts{hosts: h} }

// failed returns the error of a look-up; nil if all succeeded.
func (f *foundHosts) failed() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Host implements sample.Hosts.
func (f *foundHosts) Host(e uid.Extent) uint64 { return f.get(e).host }

// Domain implements sample.Hosts.
func (f *foundHosts) Domain(e uid.Extent) uint64 { return f.get(e).domain }

// get returns the hashes of an extent. If its host is not in the store, it counts as a host of its
// own.
func (f *foundHosts) get(e uid.Extent) hostOf {
	f.mu.RLock()
	found, ok := f.of[e]
	f.mu.RUnlock()
	if ok {
		return found
	}
	if f.err.Load() == nil {
		if err := f.addAll([]uid.Extent{e}); err != nil {
			f.err.Store(&err)
		}
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if found, ok := f.of[e]; ok {
		return found
	}
	return hostOf{uid.Mix(uint64(e)), uid.Mix(uint64(e))}
}

// findHosts looks up the hosts of extents in the store.
func (fs *forms) findHosts(extents []uid.Extent) (map[uid.Extent]string, error) {
	f, err := fs.form(fs.ctx)
	if err != nil {
		return nil, err
	}
	ranges := make([]triple.Range, 0, len(extents))
	for _, e := range extents {
		t := f.hostTriple(e, "")
		scan, err := triple.Pattern{Subject: t.Subject, Predicate: t.Predicate}.Scan(triple.SPO)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, scan.Range)
	}
	found := map[uid.Extent]string{}
	err = lookUp(fs.ctx, fs.node, ranges, func(i int, key, value []byte) error {
		_, t, err := triple.DecodeKey(key, value)
		if key, ok := f.host(t); err == nil && ok {
			found[extents[i]] = key
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up the hosts of pages: %w", err)
	}
	return found, nil
}

// addHosts adds the hosts of the pages of a part, and those of the pages of other parts that its
// cell has links with.
func (h *hosts) addHosts(ctx context.Context, p *part) error {
	// 1. The part has the URLs of its own pages.
	last := uid.Extent(0)
	for page := range p.delta.View().Pages() {
		if e := page.UID.Extent(); e != last {
			last = e
			h.add(e, page.URL)
		}
	}
	// 2. The store has the hosts of the others.
	c := p.delta.View().Cell()
	missing := map[uid.Extent]bool{}
	for _, d := range [2]cell.Direction{cell.Forward, cell.Backward} {
		ghosts := c.Ghosts(d)
		for i := range uint32(ghosts.Len()) {
			if e := ghosts.UID(i).Extent(); e != last {
				if last = e; !h.knows(e) {
					missing[e] = true
				}
			}
		}
	}
	extents := make([]uid.Extent, 0, len(missing))
	for e := range missing {
		if extents = append(extents, e); len(extents) == hostBatch {
			if err := h.addAll(extents); err != nil {
				return err
			}
			extents = extents[:0]
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return h.addAll(extents)
}

// hostBatch is the number of hosts in one look-up.
const hostBatch = 1 << 12
