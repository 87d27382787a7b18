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
// them at a time. It sorts urls.
func (a *assigner) assign(ctx context.Context, urls []string, done func([]assigned) error) error {
	pages := make([]keyed, len(urls))
	for i, url := range urls {
		key := weburl.HostKey(url)
		pages[i] = keyed{uid.SlotOf(key), key, url}
	}
	slices.SortFunc(pages, keyed.compare)
	var triples []triple.Triple
	var given []assigned
	flush := func() error {
		if _, err := a.store.Add(ctx, triples); err != nil {
			// What has been written and what has not is not known: it is read again.
			a.slots, a.hosts = nil, 0
			return fmt.Errorf("write the UIDs of %d pages: %w", len(given), err)
		}
		err := done(given)
		triples, given = triples[:0], given[:0]
		return err
	}
	for len(pages) > 0 {
		n := 1
		for n < len(pages) && pages[n].key == pages[0].key {
			n++
		}
		host := pages[:n]
		pages = pages[n:]
		runs, err := a.take(ctx, host[0].slot, host[0].key, uint64(n))
		if err != nil {
			return err
		}
		for _, run := range runs {
			if run.First.Page() == 0 {
				triples = append(triples, links.HostTriple(run.First.Extent(), host[0].key))
			}
			for i := range run.Count {
				u := run.First + uid.UID(i)
				triples = append(triples, links.UIDTriple(host[i].url, u))
				given = append(given, assigned{host[i].url, u})
			}
			host = host[run.Count:]
			if len(triples) >= assignBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
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
func (a *assigner) take(ctx context.Context, slot uid.Slot, key string, n uint64) ([]uid.Run, error) {
	allocator, err := a.allocator(ctx, slot)
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

// allocator returns the numbers of a slot, as the store has them.
func (a *assigner) allocator(ctx context.Context, slot uid.Slot) (*uid.Allocator, error) {
	if found := a.slots[slot]; found != nil {
		return found, nil
	}
	if a.slots == nil || a.hosts > maxHosts {
		a.slots, a.hosts = map[uid.Slot]*uid.Allocator{}, 0
	}
	sn, err := a.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	type host struct {
		key  string
		last uid.UID
	}
	var hosts []host
	err = eachPage(ctx, sn, uid.Slots{First: slot, Last: slot}.Range(), func(p page) error {
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
