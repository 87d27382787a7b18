// This file reads the links of many pages at once.

package delta

import (
	"sync"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// ReaderLen is the most pages that a [Reader] reads at once.
const ReaderLen = cell.BatchLen

// Reader reads the links of many pages at once, of one view or of several, in far less
// time than one page after another takes: see [cell.Batch]. It is for one goroutine.
type Reader struct {
	d     cell.Direction
	views []*View   // the caller's
	pages []uid.UID // the caller's
	cells [ReaderLen]*cell.Cell
	links cell.Batch
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// NewReader returns a reader. Release it when it is not needed any more.
func NewReader() *Reader { return readers.Get().(*Reader) }

// Release gives the reader's memory to the next one.
func (r *Reader) Release() {
	r.views, r.pages = nil, nil
	clear(r.cells[:])
	r.links.Forget()
	readers.Put(r)
}

// Read reads the links of pages[i] of views[i] in direction d, for at most ReaderLen
// pages. It keeps both slices until it is called again.
func (r *Reader) Read(d cell.Direction, views []*View, pages []uid.UID) {
	r.d, r.views, r.pages = d, views, pages
	for i, v := range views[:len(pages)] {
		r.cells[i] = v.cell
	}
	r.links.Read(d, r.cells[:len(pages)], pages)
}

// Degree returns how many links page i has, as [View.Degree] does.
func (r *Reader) Degree(i int) int {
	if v := r.views[i]; len(v.rows) > 0 {
		return v.Degree(r.d, r.pages[i])
	}
	return r.links.Degree(i)
}

// AppendLinks appends the links of page i, as [View.AppendLinks] does.
func (r *Reader) AppendLinks(dst []uid.UID, i int) []uid.UID {
	v := r.views[i]
	if len(v.rows) == 0 {
		return r.links.AppendLinks(dst, i)
	}
	return v.appendLinks(dst, r.d, r.pages[i], func(dst []uid.UID) []uid.UID { return r.links.AppendLinks(dst, i) })
}
