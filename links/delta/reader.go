// Reader: the lists of many pages, read at once.

package delta

import (
	"sync"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// ReaderLen is the most pages that a [Reader] reads at once.
const ReaderLen = cell.BatchLen

// Reader reads many pages at once, of one view or of several. It takes far less time than single
// reads, see [cell.Batch]. It is for one goroutine.
type Reader struct {
	d     cell.Direction
	views []*View   // owned by the caller
	pages []uid.UID // owned by the caller
	urls  []string  // owned by the caller
	cells [ReaderLen]*cell.Cell
	links cell.Batch
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// NewReader returns a reader. The caller should release it after use.
func NewReader() *Reader { return readers.Get().(*Reader) }

// Release returns the reader's memory to the pool. The reader must not be used afterwards.
func (r *Reader) Release() {
	r.views, r.pages, r.urls = nil, nil, nil
	clear(r.cells[:])
	r.links.Forget()
	readers.Put(r)
}

// Read reads the links of pages[i] of views[i] in direction d, for at most ReaderLen pages.
// Degree and AppendLinks return the results. It keeps both slices until the next read.
func (r *Reader) Read(d cell.Direction, views []*View, pages []uid.UID) {
	r.d, r.pages = d, pages
	r.links.Read(d, r.cellsOf(views[:len(pages)]), pages)
}

func (r *Reader) cellsOf(views []*View) []*cell.Cell {
	r.views = views
	for i, v := range views {
		r.cells[i] = v.cell
	}
	return r.cells[:len(views)]
}

// Find looks up pages[i] in the cell of views[i], for at most ReaderLen pages. Ordinal returns
// the results. It keeps both slices until the next read.
func (r *Reader) Find(views []*View, pages []uid.UID) {
	r.pages = pages
	r.links.Find(r.cellsOf(views[:len(pages)]), pages)
}

// Ordinal returns the ordinal of page i in the view's cell. ok is false if the cell does not
// have it; rows may.
func (r *Reader) Ordinal(i int) (ord uint32, ok bool) { return r.links.Ordinal(i) }

// ReadTargets is Read for use with Targets; UIDs take longer afterwards. ords[i] must be the
// ordinal of pages[i] in the cell of views[i]. It keeps views and pages until the next read.
func (r *Reader) ReadTargets(d cell.Direction, views []*View, pages []uid.UID, ords []uint32) {
	r.d, r.pages = d, pages
	r.links.ReadTargets(d, r.cellsOf(views[:len(pages)]), ords)
}

// Changed reports whether rows change the links of page i. If so, use AppendLinks, because
// Targets, AppendGhosts and AppendTargets return the links of the cell.
func (r *Reader) Changed(i int) bool {
	v := r.views[i]
	if len(v.rows) == 0 {
		return false
	}
	hash := uid.Mix(uint64(r.pages[i]))
	for _, row := range v.rows {
		if _, ok := row.links[r.d].find(r.pages[i], hash); ok {
			return true
		}
	}
	return false
}

// Targets is [cell.Batch.Targets].
func (r *Reader) Targets(i int) (locals []uint32, ghosts int, ok bool) { return r.links.Targets(i) }

// AppendGhosts is [cell.Batch.AppendGhosts].
func (r *Reader) AppendGhosts(dst []uid.UID, i int) []uid.UID { return r.links.AppendGhosts(dst, i) }

// AppendTargets is [cell.Batch.AppendTargets].
func (r *Reader) AppendTargets(locals []uint32, others []uid.UID, i int) ([]uint32, []uid.UID) {
	return r.links.AppendTargets(locals, others, i)
}

// Degree returns the number of links of page i, like [View.Degree].
func (r *Reader) Degree(i int) int {
	if v := r.views[i]; len(v.rows) > 0 {
		return v.Degree(r.d, r.pages[i])
	}
	return r.links.Degree(i)
}

// AppendLinks appends the links of page i, like [View.AppendLinks].
func (r *Reader) AppendLinks(dst []uid.UID, i int) []uid.UID {
	v := r.views[i]
	if len(v.rows) == 0 {
		return r.links.AppendLinks(dst, i)
	}
	return v.appendLinks(dst, r.d, r.pages[i], func(dst []uid.UID) []uid.UID { return r.links.AppendLinks(dst, i) })
}

// ReadURLs reads the URLs of pages[i] of views[i], for at most ReaderLen pages. AppendURL
// returns them. It keeps both slices until the next read.
func (r *Reader) ReadURLs(views []*View, pages []uid.UID) {
	r.pages = pages
	r.links.ReadURLs(r.cellsOf(views[:len(pages)]), pages)
}

// AppendURL appends the URL of page i, like [View.AppendURL].
func (r *Reader) AppendURL(dst []byte, i int) (_ []byte, ok bool) {
	if dst, ok = r.links.AppendURL(dst, i); ok {
		return dst, true
	}
	return r.views[i].appendRowURL(dst, r.pages[i])
}

// FindURLs finds the pages of urls[i] in views[i], for at most ReaderLen URLs. hosts[i] must be
// the cell.HostHash of the URL. UID returns the results. It keeps views and urls until the next
// read.
func (r *Reader) FindURLs(views []*View, urls []string, hosts []uint64) {
	r.urls = urls
	r.links.FindURLs(r.cellsOf(views[:len(urls)]), urls, hosts)
}

// UID returns the page of URL i, like [View.Find].
func (r *Reader) UID(i int) (_ uid.UID, ok bool) {
	if u, ok := r.links.UID(i); ok {
		return u, true
	}
	return r.views[i].findInRows(bytesOf(r.urls[i]))
}
