// Batch: the lists of many pages, read at once.

package cell

import (
	"slices"

	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// BatchLen is the most pages that a [Batch] reads at once.
const BatchLen = lists.BatchLen

// Batch reads the links of many pages at once, of one cell or of several. It does each step for
// all pages, like [lists.Batch], because the processor then waits for the memory of all lists
// together. It is for one goroutine. It is large and should be reused. The zero value is ready.
type Batch struct {
	d      Direction
	cells  []*Cell // owned by the caller
	ords   [BatchLen]uint32
	known  [BatchLen]bool // the page exists and has the ordinal in ords
	tables [BatchLen]*lists.Table
	lists  lists.Batch
	// ghosts holds the UIDs of lists.Ghosts, looked up in the cells' dictionaries.
	dictionaries [BatchLen]*ef.Parts
	ghosts       [BatchLen*lists.ShortList + atOnce]uid.UID
	touched      uint64 // result of prefetching reads; unused
}

// atOnce is how many UIDs are copied at a time, even if fewer are needed: the processor
// mispredicts the end of a short loop.
const atOnce = 8

// Forget drops the references to cells.
func (b *Batch) Forget() {
	b.cells = nil
	clear(b.tables[:])
	clear(b.dictionaries[:])
}

// Read reads the links of pages[i] of cells[i] in direction d, for at most BatchLen pages. It
// keeps cells, but not pages, until the next call.
func (b *Batch) Read(d Direction, cells []*Cell, pages []uid.UID) {
	n := len(pages)
	b.d, b.cells = d, cells[:n]
	b.find(pages)
	for i, c := range b.cells {
		if b.tables[i] = nil; b.known[i] {
			b.tables[i] = c.Lists(d)
		}
	}
	b.lists.Decode(b.tables[:n], b.ords[:n])
	b.touchLocals()
	b.readGhosts()
}

// Find looks up pages[i] of cells[i], for at most BatchLen pages; Ordinal returns the results.
// It keeps cells, but not pages, until the next read.
func (b *Batch) Find(cells []*Cell, pages []uid.UID) {
	b.cells = cells[:len(pages)]
	b.find(pages)
}

// Ordinal returns the ordinal of page i; ok is false if there is no such page.
func (b *Batch) Ordinal(i int) (ord uint32, ok bool) { return b.ords[i], b.known[i] }

// ReadTargets reads the links of the pages ords[i] of cells[i] in direction d, for at most
// BatchLen pages. Use it before Targets; UIDs take longer than after Read, because it prefetches
// none of the locals' runs. It keeps cells, but not ords, until the next read.
func (b *Batch) ReadTargets(d Direction, cells []*Cell, ords []uint32) {
	n := len(ords)
	b.d, b.cells = d, cells[:n]
	for i, c := range b.cells {
		b.ords[i], b.known[i] = ords[i], ords[i] < c.pages.pages
		b.tables[i] = c.Lists(d)
	}
	b.lists.Decode(b.tables[:n], b.ords[:n])
	b.readGhosts()
}

// Targets returns the stored links of page i: the ordinals of pages of its cell, ascending, and
// the number of ghosts. locals is memory of the batch. AppendGhosts returns the ghosts. ok is
// false if a batch cannot decode the list, for example because it is long; then use
// AppendTargets.
func (b *Batch) Targets(i int) (locals []uint32, ghosts int, ok bool) {
	locals, others, ok := b.lists.List(i)
	return locals, len(others), ok
}

// AppendGhosts appends the links of page i to pages of other cells. Targets must have returned
// ok.
func (b *Batch) AppendGhosts(dst []uid.UID, i int) []uid.UID {
	from, end := b.lists.GhostsOf(i)
	return append(dst, b.ghosts[from:end]...)
}

// AppendTargets appends the links of page i, of any length: ordinals to locals, pages of other
// cells to others. Each result ascends.
func (b *Batch) AppendTargets(locals []uint32, others []uid.UID, i int) ([]uint32, []uid.UID) {
	if !b.known[i] {
		return locals, others
	}
	c, s := b.cells[i], scratches.Get().(*scratch)
	var err error
	locals, s.ghosts, err = c.Lists(b.d).Decode(b.ords[i], locals, s.ghosts[:0])
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

// find sets ords and known for pages. Each loop is one step for all pages, because their memory
// accesses then overlap.
func (b *Batch) find(pages []uid.UID) {
	var at [BatchLen]uint32 // buckets of the pages, then their first runs
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

// readGhosts reads the UIDs of the lists' ghosts.
func (b *Batch) readGhosts() {
	for i, c := range b.cells {
		b.dictionaries[i] = &c.ghosts[b.d].packed
	}
	ghosts, owners := b.lists.Ghosts()
	from := b.dictionaries[:]
	ef.FindEach(from, b.ghosts[:], owners, ghosts)
	b.touched |= ef.TouchEach(from, b.ghosts[:], owners, ghosts)
	ef.ValueEach(from, b.ghosts[:], b.ghosts[:], owners, ghosts)
	cells := b.cells
	for k, owner := range owners {
		b.ghosts[k] = cells[owner].ghosts[b.d].unpack(uint64(b.ghosts[k]))
	}
}

// touchLocals prefetches the runs of each list's first and last local. The locals between are
// mostly of the same hosts.
func (b *Batch) touchLocals() {
	touched := uint64(0)
	for i, c := range b.cells {
		locals, _, _ := b.lists.List(i)
		if n := len(locals); n > 0 {
			touched |= c.pages.table.touchMark(locals[0]) | c.pages.table.touchMark(locals[n-1])
		}
	}
	b.touched = touched
}

// Degree returns the number of links of page i, or 0 if the page is missing.
func (b *Batch) Degree(i int) int {
	if locals, ghosts, ok := b.lists.List(i); ok {
		return len(locals) + len(ghosts)
	}
	if !b.known[i] {
		return 0
	}
	return b.cells[i].Degree(b.d, b.ords[i])
}

// AppendLinks appends the links of page i like [Cell.AppendLinks], or nothing if the page is
// missing. It may write up to eight UIDs into dst's capacity behind the result.
func (b *Batch) AppendLinks(dst []uid.UID, i int) []uid.UID {
	// 1. If the batch could not decode the list, read it alone.
	locals, ghosts, ok := b.lists.List(i)
	if !ok {
		if b.known[i] {
			dst = b.cells[i].AppendLinks(dst, b.d, b.ords[i])
		}
		return dst
	}
	c := b.cells[i]
	// 2. Leave mixed lists to appendMixed. Others need room for atOnce more UIDs, because the
	// copies below have a fixed length.
	below, mixed := c.ghosts[b.d].split(ghosts)
	if mixed {
		return c.appendMixed(dst, b.d, locals, ghosts)
	}
	at, n := len(dst), len(locals)+len(ghosts)
	if cap(dst)-at < n+atOnce {
		dst = slices.Grow(dst, n+atOnce)
	}
	out := dst[at : at+n+atOnce]
	from, _ := b.lists.GhostsOf(i)
	// 3. Put ghosts below the range, locals and ghosts above it in this order, as in
	// Cell.appendUIDs.
	if len(ghosts) <= atOnce {
		*(*[atOnce]uid.UID)(out) = *(*[atOnce]uid.UID)(b.ghosts[from:])
		c.pages.putUIDs(out[below:below+len(locals)], locals)
		*(*[atOnce]uid.UID)(out[below+len(locals):]) = *(*[atOnce]uid.UID)(b.ghosts[from+below:])
		return dst[:at+n]
	}
	others := b.ghosts[from : from+len(ghosts)]
	copy(out, others[:below])
	c.pages.putUIDs(out[below:below+len(locals)], locals)
	copy(out[below+len(locals):], others[below:])
	return dst[:at+n]
}
