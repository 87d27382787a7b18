// Assigning UIDs to pages.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// assigner assigns UIDs, and writes them before any caller sees them. One goroutine at a time
// may use it: it has the keeper's lock.
//
// When a page of a slot first needs a number, the numbers in use are read from the store.
// Writes of an earlier process have landed or never will, because the store belongs to this
// process alone. So numbers continue from those in the store.
type assigner struct {
	store *store.Store
	slots map[uid.Slot]*uid.Allocator
	hosts int // in all allocators, about
	// rounds is the number of times that UIDs were assigned, or may have been.
	rounds int
}

const (
	// maxHosts bounds the memory of slots: some 100 bytes a host.
	maxHosts = 1 << 20
	// assignBatch is the number of triples in one write.
	assignBatch = 20_000
)

// assigned is a page with its new UID.
type assigned struct {
	url string
	uid uid.UID
}

// assign assigns UIDs to pages. They must be distinct and have none. It orders them by host and
// URL. It calls done with some of them at a time, when these are durable.
func (a *assigner) assign(ctx context.Context, urls []string, done func([]assigned) error) error {
	runs, err := a.number(ctx, urls)
	if err != nil {
		return err
	}
	var triples []triple.Triple
	// flush writes the pending triples. done must run after the write, because callers may use
	// the UIDs at once.
	var given []assigned
	flush := func() error {
		if _, err := a.store.Add(ctx, triples); err != nil {
			// It is not known what was written, so the numbers must be read again.
			a.forget()
			return fmt.Errorf("write the UIDs of %d pages: %w", len(given), err)
		}
		err := done(given)
		triples, given = triples[:0], given[:0]
		return err
	}
	// The first page of an extent also writes the host of the extent.
	for _, r := range runs {
		if r.first.Page() == 0 {
			triples = append(triples, links.HostTriple(r.first.Extent(), r.pages[0].key))
		}
		for i, p := range r.pages {
			u := r.first + uid.UID(i)
			triples = append(triples, links.UIDTriple(p.url, u))
			given = append(given, assigned{p.url, u})
			if len(triples) >= assignBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// forget drops the numbers in use: they are read from the store again.
func (a *assigner) forget() { a.slots, a.hosts = nil, 0 }

// numbered is pages of one host with consecutive UIDs, from first on.
type numbered struct {
	first uid.UID
	pages []keyed
}

// number finds UIDs for pages. If the caller does not write them, it must call forget.
func (a *assigner) number(ctx context.Context, urls []string) (runs []numbered, err error) {
	a.rounds++
	// 1. Sort by slot and host, because a host's numbers are taken together.
	pages := make([]keyed, len(urls))
	for i, url := range urls {
		key := weburl.HostKey(url)
		pages[i] = keyed{uid.SlotOf(key), key, url}
	}
	slices.SortFunc(pages, keyed.compare)
	// 2. Take the numbers. If one slot fails, all are read again from the store.
	used := &usedUIDs{ctx: ctx, store: a.store}
	defer func() {
		if err = errors.Join(err, used.close()); err != nil {
			a.forget()
		}
	}()
	for len(pages) > 0 {
		n := 1
		for n < len(pages) && pages[n].key == pages[0].key {
			n++
		}
		host := pages[:n]
		pages = pages[n:]
		taken, err := a.take(used, host[0].slot, host[0].key, uint64(n))
		if err != nil {
			return nil, err
		}
		for _, run := range taken {
			runs = append(runs, numbered{run.First, host[:run.Count]})
			host = host[run.Count:]
		}
	}
	return runs, nil
}

// keyed is a page with its slot and host.
type keyed struct {
	slot     uid.Slot
	key, url string
}

func (k keyed) compare(other keyed) int {
	if k.slot != other.slot {
		return int(k.slot) - int(other.slot)
	}
	if k.key != other.key {
		if k.key < other.key {
			return -1
		}
		return 1
	}
	switch {
	case k.url < other.url:
		return -1
	case k.url > other.url:
		return 1
	}
	return 0
}

// take takes numbers for pages of a host.
func (a *assigner) take(used *usedUIDs, slot uid.Slot, key string, n uint64) ([]uid.Run, error) {
	allocator, err := a.allocator(used, slot)
	if err != nil {
		return nil, err
	}
	for {
		runs, err := allocator.Assign(key, n)
		if !errors.Is(err, uid.ErrNeedGrant) {
			return runs, err
		}
		// This machine is alone, so all grants are its own, in their order.
		grant, err := uid.NextGrant(allocator.Grants())
		if err == nil {
			err = allocator.Grant(grant)
		}
		if err != nil {
			return nil, fmt.Errorf("slot %d: %w", slot, err)
		}
	}
}

// usedUIDs reads the UIDs in use. It opens the snapshot at its first use.
type usedUIDs struct {
	ctx      context.Context
	store    *store.Store
	snapshot *store.Snapshot
	rows     *store.Rows
}

// each calls do with the pages of a slot.
func (r *usedUIDs) each(slot uid.Slot, do func(page) error) error {
	if r.snapshot == nil {
		sn, err := r.store.Snapshot()
		if err != nil {
			return err
		}
		r.snapshot = sn
		keys, err := uidRange(uid.AllSlots.Range())
		if err != nil {
			return err
		}
		if r.rows, err = sn.Rows(r.ctx, keys); err != nil {
			return err
		}
	}
	return eachPageOf(r.rows, uid.Slots{First: slot, Last: slot}.Range(), do)
}

func (r *usedUIDs) close() (err error) {
	if r.rows != nil {
		err = r.rows.Close()
	}
	if r.snapshot != nil {
		err = errors.Join(err, r.snapshot.Close())
	}
	return err
}

// allocator returns the allocator of a slot, restored from the store.
func (a *assigner) allocator(used *usedUIDs, slot uid.Slot) (*uid.Allocator, error) {
	// 1. Use the cached one. If there are too many hosts, all are dropped.
	if found := a.slots[slot]; found != nil {
		return found, nil
	}
	if a.slots == nil || a.hosts > maxHosts {
		a.slots, a.hosts = map[uid.Slot]*uid.Allocator{}, 0
	}
	type host struct {
		key  string
		last uid.UID
	}
	// 2. Read the last UID of each extent in use.
	var hosts []host
	err := used.each(slot, func(p page) error {
		if n := len(hosts); n > 0 && hosts[n-1].last.Extent() == p.uid.Extent() {
			hosts[n-1].last = p.uid
			return nil
		}
		hosts = append(hosts, host{weburl.HostKey(string(p.url)), p.uid})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the UIDs of slot %d: %w", slot, err)
	}
	// 3. Grants are taken in order, so the greatest host determines the grants in use.
	grants := []uid.Grant{0}
	if n := len(hosts); n > 0 {
		for g := uid.Grant(1); g <= uid.GrantOf(hosts[n-1].last.Host()) && g > 0; g++ {
			grants = append(grants, g)
		}
	}
	allocator := uid.NewAllocator(slot, grants...)
	for _, h := range hosts {
		if err := allocator.Restore(h.key, h.last); err != nil {
			return nil, fmt.Errorf("restore slot %d: %w", slot, err)
		}
	}
	a.slots[slot] = allocator
	a.hosts += len(hosts) + 1
	return allocator, nil
}
