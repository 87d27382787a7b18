// Rebuild: a pass over a whole view in order, to build the next cell.

package delta

import (
	"errors"
	"iter"
	"sync"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// Page is a page of a view.
type Page struct {
	UID uid.UID
	URL []byte // valid until the next page
	// Linked reports whether the page has a link in any direction. If not, the next cell may
	// leave the page out.
	Linked bool
}

// Pages yields the pages by UID.
func (v *View) Pages() iter.Seq[Page] {
	return func(yield func(Page) bool) {
		added := newPageMerger(v.rows)
		more := added.next()
		var url []byte
		// A page without links must still be yielded, because the caller decides about it.
		linked := func(u uid.UID) bool {
			return v.Degree(cell.Forward, u) > 0 || v.Degree(cell.Backward, u) > 0
		}
		for ord := range v.cell.Len() {
			u := v.cell.UID(uint32(ord))
			// Pages of rows come before the cell's page u. If the cell has the page, too, it
			// comes once.
			for more && added.uid <= u {
				if added.uid < u && !yield(Page{added.uid, added.url, linked(added.uid)}) {
					return
				}
				more = added.next()
			}
			url = v.cell.AppendURL(url[:0], uint32(ord))
			if !yield(Page{u, url, linked(u)}) {
				return
			}
		}
		for ; more; more = added.next() {
			if !yield(Page{added.uid, added.url, linked(added.uid)}) {
				return
			}
		}
	}
}

// edgesPerBatch is roughly the number of edges in a batch of Edges.
const edgesPerBatch = 1 << 15

// Edges yields the links of direction d for a builder: batches that ascend by From, then To.
// labels has one label for each edge, or is empty if no edge of the batch has one. Both slices
// are valid until the next batch.
func (v *View) Edges(d cell.Direction) iter.Seq2[[]cell.Edge, []cell.Label] {
	return func(yield func([]cell.Edge, []cell.Label) bool) {
		w := edgeBatch{view: v, d: d}
		changed := newMerger(v.rows, d)
		more := changed.next()
		for ord := range v.cell.Len() {
			u := v.cell.UID(uint32(ord))
			for ; more && changed.key < u; more = changed.next() {
				w.addChanged(changed.key)
			}
			// If no row changes the list, it comes from the cell alone, because that takes less
			// time.
			if more && changed.key == u {
				w.addChanged(u)
				more = changed.next()
			} else {
				w.addUnchanged(u, uint32(ord))
			}
			if len(w.edges) >= edgesPerBatch && !w.yield(yield) {
				return
			}
		}
		// Keys above the last page of the cell come last.
		for ; more; more = changed.next() {
			w.addChanged(changed.key)
			if len(w.edges) >= edgesPerBatch && !w.yield(yield) {
				return
			}
		}
		if len(w.edges) > 0 {
			w.yield(yield)
		}
	}
}

// edgeBatch collects the edges of whole lists.
type edgeBatch struct {
	view  *View
	d     cell.Direction
	list  []uid.UID
	edges []cell.Edge
	// labels belong to the first edges. It is empty until an edge has a label.
	labels     []cell.Label
	listLabels []cell.Label
}

func (w *edgeBatch) addChanged(key uid.UID) {
	w.list = w.view.AppendLinks(w.list[:0], w.d, key)
	w.listLabels = w.listLabels[:0]
	if w.d == cell.Forward {
		w.listLabels = w.view.AppendLabels(w.listLabels, key)
	}
	w.addList(key)
}

func (w *edgeBatch) addUnchanged(key uid.UID, ord uint32) {
	w.list = w.view.cell.AppendLinks(w.list[:0], w.d, ord)
	w.listLabels = w.listLabels[:0]
	if w.d == cell.Forward && w.view.cell.HasLabels() {
		w.listLabels = w.view.cell.AppendLabels(w.listLabels, ord)
	}
	w.addList(key)
}

func (w *edgeBatch) addList(key uid.UID) {
	if cell.Labelled(w.listLabels) {
		w.labels = append(w.padded(), w.listLabels...)
	}
	for _, target := range w.list {
		w.edges = append(w.edges, cell.Edge{From: key, To: target})
	}
}

// padded returns the labels, one for each edge.
func (w *edgeBatch) padded() []cell.Label {
	for len(w.labels) < len(w.edges) {
		w.labels = append(w.labels, cell.NoLabel)
	}
	return w.labels
}

// yield passes the batch on and begins the next one.
func (w *edgeBatch) yield(yield func([]cell.Edge, []cell.Label) bool) bool {
	var labels []cell.Label
	if len(w.labels) > 0 {
		labels = w.padded()
	}
	ok := yield(w.edges, labels)
	w.edges, w.labels = w.edges[:0], labels[:0]
	return ok
}

// Build builds the cell of the view: all pages except those without links, returned as
// collected. It sets o.Range and o.Epoch to the view's. The caller should hold no lock, because
// it takes the time of a whole cell.
func (v *View) Build(o cell.Options) (data []byte, collected []uid.UID, err error) {
	o.Range, o.Epoch = v.cell.Range(), v.epoch
	b, err := cell.NewBuilder(o)
	if err != nil {
		return nil, nil, err
	}
	// 1. Add the pages with links. All must come before the edges.
	for p := range v.Pages() {
		if !p.Linked {
			collected = append(collected, p.UID)
		} else if err := b.AddPage(p.UID, p.URL); err != nil {
			return nil, nil, err
		}
	}
	// 2. Add the edges of both directions at the same time.
	var errs [2]error
	var wg sync.WaitGroup
	for i := range errs {
		d := cell.Direction(i)
		wg.Go(func() {
			for edges, labels := range v.Edges(d) {
				if errs[d] = b.AddEdges(d, edges, labels); errs[d] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, nil, err
	}
	// 3. Reject the cell if a read found damage, because lists would be incomplete.
	if err := v.cell.Err(); err != nil {
		return nil, nil, err
	}
	if data, err = b.Build(); err != nil {
		return nil, nil, err
	}
	return data, collected, nil
}
