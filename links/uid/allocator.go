// The allocator of one slot: the extents of its hosts.

package uid

import "strings"

// Allocator assigns UIDs to the pages of one slot's hosts, for one assigner. It has the [Numbers]
// of the slot and, for each host key, the extent of the host's next page. It takes some 100 bytes
// a host. It is not safe for concurrent use.
type Allocator struct {
	numbers *Numbers
	// hosts are the current host numbers of hosts. Invariant: each is of a held grant, and in
	// use.
	hosts map[string]uint32
}

// NewAllocator returns an allocator of a slot without used numbers, for an assigner with these
// grants. Grants are used up in the given order.
func NewAllocator(slot Slot, grants ...Grant) *Allocator {
	return &Allocator{numbers: NewNumbers(slot, grants...), hosts: make(map[string]uint32)}
}

// Grant adds a grant. It must be called after [ErrNeedGrant]. The error is [ErrLateGrant], see
// [Numbers.Grant].
func (a *Allocator) Grant(g Grant) error { return a.numbers.Grant(g) }

// Grants returns the number of held grants.
func (a *Allocator) Grants() int { return len(a.numbers.blocks) }

// Restore records that a host's page has the UID u. The highest UID of each of a host's extents
// is enough; all of them in any order do no harm. If the grants and their order are the same, a
// restored allocator assigns the same UIDs as the original one. The errors are those of
// [Numbers.Restore].
func (a *Allocator) Restore(hostKey string, u UID) error {
	if err := a.numbers.Restore(u); err != nil {
		return err
	}
	// The last opened extent is the current one, because earlier extents of the host are full.
	if a.numbers.Owns(u.Extent()) && a.numbers.rank(u.Host()) > a.numbers.rank(a.hosts[hostKey]) {
		a.hosts[strings.Clone(hostKey)] = u.Host()
	}
	return nil
}

// Assign assigns UIDs to count further pages of a host. They ascend if grants ascend. So if the
// caller's pages are sorted, it should assign them in this order. If there is an error, none are
// assigned: [ErrNeedGrant] or [ErrSlotFull]. It keeps a copy of hostKey.
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
