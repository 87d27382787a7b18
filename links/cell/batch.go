// This file reads the lists of many pages at once.

package cell

import (
	"slices"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/lists/pef"
	"github.com/trefoildb/trefoil/links/uid"
)

// BatchLen is the most pages that a [Batch] reads at once.
const BatchLen = lists.BatchLen

// Batch reads the links of many pages at once, of one cell or of several: step by step
// for all of them, as a [lists.Batch] does, so that the processor waits for the memory of
// all lists together. It is for one goroutine, and large: keep it for the next pages. The
// zero value is ready.
type Batch struct {
	d      Direction
	cells  []*Cell // the caller's
	ords   [BatchLen]uint32
	known  [BatchLen]bool // there is a page, with that ordinal
	tables [BatchLen]*lists.Table
	lists  lists.Batch
	// The ghosts of list i of lists have their places in places[froms[i]:].
	froms   [BatchLen]uint32
	places  [BatchLen * lists.ShortList]uid.UID
	touched uint64 // what was read ahead; of no use
}

// Forget makes the batch keep no cell.
func (b *Batch) Forget() {
	b.cells = nil
	clear(b.tables[:])
}

// Read reads the links of pages[i] of cells[i] in direction d, for at most BatchLen pages.
// It keeps cells, but not pages, until it is called again.
func (b *Batch) Read(d Direction, cells []*Cell, pages []uid.UID) {
	n := len(pages)
	b.d, b.cells = d, cells[:n]
	b.find(pages)
	for i, c := range b.cells {
		if b.tables[i] = nil; b.known[i] {
			b.tables[i] = c.lists[d]
		}
	}
	b.lists.Decode(b.tables[:n], b.ords[:n])
	b.touchTargets()
}

// find finds the ordinals of pages.
func (b *Batch) find(pages []uid.UID) {
	var at [BatchLen]uint32 // the buckets of pages, then runs
	for i, c := range b.cells {
		packed, _ := c.pages.pack(pages[i])
		at[i] = c.pages.table.bucket(packed)
	}
	for i, c := range b.cells {
		at[i] = c.pages.table.bucketRun(at[i])
	}
	touched := uint64(0)
	for i, c := range b.cells {
		touched |= c.pages.table.touchRun(at[i])
	}
	b.touched = touched
	for i, c := range b.cells {
		b.ords[i], b.known[i] = c.pages.ordinal(pages[i])
	}
}

// touchTargets touches what the UIDs of the lists' targets are read from.
func (b *Batch) touchTargets() {
	from := 0
	touched := uint64(0)
	for i, c := range b.cells {
		locals, ghosts, _ := b.lists.List(i)
		b.froms[i] = uint32(from)
		pef.FindAll(&c.ghosts[b.d].packed, b.places[from:], ghosts)
		from += len(ghosts)
		touched |= c.pages.table.touchMarks(locals)
	}
	for i, c := range b.cells {
		_, ghosts, _ := b.lists.List(i)
		touched |= pef.TouchAll(&c.ghosts[b.d].packed, b.places[b.froms[i]:], ghosts)
	}
	b.touched |= touched
}

// Degree returns how many links page i has; 0 for one that is not there.
func (b *Batch) Degree(i int) int {
	if locals, ghosts, ok := b.lists.List(i); ok {
		return len(locals) + len(ghosts)
	}
	if !b.known[i] {
		return 0
	}
	return b.cells[i].Degree(b.d, b.ords[i])
}

// AppendLinks appends the links of page i as [Cell.AppendLinks] does; nothing for one that
// is not there.
func (b *Batch) AppendLinks(dst []uid.UID, i int) []uid.UID {
	locals, ghosts, ok := b.lists.List(i)
	if !ok {
		if b.known[i] {
			dst = b.cells[i].AppendLinks(dst, b.d, b.ords[i])
		}
		return dst
	}
	c := b.cells[i]
	g := &c.ghosts[b.d]
	below, mixed := g.split(ghosts)
	if mixed {
		return c.appendMixed(dst, b.d, locals, ghosts)
	}
	at, n := len(dst), len(locals)+len(ghosts)
	if cap(dst)-at < n {
		dst = slices.Grow(dst, n)
	}
	dst = dst[:at+n]
	out := dst[at:]
	// As in Cell.appendUIDs.
	if len(ghosts) > 0 {
		others := out[len(locals):]
		pef.ValueAll(&g.packed, others, b.places[b.froms[i]:], ghosts)
		for k, packed := range others {
			others[k] = g.unpack(uint64(packed))
		}
		copy(out, others[:below])
	}
	c.pages.putUIDs(out[below:below+len(locals)], locals)
	return dst
}
