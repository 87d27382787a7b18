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
	b.touchGhosts()
	b.touchLocals()
}

// Find finds pages[i] of cells[i], for at most BatchLen pages: Ordinal then tells them. It
// keeps cells, but not pages, until something else is read.
func (b *Batch) Find(cells []*Cell, pages []uid.UID) {
	b.cells = cells[:len(pages)]
	b.find(pages)
}

// Ordinal returns the ordinal of page i; ok is false where there is no such page.
func (b *Batch) Ordinal(i int) (ord uint32, ok bool) { return b.ords[i], b.known[i] }

// ReadTargets reads the links of the pages ords[i] of cells[i] in direction d, for at most
// BatchLen pages, as Read does, for who asks for Targets: UIDs take longer then. It keeps
// cells, but not ords, until something else is read.
func (b *Batch) ReadTargets(d Direction, cells []*Cell, ords []uint32) {
	n := len(ords)
	b.d, b.cells = d, cells[:n]
	for i, c := range b.cells {
		b.ords[i], b.known[i] = ords[i], ords[i] < c.pages.pages
		b.tables[i] = c.lists[d]
	}
	b.lists.Decode(b.tables[:n], b.ords[:n])
	b.touchGhosts()
}

// Targets returns the links of page i as they are kept: ordinals of pages of its cell,
// ascending, in memory of the batch, and how many ghosts there are beside, which
// AppendGhosts tells. ok is false where the list is long, or is none that a batch reads:
// AppendTargets tells these.
func (b *Batch) Targets(i int) (locals []uint32, ghosts int, ok bool) {
	locals, others, ok := b.lists.List(i)
	return locals, len(others), ok
}

// AppendGhosts appends the links of page i, whose Targets are ok, to pages of other cells.
func (b *Batch) AppendGhosts(dst []uid.UID, i int) []uid.UID {
	_, ghosts, _ := b.lists.List(i)
	at := len(dst)
	dst = slices.Grow(dst, len(ghosts))[:at+len(ghosts)]
	b.putGhosts(dst[at:], i, ghosts)
	return dst
}

// AppendTargets appends the links of page i, of any length: ordinals to locals, and to
// others the pages of other cells. Each ascends.
func (b *Batch) AppendTargets(locals []uint32, others []uid.UID, i int) ([]uint32, []uid.UID) {
	if !b.known[i] {
		return locals, others
	}
	c, s := b.cells[i], scratches.Get().(*scratch)
	var err error
	locals, s.ghosts, err = c.lists[b.d].Decode(b.ords[i], locals, s.ghosts[:0])
	if err != nil {
		c.damaged(err)
	} else {
		at := len(others)
		others = slices.Grow(others, len(s.ghosts))[:at+len(s.ghosts)]
		c.ghosts[b.d].putUIDs(others[at:], s.ghosts)
	}
	s.release()
	return locals, others
}

// putGhosts puts the UIDs of the ghosts of list i into dst, which is as long.
func (b *Batch) putGhosts(dst []uid.UID, i int, ghosts []uint32) {
	g := &b.cells[i].ghosts[b.d]
	pef.ValueAll(&g.packed, dst, b.places[b.froms[i]:], ghosts)
	for k, packed := range dst {
		dst[k] = g.unpack(uint64(packed))
	}
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

// touchGhosts touches what the UIDs of the lists' ghosts are read from.
func (b *Batch) touchGhosts() {
	from := 0
	for i, c := range b.cells {
		_, ghosts, _ := b.lists.List(i)
		b.froms[i] = uint32(from)
		pef.FindAll(&c.ghosts[b.d].packed, b.places[from:], ghosts)
		from += len(ghosts)
	}
	touched := uint64(0)
	for i, c := range b.cells {
		_, ghosts, _ := b.lists.List(i)
		touched |= pef.TouchAll(&c.ghosts[b.d].packed, b.places[b.froms[i]:], ghosts)
	}
	b.touched = touched
}

// touchLocals touches what the UIDs of the lists' locals are read from.
func (b *Batch) touchLocals() {
	touched := uint64(0)
	for i, c := range b.cells {
		locals, _, _ := b.lists.List(i)
		touched |= c.pages.table.touchMarks(locals)
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
		b.putGhosts(others, i, ghosts)
		copy(out, others[:below])
	}
	c.pages.putUIDs(out[below:below+len(locals)], locals)
	return dst
}
