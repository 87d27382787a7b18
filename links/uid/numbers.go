// This file holds the arithmetic of giving numbers out: grants, and the extents
// of one slot that an assigner has opened.

package uid

import (
	"errors"
	"fmt"
)

// GrantHosts is how many host numbers of each slot a grant is; the last grant
// has one less.
const GrantHosts = 64

// NumGrants is how many grants there are.
const NumGrants = (MaxHost + GrantHosts) / GrantHosts

var (
	// ErrNeedGrant says that the grants held have no host number left in the
	// slot: the assigner must get another one.
	ErrNeedGrant = errors.New("the granted host numbers of the slot are used up: a further grant is needed")
	// ErrSlotFull says that every host number of the slot is in use.
	ErrSlotFull = errors.New("all host numbers of the slot are used up")
	// ErrNoGrants says that there is no grant left to give.
	ErrNoGrants = errors.New("all grants have been given out")
	// ErrLateGrant says that UIDs of a grant were restored before it was held.
	ErrLateGrant = errors.New("UIDs of the grant are in use, and were restored before the grant was held")
	// ErrOtherSlot says that a UID is not of the slot that it was used with.
	ErrOtherSlot = errors.New("the UID is of another slot")
)

// Grant is the right to use some host numbers of every slot, see the package
// comment. All values are grants, from 0 to [NumGrants] - 1.
type Grant uint16

// Hosts returns the least and the greatest host number of the grant.
func (g Grant) Hosts() (first, last uint32) {
	return 1 + GrantHosts*uint32(g), min(GrantHosts*(uint32(g)+1), MaxHost)
}

// GrantOf returns the grant that a host number, 1 to [MaxHost], is of.
func GrantOf(host uint32) Grant { return Grant((host - 1) / GrantHosts) }

// NextGrant returns the grant to give out after so many have been: the giver
// only has to keep their count. The error is [ErrNoGrants].
func NextGrant(given int) (Grant, error) {
	if given < 0 || given >= NumGrants {
		return 0, fmt.Errorf("uid: give out grant %d of %d: %w", given, NumGrants, ErrNoGrants)
	}
	return Grant(given), nil
}

// Run is consecutive UIDs of one extent: First, First + 1, ... as many as Count
// says, which is 1 or more.
type Run struct {
	First UID
	Count uint32
}

// Numbers is which numbers of a slot one assigner has used: 4 bytes for each
// extent, in blocks of a grant. It knows extents, not hosts. It is not safe for
// concurrent use.
type Numbers struct {
	slot Slot
	// blocks are the grants held, in the order in which they are used up; place
	// is where a grant is among them.
	blocks []block
	place  map[Grant]int
	// foreign are the grants not held of which UIDs were restored.
	foreign map[Grant]struct{}
	// free is how many host numbers of the grants are not in use.
	free int
	// at and ahead: every host number before place ahead of blocks[at] is in use.
	at, ahead int
}

// block is the host numbers of one grant.
type block struct {
	grant Grant
	// pages are how many pages of each host number are in use, 2^28 at most: none
	// of a host number that is not in use. It is nil until one is.
	pages *[GrantHosts]uint32
}

// NewNumbers returns the numbers of a slot, none in use, for an assigner with
// these grants. It keeps nothing of grants. Grants are used up in the order in
// which they are held.
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

// Grant adds a grant, behind those that are held. One that is held stays where
// it is. UIDs of the grant that are in use can be restored from now on only:
// where that has happened already, the error is [ErrLateGrant] and the grant is
// not added.
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

// pages returns how many pages of a host number, which must be of a grant held,
// are in use.
func (n *Numbers) pages(host uint32) uint32 {
	b := n.blocks[n.place[GrantOf(host)]]
	if b.pages == nil {
		return 0
	}
	return b.pages[(host-1)%GrantHosts]
}

// setPages says that so many pages, 1 or more, of a host number, which must be
// of a grant held, are in use.
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

// Slot returns the slot that the numbers are of.
func (n *Numbers) Slot() Slot { return n.slot }

// Owns reports whether an extent is of this slot and of a grant held.
func (n *Numbers) Owns(e Extent) bool {
	if e.Slot() != n.slot || e.Host() == 0 {
		return false
	}
	_, held := n.place[GrantOf(e.Host())]
	return held
}

// Restore says that u is in use, and with it all lower pages of its extent: the
// highest UID of each extent is enough, and all in any order does no harm. UIDs
// of grants that are not held use up nothing. The error is [ErrOtherSlot], or
// wraps [ErrSyntax] where u is no UID.
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

// Room returns how many pages an extent has left for this assigner: none if it
// is not one of its own.
func (n *Numbers) Room(e Extent) uint32 {
	if !n.Owns(e) {
		return 0
	}
	return ExtentPages - n.pages(e.Host())
}

// Take uses count pages of a host and returns them: first what is left of the
// host's current extent, then of as many further extents as it takes. The host
// has the extent of the last run then. current is 0 for a host that has none;
// one that the assigner does not own is left alone, as is one that was never
// opened.
//
// Either all the pages are taken or, with an error, none: [ErrNeedGrant], or
// [ErrSlotFull] where all grants are held. Take takes time and memory for each
// extent, not for each page.
func (n *Numbers) Take(current Extent, count uint64) ([]Run, error) {
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

// use uses so many pages of a host number, for which it must have room.
func (n *Numbers) use(host, pages uint32) Run {
	used := n.pages(host)
	n.setPages(host, used+pages)
	return Run{First: Make(n.slot, host, used), Count: pages}
}

// unused returns the first host number that is not in use. There must be one.
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

// rank orders the host numbers of the grants held as they are opened, from 1; 0
// is the rank of no host number.
func (n *Numbers) rank(host uint32) int {
	if host == 0 {
		return 0
	}
	return 1 + n.place[GrantOf(host)]*GrantHosts + int((host-1)%GrantHosts)
}
