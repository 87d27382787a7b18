// The arithmetic of assigning numbers: grants, and the opened extents of one slot.

package uid

import (
	"errors"
	"fmt"
)

// GrantHosts is the number of host numbers of each slot in a grant. The last grant has one less.
const GrantHosts = 64

// NumGrants is the number of grants.
const NumGrants = (MaxHost + GrantHosts) / GrantHosts

var (
	// ErrNeedGrant is wrapped if the held grants have no host number left in the slot. The
	// assigner must get another one.
	ErrNeedGrant = errors.New("the granted host numbers of the slot are used up: a further grant is needed")
	// ErrSlotFull is wrapped if every host number of the slot is in use.
	ErrSlotFull = errors.New("all host numbers of the slot are used up")
	// ErrNoGrants is wrapped if no grant is left.
	ErrNoGrants = errors.New("all grants have been given out")
	// ErrLateGrant is wrapped if UIDs of a grant were restored before it was held.
	ErrLateGrant = errors.New("UIDs of the grant are in use, and were restored before the grant was held")
	// ErrOtherSlot is wrapped if a UID is used with another slot than its own.
	ErrOtherSlot = errors.New("the UID is of another slot")
)

// Grant is the right to use some host numbers of every slot, see the package comment. All values
// from 0 to [NumGrants] - 1 are grants.
type Grant uint16

// Hosts returns the smallest and the largest host number of the grant.
func (g Grant) Hosts() (first, last uint32) {
	return 1 + GrantHosts*uint32(g), min(GrantHosts*(uint32(g)+1), MaxHost)
}

// GrantOf returns the grant of a host number. host must be 1 to [MaxHost].
func GrantOf(host uint32) Grant { return Grant((host - 1) / GrantHosts) }

// NextGrant returns the next grant, if given have been given out before. So only this count must
// be stored. The error is [ErrNoGrants].
func NextGrant(given int) (Grant, error) {
	if given < 0 || given >= NumGrants {
		return 0, fmt.Errorf("uid: give out grant %d of %d: %w", given, NumGrants, ErrNoGrants)
	}
	return Grant(given), nil
}

// Run is consecutive UIDs of one extent: First, First + 1, ... up to First + Count - 1. Count is
// 1 or more.
type Run struct {
	First UID
	Count uint32
}

// Numbers records the used numbers of a slot for one assigner. It takes 4 bytes for each extent,
// in blocks of a grant. It has extents, not hosts. It is not safe for concurrent use.
type Numbers struct {
	slot Slot
	// blocks are the held grants, in the order of their use. place has the index of each grant in
	// blocks.
	blocks []block
	place  map[Grant]int
	// foreign are grants with restored UIDs that are not held.
	foreign map[Grant]struct{}
	// free is the number of unused host numbers of the grants.
	free int
	// at and ahead: every host number before index ahead of blocks[at] is in use.
	at, ahead int
}

// block is the host numbers of one grant.
type block struct {
	grant Grant
	// pages has the number of used pages of each host number, 2^28 at most. It is 0 if the host
	// number is not in use. It is nil until one is.
	pages *[GrantHosts]uint32
}

// NewNumbers returns the numbers of a slot, none in use, for an assigner with these grants. It
// does not keep grants. Grants are used up in the given order.
func NewNumbers(slot Slot, grants ...Grant) *Numbers {
	n := &Numbers{
		slot:    slot,
		place:   make(map[Grant]int),
		foreign: make(map[Grant]struct{}),
	}
	for _, g := range grants {
		n.add(g)
	}
	return n
}

// Grant adds a grant behind the held ones. If it is held already, nothing changes. Used UIDs of
// the grant must be restored after this call. If some were restored before, the error is
// [ErrLateGrant] and the grant is not added.
func (n *Numbers) Grant(g Grant) error {
	if _, late := n.foreign[g]; late {
		return fmt.Errorf("uid: add grant %d in slot %d: %w", g, n.slot, ErrLateGrant)
	}
	n.add(g)
	return nil
}

func (n *Numbers) add(g Grant) {
	if _, held := n.place[g]; held {
		return
	}
	n.place[g] = len(n.blocks)
	n.blocks = append(n.blocks, block{grant: g})
	first, last := g.Hosts()
	n.free += int(last-first) + 1
}

// pages returns the number of used pages of a host number. The number must be of a held grant.
func (n *Numbers) pages(host uint32) uint32 {
	b := n.blocks[n.place[GrantOf(host)]]
	if b.pages == nil {
		return 0
	}
	return b.pages[(host-1)%GrantHosts]
}

