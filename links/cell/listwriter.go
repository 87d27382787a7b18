// ListWriter: lists that are ordinals already, without look-ups.

package cell

import (
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// ListWriter takes the lists of one direction, page after page; see [Builder.Lists]. It is for
// one goroutine.
type ListWriter struct {
	side  *side
	built builtLists
	err   error
}

// Lists begins direction d, which must have no edges. [ListWriter.Append] then takes the lists
// of all pages as ordinals. ghosts must be all targets that are not pages of the cell,
// ascending; the builder keeps the slice. As after AddEdges, no more pages may come, and two
// goroutines may write one direction each.
func (b *Builder) Lists(d Direction, ghosts []uid.UID) (*ListWriter, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.pages.finish()
	s := &b.sides[d]
	if s.written != nil || len(s.pending) > 0 || len(s.pieces) > 0 {
		return nil, fmt.Errorf("cell: %s lists begin a second time, or after edges: %w", d, ErrOrder)
	}
	w := &ListWriter{side: s, built: builtLists{ghosts: ghosts}}
	s.written = w
	w.built.lists, w.err = lists.NewBuilder(b.opts.Lists)
	if w.err == nil {
		w.err = w.checkGhosts()
	}
	return w, w.err
}

func (w *ListWriter) checkGhosts() error {
	ghosts, keys := w.built.ghosts, w.side.pages.keys
	if uint64(len(ghosts)) >= math.MaxUint32 {
		return fmt.Errorf("cell: %d ghosts: %w", len(ghosts), ErrTooLarge)
	}
	pages := pageFinder{table: w.side.pages}
	for i, u := range ghosts {
		if i > 0 && u <= ghosts[i-1] {
			return fmt.Errorf("cell: %s ghost %s after %s: %w", w.side.direction, u, ghosts[i-1], ErrOrder)
		}
		if !u.Valid() {
			return fmt.Errorf("cell: %s ghost %s: %w", w.side.direction, u, ErrUnknownPage)
		}
		if keys.Contains(u) {
			if _, is := pages.find(u); is {
				return fmt.Errorf("cell: %s ghost %s is a page of the cell: %w", w.side.direction, u, ErrRange)
			}
		}
	}
	return nil
}

// Append adds the list of the next page: ordinals of pages of the cell, and indexes in the
// ghosts. Each slice must ascend strictly. labels is nil or has one label for each target, in
// the order of the targets' UIDs. It must be nil in direction Backward. The writer keeps nothing
// of the slices but the anchors' bytes. Pages after the last call have no links.
func (w *ListWriter) Append(locals, ghosts []uint32, labels []Label) error {
	if w.err == nil {
		w.err = w.append(locals, ghosts, labels)
	}
	return w.err
}

func (w *ListWriter) append(locals, ghosts []uint32, labels []Label) error {
	// 1. Check the bounds. The order is checked by the builder of the lists.
	b, d := &w.built, w.side.direction
	key, pages := b.lists.Len(), w.side.pages.pages
	degree := len(locals) + len(ghosts)
	switch {
	case key >= pages:
		return fmt.Errorf("cell: the %s list of page %d of %d: %w", d, key, pages, ErrUnknownPage)
	case len(locals) > 0 && locals[len(locals)-1] >= pages, len(ghosts) > 0 && uint64(ghosts[len(ghosts)-1]) >= uint64(len(b.ghosts)):
		return fmt.Errorf("cell: the %s list of page %d of %d, with %d ghosts: %w", d, key, pages, len(b.ghosts), ErrUnknownPage)
	case len(labels) > 0 && (d != Forward || len(labels) != degree):
		return fmt.Errorf("cell: %d labels for %d %s links: give one for each forward one", len(labels), degree, d)
	}
	if err := b.lists.Append(locals, ghosts); err != nil {
		return fmt.Errorf("cell: %s lists: %w", d, err)
	}
	// 2. Count the links, because the header holds the totals.
	b.links += uint64(degree)
	b.maxDegree = max(b.maxDegree, uint32(degree))
	if !Labelled(labels) {
		return nil
	}
	// 3. Start the column of labels at the first one, because most cells have none.
	if b.labels == nil {
		b.labels = new(lists.LabelBuilder)
	}
	if err := b.labels.Append(key, labels); err != nil {
		return fmt.Errorf("cell: labels: %w", err)
	}
	return nil
}

// finish returns the lists of all pages. It ends the writer.
func (w *ListWriter) finish() (builtLists, error) {
	for w.err == nil && w.built.lists.Len() < w.side.pages.pages {
		w.err = w.append(nil, nil, nil)
	}
	return w.built, w.err
}
