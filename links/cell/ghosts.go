// This file holds the ghosts: the pages of other cells that lists lead to.

package cell

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/links/lists/pef"
	"github.com/trefoildb/trefoil/links/uid"
)

// Ghosts is the targets of one direction that are no page of the cell, each once, by
// UID: ghost i is the i-th of them. It may be used by many goroutines at once.
type Ghosts struct {
	packing
	packed pef.Sequence
	// Ghosts below low are below the cell's range, those from high on above it. Those
	// between, if there are any, are of the range and no page.
	low, high uint32
}

// Len returns how many ghosts there are.
func (g *Ghosts) Len() int { return g.packed.Len() }

// UID returns the UID of a ghost; 0 for one that is not there.
func (g *Ghosts) UID(i uint32) uid.UID {
	if uint64(i) >= uint64(g.packed.Len()) {
		return 0
	}
	return g.unpack(g.packed.At(int(i)))
}

// putUIDs puts the UIDs of ghosts that are there into dst, which is as long.
func (g *Ghosts) putUIDs(dst []uid.UID, ghosts []uint32) {
	pef.Gather(&g.packed, dst, ghosts)
	p := g.packing
	for i, packed := range dst[:len(ghosts)] {
		dst[i] = p.unpack(uint64(packed))
	}
}

// split returns how many of some ghosts, which ascend, are below the cell's range; mixed
// is set where others are within it, between the cell's pages. It has no branch.
func (g *Ghosts) split(ghosts []uint32) (below int, mixed bool) {
	notAbove := 0
	for _, ghost := range ghosts {
		_, less := bits.Sub64(uint64(ghost), uint64(g.low), 0)
		below += int(less)
		_, less = bits.Sub64(uint64(ghost), uint64(g.high), 0)
		notAbove += int(less)
	}
	return below, notAbove != below
}

// Index returns the ghost that u is.
func (g *Ghosts) Index(u uid.UID) (uint32, bool) {
	packed, ok := g.pack(u)
	if !ok {
		return 0, false
	}
	i := g.packed.Search(packed)
	if i == g.packed.Len() || g.packed.At(i) != packed {
		return 0, false
	}
	return uint32(i), true
}

// below returns how many ghosts are below u.
func (g *Ghosts) below(u uid.UID) uint32 {
	lo, hi := 0, g.packed.Len()
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if g.unpack(g.packed.At(mid)) < u {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return uint32(lo)
}

// appendGhosts appends the section of these UIDs, which ascend strictly.
func appendGhosts(dst []byte, ghosts []uid.UID) []byte {
	var slot uid.Slot
	var maxHost, maxPage uint32
	if len(ghosts) > 0 {
		slot = ghosts[0].Slot()
	}
	for _, u := range ghosts {
		maxHost, maxPage = max(maxHost, u.Host()), max(maxPage, u.Page())
	}
	p := packingOf(slot, maxHost, maxPage)
	packed := make([]uint64, len(ghosts))
	for i, u := range ghosts {
		packed[i], _ = p.pack(u)
	}
	return pef.Append(p.appendTo(dst), packed)
}

// openGhosts verifies the section: UIDs that ascend strictly, at least as many as
// the lists need.
func openGhosts(b []byte, keys uid.Range, needed uint32) (Ghosts, error) {
	p, err := openPacking(b)
	if err != nil {
		return Ghosts{}, err
	}
	g := Ghosts{packing: p}
	used := 0
	if g.packed, used, err = pef.Open(b[packingLen:]); err != nil {
		return g, err
	}
	if packingLen+used != len(b) || uint64(g.packed.Len()) < uint64(needed) || uint64(g.packed.Len()) > math.MaxUint32 {
		return g, fmt.Errorf("%d ghosts in %d bytes, the lists have %d", g.packed.Len(), len(b), needed)
	}
	before := uint64(0) // packs to no UID: its host would be 0
	for i, packed := range g.packed.All() {
		if !g.fits(packed) || packed == before {
			return g, fmt.Errorf("ghost %d cannot be", i)
		}
		before = packed
	}
	g.low, g.high = g.below(keys.First), uint32(g.packed.Len())
	if keys.Last != math.MaxUint64 {
		g.high = g.below(keys.Last + 1)
	}
	return g, nil
}
