// View: the reader's side, a cell and its rows at one epoch.

package delta

import (
	"iter"
	"slices"
	"sync"
	"unsafe"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// View is a cell and the rows over it at one epoch. It is immutable and safe for concurrent use.
// Readers wait neither for each other nor for a writer. What a read needs of the cell must be in
// memory, see [cell.Cell.Stores]: the URLs for URLs, the lists of a direction for its links, and both
// directions for counts and [View.Linked], unless [View.AllLinked].
type View struct {
	cell  *cell.Cell
	rows  []*Row // oldest first
	epoch uint64

	pages   int   // of the cell and the rows, each once
	changes int64 // of both directions of all rows

	base   *cellCounts // of the cell
	counts *counts
}

// newView returns the view of a cell with rows. pages is the number of pages in all. base is shared
// with the other views of the cell.
func newView(c *cell.Cell, base *cellCounts, rows []*Row, epoch uint64, pages int) *View {
	v := &View{cell: c, base: base, rows: rows, epoch: epoch, pages: pages, counts: new(counts)}
	for _, r := range rows {
		v.changes += r.links[cell.Forward].changes + r.links[cell.Backward].changes
	}
	return v
}

// newPages returns the number of pages of r that v lacks.
func (v *View) newPages(r *Row) int {
	count := 0
	for c := (pageCursor{pages: &r.pages}); c.next(); {
		if !v.Has(c.uid) {
			count++
		}
	}
	return count
}

// Epoch returns the epoch of the view. It contains all rows up to it.
func (v *View) Epoch() uint64 { return v.epoch }

// Cell returns the cell below the rows.
func (v *View) Cell() *cell.Cell { return v.cell }

// WithCell returns the same view over the same cell with other stores in memory.
func (v *View) WithCell(c *cell.Cell) *View {
	w := *v
	w.cell = c
	return &w
}

// Rows returns the rows, oldest first. The caller must not change the slice.
func (v *View) Rows() []*Row { return v.rows }

// NumPages returns the number of pages of the view, with those that have no links any more and wait
// for the next cell.
func (v *View) NumPages() int { return v.pages }

// Has reports whether u is a page of the view.
func (v *View) Has(u uid.UID) bool {
	if _, ok := v.cell.Ordinal(u); ok {
		return true
	}
	for _, r := range v.rows {
		if r.pages.has(u) {
			return true
		}
	}
	return false
}

// AppendURL appends the URL of the page u; ok is false if there is no such page.
func (v *View) AppendURL(dst []byte, u uid.UID) (_ []byte, ok bool) {
	if ord, ok := v.cell.Ordinal(u); ok {
		return v.cell.AppendURL(dst, ord), true
	}
	return v.appendRowURL(dst, u)
}

// appendRowURL is AppendURL for pages of rows.
func (v *View) appendRowURL(dst []byte, u uid.UID) (_ []byte, ok bool) {
	for _, r := range v.rows {
		if dst, ok := r.pages.appendURL(dst, u); ok {
			return dst, true
		}
	}
	return dst, false
}

// Find returns the page of a URL. It compares URLs byte by byte.
func (v *View) Find(url string) (uid.UID, bool) {
	return v.find(bytesOf(url))
}

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

func (v *View) find(url []byte) (uid.UID, bool) {
	if ord, ok := v.cell.FindBytes(url); ok {
		return v.cell.UID(ord), true
	}
	return v.findInRows(url)
}

// findInRows is find for pages of rows.
func (v *View) findInRows(url []byte) (uid.UID, bool) {
	for _, r := range v.rows {
		if u, ok := r.pages.find(url); ok {
			return u, true
		}
	}
	return 0, false
}

// scratch is the memory of one read.
type scratch struct {
	fold   folder
	list   []uid.UID
	labels []cell.Label
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKeptScratch is the longest list, in UIDs, whose memory is kept for the next read.
const maxKeptScratch = 1 << 16

func (s *scratch) release() {
	clear(s.labels)
	if cap(s.list) <= maxKeptScratch && cap(s.fold.a.adds) <= maxKeptScratch {
		scratches.Put(s)
	}
}

// entry returns the rows' changes at key, or nil if there are none. The entry is a part of the
// scratch. The caller must release the scratch if it is not nil.
func (v *View) entry(d cell.Direction, key uid.UID) (*entry, *scratch) {
	var s *scratch
	hash := uid.Mix(uint64(key))
	for i := len(v.rows) - 1; i >= 0; i-- {
		body, ok := v.rows[i].links[d].find(key, hash)
		if !ok {
			continue
		}
		if s == nil {
			s = scratches.Get().(*scratch)
		}
		if !s.fold.older(body, key) {
			break
		}
	}
	if s == nil {
		return nil, nil
	}
	return s.fold.take(), s
}

// AppendLinks appends the links of the page u in direction d, ascending: the cell's and the
// added ones, without the deleted ones. An unknown page has none.
func (v *View) AppendLinks(dst []uid.UID, d cell.Direction, u uid.UID) []uid.UID {
	return v.appendLinks(dst, d, u, func(dst []uid.UID) []uid.UID { return v.appendCellLinks(dst, d, u) })
}

// appendLinks is AppendLinks; ofCell must append the links of the cell.
func (v *View) appendLinks(dst []uid.UID, d cell.Direction, u uid.UID, ofCell func([]uid.UID) []uid.UID) []uid.UID {
	e, s := v.entry(d, u)
	if e == nil {
		return ofCell(dst)
	}
	defer s.release()
	if e.whole {
		return append(dst, e.adds...)
	}
	if e.changes() <= maxEdits {
		start := len(dst)
		dst = ofCell(dst)
		return edit(dst, start, e)
	}
	s.list = ofCell(s.list[:0])
	return merge(dst, s.list, e)
}

// maxEdits is the most changes for which a list is edited in place.
const maxEdits = 4

// edit applies e to the list from start on, which must ascend. It is meant for few changes,
// because each moves the rest of the list.
func edit(list []uid.UID, start int, e *entry) []uid.UID {
	for _, u := range e.deletes {
		if i, found := slices.BinarySearch(list[start:], u); found {
			list = slices.Delete(list, start+i, start+i+1)
		}
	}
	for _, u := range e.adds {
		if i, found := slices.BinarySearch(list[start:], u); !found {
			list = slices.Insert(list, start+i, u)
		}
	}
	return list
}

func (v *View) appendCellLinks(dst []uid.UID, d cell.Direction, u uid.UID) []uid.UID {
	if ord, ok := v.cell.Ordinal(u); ok {
		return v.cell.AppendLinks(dst, d, ord)
	}
	return dst
}

// merge appends the links of list, which must ascend, with the changes of e.
func merge(dst, list []uid.UID, e *entry) []uid.UID {
	adds, deletes := e.adds, e.deletes
	for _, u := range list {
		for len(adds) > 0 && adds[0] < u {
			dst, adds = append(dst, adds[0]), adds[1:]
		}
		if len(adds) > 0 && adds[0] == u {
			adds = adds[1:]
		}
		for len(deletes) > 0 && deletes[0] < u {
			deletes = deletes[1:]
		}
		if len(deletes) == 0 || deletes[0] != u {
			dst = append(dst, u)
		}
	}
	return append(dst, adds...)
}

// Degree returns the number of links of the page u in direction d.
func (v *View) Degree(d cell.Direction, u uid.UID) int {
	e, s := v.entry(d, u)
	if e == nil {
		if ord, ok := v.cell.Ordinal(u); ok {
			return v.cell.Degree(d, ord)
		}
		return 0
	}
	defer s.release()
	degree := len(e.adds)
	if e.whole {
		return degree
	}
	for range v.keptCellLinks(d, u, e) {
		degree++
	}
	return degree
}

// keptCellLinks yields the links of the cell that e neither adds nor deletes.
func (v *View) keptCellLinks(d cell.Direction, u uid.UID, e *entry) iter.Seq[uid.UID] {
	return func(yield func(uid.UID) bool) {
		ord, ok := v.cell.Ordinal(u)
		if !ok {
			return
		}
		adds, deletes := e.adds, e.deletes
		for u := range v.cell.Links(d, ord) {
			for len(adds) > 0 && adds[0] < u {
				adds = adds[1:]
			}
			for len(deletes) > 0 && deletes[0] < u {
				deletes = deletes[1:]
			}
			if (len(adds) == 0 || adds[0] != u) && (len(deletes) == 0 || deletes[0] != u) && !yield(u) {
				return
			}
		}
	}
}

// Links yields the result of AppendLinks. It is for lists that are too long for a slice, because
// it takes memory for the changes only.
func (v *View) Links(d cell.Direction, u uid.UID) iter.Seq[uid.UID] {
	return func(yield func(uid.UID) bool) {
		e, s := v.entry(d, u)
		if e == nil {
			e = new(entry)
		} else {
			defer s.release()
		}
		// Adds come between the kept links. If e is whole, they are the list.
		adds := e.adds
		if !e.whole {
			for u := range v.keptCellLinks(d, u, e) {
				for ; len(adds) > 0 && adds[0] < u; adds = adds[1:] {
					if !yield(adds[0]) {
						return
					}
				}
				if !yield(u) {
					return
				}
			}
		}
		for _, u := range adds {
			if !yield(u) {
				return
			}
		}
	}
}
