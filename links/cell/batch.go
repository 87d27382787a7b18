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
	// ghosts are the UIDs of lists.Ghosts, in the dictionaries of the cells.
	dictionaries [BatchLen]*pef.Sequence
	ghosts       [BatchLen*lists.ShortList + atOnce]uid.UID
	touched      uint64 // what was read ahead; of no use
}

// atOnce is how many UIDs are brought to their place at a time, whether there are so many
// or not: where a loop over a few ends the processor guesses wrong.
const atOnce = 8

// Forget makes the batch keep no cell.
func (b *Batch) Forget() {
	b.cells = nil
	clear(b.tables[:])
	clear(b.dictionaries[:])
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
	b.touchLocals()
	b.readGhosts()
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
	b.readGhosts()
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
	from, end := b.lists.GhostsOf(i)
	return append(dst, b.ghosts[from:end]...)
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

// readGhosts reads the UIDs of the lists' ghosts.
func (b *Batch) readGhosts() {
	for i, c := range b.cells {
		b.dictionaries[i] = &c.ghosts[b.d].packed
	}
	ghosts, owners := b.lists.Ghosts()
	from := b.dictionaries[:]
	pef.FindEach(from, b.ghosts[:], owners, ghosts)
	b.touched |= pef.TouchEach(from, b.ghosts[:], owners, ghosts)
	pef.ValueEach(from, b.ghosts[:], b.ghosts[:], owners, ghosts)
	cells := b.cells
	for k, owner := range owners {
		b.ghosts[k] = cells[owner].ghosts[b.d].unpack(uint64(b.ghosts[k]))
	}
}

// touchLocals touches what the UIDs of the lists' first and last locals are read from: most
// of those between are of the same hosts.
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
// is not there. It may write up to eight UIDs into dst's capacity behind the result.
func (b *Batch) AppendLinks(dst []uid.UID, i int) []uid.UID {
	locals, ghosts, ok := b.lists.List(i)
	if !ok {
		if b.known[i] {
			dst = b.cells[i].AppendLinks(dst, b.d, b.ords[i])
		}
		return dst
	}
	c := b.cells[i]
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
	// As in Cell.appendUIDs.
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
