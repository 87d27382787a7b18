// Assigning UIDs to pages.

package assign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// allocators assign UIDs, and write them before any caller sees them. One goroutine at a time
// may use them: it has the lock assigning.
//
// When a page of a slot first needs a number, the numbers in use are read from the store. On a
// lone node, writes of an earlier process have landed or never will, because the store belongs to
// this process alone. In a cluster see Assigner. So numbers continue from those in the store.
type allocators struct {
	*machine.Machine
	slots map[uid.Slot]*uid.Allocator
	hosts int // in all allocators, about
	// rounds is the number of times that UIDs were assigned, or may have been.
	rounds int
	// pending has the UIDs of pages whose write has an unknown outcome in this epoch. The write may
	// still be committed, so the page must get the same UID, and no other page may get it.
	pending map[string]uid.UID
	marked  atomic.Bool // the store is known to have the mark
}

const (
	// maxHosts bounds the memory of slots: some 100 bytes a host.
	maxHosts = 1 << 20
	// assignBatch is the number of triples in one write.
	assignBatch = 20_000
)

// Assigned is a page with its new UID.
type Assigned struct {
	URL string
	UID uid.UID
}

// assign assigns UIDs to pages. They must be distinct and have none. It orders them by host and
// URL. It calls done with some of them at a time, when these are durable.
func (a *allocators) assign(ctx context.Context, urls []string, done func([]Assigned) error) error {
	if err := a.mark(ctx); err != nil {
		return err
	}
	again, urls := a.takePending(urls)
	runs, err := a.number(ctx, urls)
	if err != nil {
		return err
	}
	runs = append(runs, again...)
	var triples []triple.Triple
	// flush writes the pending triples. done must run after the write, because callers may use
	// the UIDs at once.
	var given []Assigned
	flush := func() error {
		if _, err := store.Add(ctx, a.Node, triples); err != nil {
			a.unsure(runs)
			return fmt.Errorf("write the UIDs of %d pages: %w", len(given), err)
		}
		err := done(given)
		triples, given = triples[:0], given[:0]
		return err
	}
	// The first page of an extent also writes the host of the extent.
	for _, r := range runs {
		if r.First.Page() == 0 {
			triples = append(triples, links.HostTriple(r.First.Extent(), r.Pages[0].Key))
		}
		for i, p := range r.Pages {
			u := r.First + uid.UID(i)
			triples = append(triples, links.UIDTriple(p.URL, u))
			given = append(given, Assigned{p.URL, u})
			if len(triples) >= assignBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

// mark writes that the store has UIDs, before the first of them. CLEAR ALL leaves UIDs, and no read of a
// client has them, so a restore looks for the mark.
func (a *allocators) mark(ctx context.Context) error {
	if a.marked.Load() {
		return nil
	}
	r, err := a.Node.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	mark, err := r.Annotation(ctx, systemgraph.PrefixRow, systemgraph.Links)
	if err == nil && mark == nil {
		if _, err = store.Add(ctx, a.Node, []triple.Triple{systemgraph.PrefixRow}); err == nil {
			err = store.Annotate(ctx, a.Node, systemgraph.PrefixRow, systemgraph.Links, []byte("1"))
		}
	}
	if err != nil {
		return fmt.Errorf("mark that the store has UIDs of pages: %w", err)
	}
	a.marked.Store(true)
	return nil
}

// unsure records that it is not known which UIDs were written. A lone store writes nothing more after
// such an error, or has written nothing, so the numbers are read again.
func (a *allocators) unsure(runs []Numbered) {
	if a.Node.Lone() != nil {
		a.forget()
		return
	}
	if a.pending == nil {
		a.pending = map[string]uid.UID{}
	}
	for _, r := range runs {
		for i, p := range r.Pages {
			a.pending[p.URL] = r.First + uid.UID(i)
		}
	}
}

// takePending returns the pages with pending UIDs as runs of one page, and the rest of the pages.
func (a *allocators) takePending(urls []string) (runs []Numbered, rest []string) {
	for _, url := range urls {
		u, ok := a.pending[url]
		if !ok {
			rest = append(rest, url)
			continue
		}
		key := weburl.HostKey(url)
		runs = append(runs, Numbered{u, []Keyed{{uid.SlotOf(key), key, url}}})
	}
	return runs, rest
}

// forget drops the numbers in use: they are read from the store again.
func (a *allocators) forget() { a.slots, a.hosts, a.pending = nil, 0, nil }

// Numbered is pages of one host with consecutive UIDs, from first on.
type Numbered struct {
	First uid.UID
	Pages []Keyed
}

// number finds UIDs for pages. If the caller does not write them, it must call forget.
func (a *allocators) number(ctx context.Context, urls []string) (runs []Numbered, err error) {
	a.rounds++
	// 1. Sort by slot and host, because a host's numbers are taken together.
	pages := make([]Keyed, len(urls))
	for i, url := range urls {
		key := weburl.HostKey(url)
		pages[i] = Keyed{uid.SlotOf(key), key, url}
	}
	slices.SortFunc(pages, Keyed.compare)
	// 2. Take the numbers. If one slot fails, those of the others stay unused.
	for len(pages) > 0 {
		n := 1
		for n < len(pages) && pages[n].Key == pages[0].Key {
			n++
		}
		host := pages[:n]
		pages = pages[n:]
		taken, err := a.take(ctx, host[0].Slot, host[0].Key, uint64(n))
		if err != nil {
			return nil, err
		}
		for _, run := range taken {
			runs = append(runs, Numbered{run.First, host[:run.Count]})
			host = host[run.Count:]
		}
	}
	return runs, nil
}

// Keyed is a page with its slot and host.
type Keyed struct {
	Slot     uid.Slot
	Key, URL string
}

func (k Keyed) compare(other Keyed) int {
	if k.Slot != other.Slot {
		return int(k.Slot) - int(other.Slot)
	}
	if k.Key != other.Key {
		if k.Key < other.Key {
			return -1
		}
		return 1
	}
	switch {
	case k.URL < other.URL:
		return -1
	case k.URL > other.URL:
		return 1
	}
	return 0
}

// take takes numbers for pages of a host.
func (a *allocators) take(ctx context.Context, slot uid.Slot, key string, n uint64) ([]uid.Run, error) {
	allocator, err := a.allocator(ctx, slot)
	if err != nil {
		return nil, err
	}
	for {
		runs, err := allocator.Assign(key, n)
		if !errors.Is(err, uid.ErrNeedGrant) {
			return runs, err
		}
		// No other machine assigns numbers of this slot, so grants are taken in their order.
		grant, err := uid.NextGrant(allocator.Grants())
		if err == nil {
			err = allocator.Grant(grant)
		}
		if err != nil {
			return nil, fmt.Errorf("slot %d: %w", slot, err)
		}
	}
}

// allocator returns the allocator of a slot, restored from the store.
func (a *allocators) allocator(ctx context.Context, slot uid.Slot) (*uid.Allocator, error) {
	// 1. Use the cached one. If there are too many hosts, all are dropped.
	if found := a.slots[slot]; found != nil {
		return found, nil
	}
	if a.slots == nil || a.hosts > maxHosts && len(a.pending) == 0 {
		a.slots, a.hosts = map[uid.Slot]*uid.Allocator{}, 0
	}
	// 2. In a cluster, restore all slots of the partition, because each read is a message to others.
	slots := uid.Slots{First: slot, Last: slot}
	if a.Node.Lone() == nil {
		slots.First = slot / machine.PartitionSlots * machine.PartitionSlots
		slots.Last = slots.First + machine.PartitionSlots - 1
	}
	if err := a.restore(ctx, slots); err != nil {
		return nil, fmt.Errorf("read the UIDs of slot %d: %w", slot, err)
	}
	return a.slots[slot], nil
}

// restore makes the allocators of slots from the UIDs in the store.
func (a *allocators) restore(ctx context.Context, slots uid.Slots) error {
	r, err := a.Node.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	// 1. Read the last UID of each extent in use.
	type host struct {
		key  string
		last uid.UID
	}
	hosts := map[uid.Slot][]host{}
	err = pagerows.EachPage(ctx, r.Source(), slots.Range(), func(p pagerows.Page) error {
		of := hosts[p.UID.Slot()]
		if n := len(of); n > 0 && of[n-1].last.Extent() == p.UID.Extent() {
			of[n-1].last = p.UID
			return nil
		}
		hosts[p.UID.Slot()] = append(of, host{weburl.HostKey(string(p.URL)), p.UID})
		return nil
	})
	if err != nil {
		return err
	}
	// 2. Grants are taken in order, so the greatest host determines the grants in use.
	for slot := slots.First; ; slot++ {
		of := hosts[slot]
		grants := []uid.Grant{0}
		if n := len(of); n > 0 {
			for g := uid.Grant(1); g <= uid.GrantOf(of[n-1].last.Host()) && g > 0; g++ {
				grants = append(grants, g)
			}
		}
		allocator := uid.NewAllocator(slot, grants...)
		for _, h := range of {
			if err := allocator.Restore(h.key, h.last); err != nil {
				return fmt.Errorf("restore slot %d: %w", slot, err)
			}
		}
		a.slots[slot] = allocator
		a.hosts += len(of) + 1
		if slot == slots.Last {
			return nil
		}
	}
}
