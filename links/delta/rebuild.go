// This file goes through a whole view in order, for the cell that takes its place.

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
	// Linked says that the page has a link in at least one direction. One that has
	// none may be collected: left out of the next cell.
	Linked bool
}

// Pages yields the pages, by UID.
func (v *View) Pages() iter.Seq[Page] {
	return func(yield func(Page) bool) {
		added := newPageMerger(v.rows)
		more := added.next()
		var url []byte
		linked := func(u uid.UID) bool {
			return v.Degree(cell.Forward, u) > 0 || v.Degree(cell.Backward, u) > 0
		}
		for ord := range v.cell.Len() {
			u := v.cell.UID(uint32(ord))
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

// edgesPerBatch is how many edges Edges yields at once, about.
const edgesPerBatch = 1 << 15

// Edges yields the links of direction d as a builder takes them: batches that ascend
// by From, then To. The labels are as many as the edges, or none where no link of
// the batch has one. Both slices are valid until the next batch.
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

// edgeBatch gathers the edges of whole lists.
type edgeBatch struct {
	view  *View
	d     cell.Direction
	list  []uid.UID
	edges []cell.Edge
	// labels are those of the first edges; it has none where no edge had one yet.
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

// yield gives the batch away and begins the next one.
func (w *edgeBatch) yield(yield func([]cell.Edge, []cell.Label) bool) bool {
	var labels []cell.Label
	if len(w.labels) > 0 {
		labels = w.padded()
	}
	ok := yield(w.edges, labels)
	w.edges, w.labels = w.edges[:0], labels[:0]
	return ok
}

// Build builds the cell of the view: all of its pages but those without links, which
// it returns as collected. o.Range and o.Epoch are set to the view's. It is to be
// called outside of any lock: it takes the time of a whole cell.
func (v *View) Build(o cell.Options) (data []byte, collected []uid.UID, err error) {
	o.Range, o.Epoch = v.cell.Range(), v.epoch
	b, err := cell.NewBuilder(o)
	if err != nil {
		return nil, nil, err
	}
	for p := range v.Pages() {
		if !p.Linked {
			collected = append(collected, p.UID)
		} else if err := b.AddPage(p.UID, p.URL); err != nil {
			return nil, nil, err
		}
	}
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
	// What was read of a damaged cell is not whole.
	if err := v.cell.Err(); err != nil {
		return nil, nil, err
	}
	if data, err = b.Build(); err != nil {
		return nil, nil, err
	}
	return data, collected, nil
}
