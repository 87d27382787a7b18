// Ghosts: the dictionary of links' targets outside the cell.

package cell

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/uid"
)

// Ghosts holds the targets of one direction that are no page of the cell, each once, by UID.
// Ghost i is the i-th of them. It is safe for concurrent use.
type Ghosts struct {
	packing
	packed ef.Parts
	// Ghosts below low are below the cell's range, and ghosts from high on are above it. Any
	// between are in the range, but no page of the cell.
	low, high uint32
}

// Len returns the number of ghosts.
func (g *Ghosts) Len() int { return g.packed.Len() }

// UID returns the UID of a ghost, or 0 if there is no such ghost.
func (g *Ghosts) UID(i uint32) uid.UID {
	if uint64(i) >= uint64(g.packed.Len()) {
		return 0
	}
	return g.unpack(g.packed.At(int(i)))
}

// putUIDs writes the UIDs of ghosts into dst, which must have the same length. Each ghost must
// be below Len.
func (g *Ghosts) putUIDs(dst []uid.UID, ghosts []uint32) {
	ef.Gather(&g.packed, dst, ghosts)
	p := g.packing
	for i, packed := range dst[:len(ghosts)] {
		dst[i] = p.unpack(uint64(packed))
	}
}

// split returns how many ghosts, which must ascend, are below the cell's range. mixed is set if
// others are within it, between the cell's pages. It has no branch.
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

// Index returns the ghost with UID u; ok is false if there is none.
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

// countBelow returns the number of ghosts below u.
func (g *Ghosts) countBelow(u uid.UID) uint32 {
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

// appendGhosts appends the section of ghosts, which must ascend strictly.
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
	return ef.AppendParts(p.appendTo(dst), packed)
}

// openGhosts opens and verifies the section: UIDs must ascend strictly, and there must be at
// least needed of them, because the lists refer to these.
func openGhosts(b []byte, keys uid.Range, needed uint32) (Ghosts, error) {
	p, err := openPacking(b)
	if err != nil {
		return Ghosts{}, err
	}
	g := Ghosts{packing: p}
	used := 0
	if g.packed, used, err = ef.OpenParts(b[packingLen:]); err != nil {
		return g, err
	}
	// 1. Check lengths. The section must end with the sequence.
	if packingLen+used != len(b) || uint64(g.packed.Len()) < uint64(needed) || uint64(g.packed.Len()) > math.MaxUint32 {
		return g, fmt.Errorf("%d ghosts in %d bytes, the lists have %d", g.packed.Len(), len(b), needed)
	}
	// 2. Check the order, because Index and split search by it.
	before := uint64(0) // no UID packs to it, because its host would be 0
	for i, packed := range g.packed.All() {
		if !g.fits(packed) || packed == before {
			return g, fmt.Errorf("ghost %d cannot be", i)
		}
		before = packed
	}
	// 3. Find the bounds for split. They may be wrong if keys.Last + 1 overflowed, so that case
	// is apart.
	g.low, g.high = g.countBelow(keys.First), uint32(g.packed.Len())
	if keys.Last != math.MaxUint64 {
		g.high = g.countBelow(keys.Last + 1)
	}
	return g, nil
}
