// Hosts of extents, for samples.

package pagerows

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// Hosts maps extents to hashes of their hosts and registered domains, see forCall. A known host
// stays, because an extent's host never changes.
type Hosts struct {
	seed maphash.Seed
	// Find returns the hosts of extents in the store.
	Find func([]uid.Extent) (map[uid.Extent]string, error)
	Mu   sync.RWMutex
	Of   map[uid.Extent]hostOf
}

type hostOf struct{ host, domain uint64 }

func NewHosts(find func([]uid.Extent) (map[uid.Extent]string, error)) *Hosts {
	return &Hosts{seed: maphash.MakeSeed(), Find: find, Of: map[uid.Extent]hostOf{}}
}

// isKnown reports whether the host of an extent is known.
func (h *Hosts) isKnown(e uid.Extent) bool {
	h.Mu.RLock()
	defer h.Mu.RUnlock()
	_, known := h.Of[e]
	return known
}

// Add adds the host of an extent from the URL of one of its pages.
func (h *Hosts) Add(e uid.Extent, url []byte) {
	if !h.isKnown(e) {
		h.addKey(e, weburl.HostKey(string(url)))
	}
}

// addKey adds the host of an extent.
func (h *Hosts) addKey(e uid.Extent, key string) {
	found := hostOf{maphash.String(h.seed, key), maphash.String(h.seed, weburl.Domain(key))}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Of[e] = found
}

// AddAll finds the hosts of extents in the store. Those that are not there stay unknown.
func (h *Hosts) AddAll(extents []uid.Extent) error {
	found, err := h.Find(extents)
	for e, key := range found {
		h.addKey(e, key)
	}
	return err
}

// FoundHosts are the hosts for one call, which must check failed at its end. They implement
// sample.Hosts, and are safe for concurrent use.
type FoundHosts struct {
	*Hosts
	err atomic.Pointer[error]
}

// ForCall returns the hosts for a call.
func (h *Hosts) ForCall() *FoundHosts { return &FoundHosts{Hosts: h} }

// Failed returns the error of a look-up; nil if all succeeded.
func (f *FoundHosts) Failed() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Host implements sample.Hosts.
func (f *FoundHosts) Host(e uid.Extent) uint64 { return f.get(e).host }

// Domain implements sample.Hosts.
func (f *FoundHosts) Domain(e uid.Extent) uint64 { return f.get(e).domain }

// get returns the hashes of an extent. If its host is not in the store, it counts as a host of its
// own.
func (f *FoundHosts) get(e uid.Extent) hostOf {
	f.Mu.RLock()
	found, ok := f.Of[e]
	f.Mu.RUnlock()
	if ok {
		return found
	}
	if f.err.Load() == nil {
		if err := f.AddAll([]uid.Extent{e}); err != nil {
			f.err.Store(&err)
		}
	}
	f.Mu.RLock()
	defer f.Mu.RUnlock()
	if found, ok := f.Of[e]; ok {
		return found
	}
	return hostOf{uid.Mix(uint64(e)), uid.Mix(uint64(e))}
}

// FindHosts looks up the hosts of extents in the store.
func FindHosts(ctx context.Context, triples derived.Triples, extents []uid.Extent) (map[uid.Extent]string, error) {
	ranges := make([]triple.Range, 0, len(extents))
	for _, e := range extents {
		t := links.HostTriple(e, "")
		scan, err := triple.Pattern{Subject: t.Subject, Predicate: t.Predicate}.Scan(triple.SPO)
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, scan.Range)
	}
	found := map[uid.Extent]string{}
	err := LookUp(ctx, triples, ranges, func(i int, key, value []byte) error {
		_, t, err := triple.DecodeKey(key, value)
		if key, ok := strings.CutPrefix(t.Object.Value(), links.HostPrefix); ok && err == nil && t.Graph == systemgraph.Graph {
			found[extents[i]] = key
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up the hosts of pages: %w", err)
	}
	return found, nil
}

// AddHosts adds the hosts of the pages of a part's view, and those of the pages of other parts that
// its cell has links with.
func (h *Hosts) AddHosts(ctx context.Context, v *delta.View) error {
	// 1. The view has the URLs of its own pages.
	last := uid.Extent(0)
	for page := range v.Pages() {
		if e := page.UID.Extent(); e != last {
			last = e
			h.Add(e, page.URL)
		}
	}
	// 2. The store has the hosts of the others.
	c := v.Cell()
	missing := map[uid.Extent]bool{}
	for _, d := range [2]cell.Direction{cell.Forward, cell.Backward} {
		ghosts := c.Ghosts(d)
		for i := range uint32(ghosts.Len()) {
			if e := ghosts.UID(i).Extent(); e != last {
				if last = e; !h.isKnown(e) {
					missing[e] = true
				}
			}
		}
	}
	extents := make([]uid.Extent, 0, len(missing))
	for e := range missing {
		if extents = append(extents, e); len(extents) == hostBatch {
			if err := h.AddAll(extents); err != nil {
				return err
			}
			extents = extents[:0]
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return h.AddAll(extents)
}

// hostBatch is the number of hosts in one look-up.
const hostBatch = 1 << 12