// setPages sets the number of used pages of a host number. pages must be 1 or more, and host must
// be of a held grant.
func (n *Numbers) setPages(host, pages uint32) {
	b := &n.blocks[n.place[GrantOf(host)]]
	if b.pages == nil {
		b.pages = new([GrantHosts]uint32)
	}
	at := &b.pages[(host-1)%GrantHosts]
	if *at == 0 {
		n.free--
	}
	*at = pages
}

// Slot returns the slot of the numbers.
func (n *Numbers) Slot() Slot { return n.slot }

// Owns reports whether an extent is of this slot and of a held grant.
func (n *Numbers) Owns(e Extent) bool {
	if e.Slot() != n.slot || e.Host() == 0 {
		return false
	}
	_, held := n.place[GrantOf(e.Host())]
	return held
}

// Restore records that u is in use, with all lower pages of its extent. The highest UID of each
// extent is enough; all in any order do no harm. If the grant of a UID is not held, it uses up
// nothing. The error is [ErrOtherSlot], or wraps [ErrSyntax] if u is no UID.
func (n *Numbers) Restore(u UID) error {
	if !u.Valid() {
		return fmt.Errorf("uid: restore %s in slot %d: %w: its host number is 0", u, n.slot, ErrSyntax)
	}
	if u.Slot() != n.slot {
		return fmt.Errorf("uid: restore %s, which is of slot %d, in slot %d: %w", u, u.Slot(), n.slot, ErrOtherSlot)
	}
	if !n.Owns(u.Extent()) {
		n.foreign[GrantOf(u.Host())] = struct{}{}
		return nil
	}
	n.setPages(u.Host(), max(n.pages(u.Host()), u.Page()+1))
	return nil
}

// Room returns the number of pages left in an extent for this assigner. It is 0 if the assigner
// does not own the extent.
func (n *Numbers) Room(e Extent) uint32 {
	if !n.Owns(e) {
		return 0
	}
	return ExtentPages - n.pages(e.Host())
}

// Take uses count pages of a host and returns them. First it uses the rest of the host's current
// extent, then further extents if needed. The extent of the last run must be the host's current
// one afterwards. current is 0 if the host has none. Take does not use current if the assigner
// does not own it, or if it was never opened.
//
// If there is an error, no pages are taken. The error is [ErrNeedGrant], or [ErrSlotFull] if all
// grants are held. Take needs time and memory for each extent, not for each page.
func (n *Numbers) Take(current Extent, count uint64) ([]Run, error) {
	// 1. Count the new extents first, because either all pages are taken or none.
	here := uint64(0)
	if n.Owns(current) && n.pages(current.Host()) > 0 {
		here = min(uint64(n.Room(current)), count)
	}
	rest := count - here
	extents := rest / ExtentPages
	if rest%ExtentPages > 0 {
		extents++
	}
	if extents > uint64(n.free) {
		err := ErrNeedGrant
		if len(n.blocks) == NumGrants {
			err = ErrSlotFull
		}
		return nil, fmt.Errorf("uid: number %d pages of a host in slot %d: %w", count, n.slot, err)
	}
	if count == 0 {
		return nil, nil
	}
	// 2. Use the rest of the current extent, then new ones. From here on nothing can fail.
	runs := make([]Run, 0, extents+1)
	if here > 0 {
		runs = append(runs, n.use(current.Host(), uint32(here)))
	}
	for rest > 0 {
		pages := uint32(min(rest, ExtentPages))
		runs = append(runs, n.use(n.unused(), pages))
		rest -= uint64(pages)
	}
	return runs, nil
}

// use uses a number of pages of a host number. The host number must have room for them.
func (n *Numbers) use(host, pages uint32) Run {
	used := n.pages(host)
	n.setPages(host, used+pages)
	return Run{First: Make(n.slot, host, used), Count: pages}
}

// unused returns the first unused host number. There must be one.
func (n *Numbers) unused() uint32 {
	for ; n.at < len(n.blocks); n.at, n.ahead = n.at+1, 0 {
		first, last := n.blocks[n.at].grant.Hosts()
		for ; first+uint32(n.ahead) <= last; n.ahead++ {
			if host := first + uint32(n.ahead); n.pages(host) == 0 {
				return host
			}
		}
	}
	return 0
}

// rank orders the host numbers of held grants in the order of their opening, from 1. It returns 0
// if host is 0.
func (n *Numbers) rank(host uint32) int {
	if host == 0 {
		return 0
	}
	return 1 + n.place[GrantOf(host)]*GrantHosts + int((host-1)%GrantHosts)
}
