// This file holds the allocator of one slot: which host has which extent.

package uid

import "strings"

// Allocator gives UIDs to the pages of one slot's hosts, for one assigner. It
// is the [Numbers] of the slot and, for each host key, the extent that the
// host's next page is in; some 100 bytes a host. It is not safe for concurrent
// use.
type Allocator struct {
	numbers *Numbers
	// hosts are the host numbers in which hosts go on. Invariant: each is of a
	// grant held, and in use.
	hosts map[string]uint32
}

// NewAllocator returns an allocator of a slot in which no number is in use, for
// an assigner with these grants, which are used up in the order given.
func NewAllocator(slot Slot, grants ...Grant) *Allocator {
	return &Allocator{numbers: NewNumbers(slot, grants...), hosts: make(map[string]uint32)}
}

// Grant adds a grant, after [ErrNeedGrant]. The error is [ErrLateGrant], see
// [Numbers.Grant].
func (a *Allocator) Grant(g Grant) error { return a.numbers.Grant(g) }

// Slot returns the slot that the allocator is of.
func (a *Allocator) Slot() Slot { return a.numbers.Slot() }

// Grants returns how many grants are held.
func (a *Allocator) Grants() int { return len(a.numbers.blocks) }

// Restore says that a host's page has the UID u: the highest UID of each of a
// host's extents is enough, all of them in any order does no harm. What was
// restored with the same grants in the same order gives the same UIDs out as
// the allocator that it was stored from. The errors are those of
// [Numbers.Restore].
func (a *Allocator) Restore(hostKey string, u UID) error {
	if err := a.numbers.Restore(u); err != nil {
		return err
	}
	// An earlier extent of the host is full: the last one opened goes on.
	if a.numbers.Owns(u.Extent()) && a.numbers.rank(u.Host()) > a.numbers.rank(a.hosts[hostKey]) {
		a.hosts[strings.Clone(hostKey)] = u.Host()
	}
	return nil
}

// Assign gives UIDs to count further pages of a host. They ascend where grants
// ascend; a caller who has the pages sorted gives them the UIDs in this order.
// Either all are given or, with an error, none: [ErrNeedGrant] and
// [ErrSlotFull]. It keeps a copy of hostKey.
func (a *Allocator) Assign(hostKey string, count uint64) ([]Run, error) {
	var current Extent
	if host := a.hosts[hostKey]; host != 0 {
		current = MakeExtent(a.numbers.slot, host)
	}
	runs, err := a.numbers.Take(current, count)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	if last := runs[len(runs)-1].First.Host(); last != current.Host() {
		a.hosts[strings.Clone(hostKey)] = last
	}
	return runs, nil
}
