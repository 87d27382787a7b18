// Giving UIDs to pages.

package links

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// assigner gives UIDs, and writes them before anybody gets to know them. Its lock is
// the keeper's: one goroutine at a time uses it.
//
// What is in use is read from the store, slot by slot, when a page of the slot first
// needs a number. All writes of a process that has ended have landed or never will, as
// the store is this process's alone; so numbers go on where the store says.
type assigner struct {
	store *node.Store
	slots map[uid.Slot]*uid.Allocator
	hosts int // in all allocators, about
	// rounds is how often UIDs were given, or may have been.
	rounds int
}

const (
	// maxHosts bounds what is kept of slots: some 100 bytes a host.
	maxHosts = 1 << 20
	// assignBatch is how many triples are written at a time.
	assignBatch = 20_000
)

// assigned is a page that has got a UID.
type assigned struct {
	url string
	uid uid.UID
}

// assign gives UIDs to pages, which have none, and are all different, in an order of
// its own: that of hosts and URLs. They are durable when it calls done, with some of
// them at a time.
func (a *assigner) assign(ctx context.Context, urls []string, done func([]assigned) error) error {
	runs, err := a.number(ctx, urls)
	if err != nil {
		return err
	}
	var triples []triple.Triple
	var given []assigned
	flush := func() error {
		if _, err := a.store.Add(ctx, triples); err != nil {
			// What has been written and what has not is not known: it is read again.
			a.forget()
			return fmt.Errorf("write the UIDs of %d pages: %w", len(given), err)
		}
		err := done(given)
		triples, given = triples[:0], given[:0]
		return err
	}
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

// forget has what is in use read from the store again.
func (a *assigner) forget() { a.slots, a.hosts = nil, 0 }

// numbered is pages of one host that have UIDs, one after the other, from first on.
type numbered struct {
	first uid.UID
	pages []keyed
}

// number finds UIDs for pages. Whoever does not write them must forget.
func (a *assigner) number(ctx context.Context, urls []string) (runs []numbered, err error) {
	a.rounds++
	pages := make([]keyed, len(urls))
	for i, url := range urls {
		key := weburl.HostKey(url)
		pages[i] = keyed{uid.SlotOf(key), key, url}
	}
	slices.SortFunc(pages, keyed.compare)
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

// keyed is a page and where it belongs.
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
		// This machine is the only one: all grants are its own, in their order.
		grant, err := uid.NextGrant(allocator.Grants())
		if err == nil {
			err = allocator.Grant(grant)
		}
		if err != nil {
			return nil, fmt.Errorf("slot %d: %w", slot, err)
		}
	}
}

// usedUIDs reads the UIDs that are in use. It opens the store when it is first asked.
type usedUIDs struct {
	ctx      context.Context
	store    *node.Store
	snapshot *node.Snapshot
	rows     *node.Rows
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

// allocator returns the numbers of a slot, as the store has them.
func (a *assigner) allocator(used *usedUIDs, slot uid.Slot) (*uid.Allocator, error) {
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
