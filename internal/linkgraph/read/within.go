// Links among the pages of a set.

package read

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// LinksWithin implements rank.Source. In a cluster each machine gets the whole set, and returns the
// links of its own pages.
func (rd *Reader) LinksWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	pages := set.UIDs()
	return gatherWithin(ctx, rd.Router, set, &route.Query{Kind: route.QueryWithin, Spec: sample.Spec{Class: class}, Set: pages},
		func(s *state.State) (rank.Lists[uint32], error) { return rd.Sampler.LinksWithin(ctx, s, set, class) },
		func(a *route.Answer) ([]uint32, error) { return parseWithin(a, len(pages)) })
}

// gatherWithin returns lists of all pages of a set. read must return them as far as a state holds
// them.
func gatherWithin[T any](ctx context.Context, g *route.Router, set *rank.Set, q *route.Query, read func(s *state.State) (rank.Lists[T], error), parse func(a *route.Answer) ([]T, error)) (l rank.Lists[T], err error) {
	pages := set.UIDs()
	s, err := g.Local(ctx, cell.ForwardStore, len(pages), state.OfPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return read(s)
	}
	return route.Gather(ctx, g, route.Request[T]{
		N: len(pages), Of: state.OfPages(pages), Size: route.NoSize,
		Local: func(s *state.State, items []int) (rank.Lists[T], error) {
			all, err := read(s)
			return route.PickLists(all, items), err
		},
		Query: func(items []int) *route.Query {
			one := *q
			one.Pages = route.Pick(pages, items)
			return &one
		},
		Parse: parse,
	})
}

// parseWithin returns the links of an answer: numbers in a set of n pages.
func parseWithin(a *route.Answer, n int) ([]uint32, error) {
	for _, number := range a.Items {
		if number >= uint64(n) {
			return nil, fmt.Errorf("%w: number %d of a set of %d", peer.ErrMessage, number, n)
		}
	}
	return route.NumbersOf[uint32](a.Items), nil
}

// LinksWithin returns the links of all pages of a set; those of pages in partitions that are not
// held are empty. Lists are read in the order of memory. If a link is within a cell, as most are,
// its ordinal is looked up and no UID is made.
func (sm *Sampler) LinksWithin(ctx context.Context, s *state.State, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	p, err := placeSet(ctx, s, set)
	if err != nil {
		return l, err
	}
	hosts := sm.Hosts.ForCall()
	l, err = rank.MakeLists(ctx, set.Len(), p.order, func(l *rank.Lists[uint32], spans iter.Seq2[int, int]) {
		w := withinReader{placed: p, hosts: hosts, class: class, reader: delta.NewReader()}
		defer w.reader.Release()
		for from, to := range spans {
			for from < to {
				end := w.next(from, to)
				w.read(l, from, end)
				from = end
			}
		}
	})
	return l, errors.Join(err, hosts.Failed())
}

// placed is the pages of a set by place: those of each cell by ordinal, then those in no cell.
type placed struct {
	s     *state.State // with the forward stores of all pages
	set   *rank.Set
	order []uint32 // their numbers in the set
	ords  []uint32 // of those in cells, by order
	cells []placedCell
}

// placedCell is the pages of a cell: those up to end in the order.
type placedCell struct {
	view    *delta.View
	members *cell.Members
	end     int
}

// placeSet finds the pages of a set in a state.
func placeSet(ctx context.Context, s *state.State, set *rank.Set) (*placed, error) {
	pages := set.UIDs()
	s, err := s.With(ctx, cell.ForwardStore, len(pages), state.OfPages(pages))
	if err != nil {
		return nil, err
	}
	// 1. Find the part and the ordinal of each page, in parallel.
	parts, ords := make([]uint32, len(pages)), make([]uint32, len(pages))
	// nowhere stands for pages that are in no cell; it sorts behind all parts.
	nowhere := uint32(len(s.Parts))
	lasts := s.Lasts()
	err = rank.Share(ctx, len(pages), func(spans iter.Seq2[int, int]) {
		r := delta.NewReader()
		defer r.Release()
		var views [delta.ReaderLen]*delta.View
		for from, to := range spans {
			for ; from < to; from += delta.ReaderLen {
				some := pages[from:min(to, from+delta.ReaderLen)]
				for k, u := range some {
					parts[from+k] = uint32(state.FindPart(lasts, u))
					views[k] = s.Views[parts[from+k]]
				}
				r.Find(views[:], some)
				for k := range some {
					var ok bool
					if ords[from+k], ok = r.Ordinal(k); !ok {
						parts[from+k] = nowhere
					}
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	// 2. Sort the pages by part, with a counting sort.
	p := &placed{s: s, set: set, order: make([]uint32, len(pages)), ords: make([]uint32, len(pages))}
	ends := make([]int, nowhere+1)
	for _, part := range parts {
		ends[part]++
	}
	start := 0
	for part, n := range ends {
		ends[part] = start // moves to the end as pages come
		start += n
	}
	for id, part := range parts {
		at := &ends[part]
		p.order[*at], p.ords[*at] = uint32(id), ords[id]
		*at++
	}
	// 3. Sort the pages of each cell by ordinal.
	start = 0
	for part, end := range ends[:nowhere] {
		if start < end {
			v := s.Views[part]
			m := cell.NewMembers(v.Cell().Len(), p.ords[start:end], p.order[start:end])
			ords, numbers := m.All()
			copy(p.ords[start:end], ords)
			copy(p.order[start:end], numbers)
			p.cells = append(p.cells, placedCell{v, m, end})
		}
		start = end
	}
	return p, nil
}

// withinReader is the state of one goroutine that reads links among pages.
type withinReader struct {
	*placed
	hosts  sample.Hosts
	class  sample.Class
	reader *delta.Reader
	in     int // index of the first cell that ends behind the last read page

	views   [delta.ReaderLen]*delta.View
	pages   [delta.ReaderLen]uid.UID
	locals  [delta.ReaderLen][]uint32
	ghosts  [delta.ReaderLen]int // end of a list's ghosts in links; -1 if it is read in another way
	links   []uid.UID
	numbers []uint32 // of links
	list    []uint32
}

// next returns the end of the pages from a place on that can be read together.
func (w *withinReader) next(from, to int) int {
	to = min(to, from+delta.ReaderLen)
	for w.in < len(w.cells) && w.cells[w.in].end <= from {
		w.in++
	}
	if w.in < len(w.cells) {
		to = min(to, w.cells[w.in].end)
	}
	for k, id := range w.order[from:to] {
		w.pages[k] = w.set.UIDs()[id]
		if w.in < len(w.cells) {
			w.views[k] = w.cells[w.in].view
		} else {
			w.views[k] = w.s.View(w.pages[k])
		}
	}
	return to
}

// read appends the lists of the pages at these places.
func (w *withinReader) read(l *rank.Lists[uint32], from, to int) {
	// 1. Pages in no cell, or with a class, need the UIDs of all links.
	n := to - from
	if w.in == len(w.cells) || w.class != sample.All {
		w.reader.Read(links.Forward, w.views[:], w.pages[:n])
		for k := range n {
			w.append(l, k)
			l.End()
		}
		return
	}
	w.reader.ReadTargets(links.Forward, w.views[:], w.pages[:n], w.ords[from:to])
	// 2. The ghosts of short lists are looked up together.
	w.links = w.links[:0]
	for k := range n {
		w.ghosts[k] = -1
		if w.reader.Changed(k) {
			continue
		}
		ok := false
		if w.locals[k], _, ok = w.reader.Targets(k); ok {
			w.links = w.reader.AppendGhosts(w.links, k)
			w.ghosts[k] = len(w.links)
		}
	}
	if cap(w.numbers) < len(w.links) {
		w.numbers = make([]uint32, 2*len(w.links))
	}
	numbers := w.numbers[:len(w.links)]
	w.set.Numbers(numbers, w.links)
	// 3. Append the lists, in the order of pages.
	members, start := w.cells[w.in].members, 0
	for k, end := range w.ghosts[:n] {
		switch {
		case end >= 0:
			l.Items = members.AppendNumbers(l.Items, w.locals[k])
			for _, id := range numbers[start:end] {
				if id != rank.NotIn {
					l.Items = append(l.Items, id)
				}
			}
			start = end
		case w.reader.Changed(k):
			w.append(l, k)
		default:
			w.list, w.links = w.reader.AppendTargets(w.list[:0], w.links[:0], k)
			l.Items = members.AppendNumbers(l.Items, w.list)
			l.Items = w.set.AppendWithin(l.Items, w.links, sample.All, sample.Classes{})
		}
		l.End()
	}
}

// append appends the links of page k of the last batch.
func (w *withinReader) append(l *rank.Lists[uint32], k int) {
	w.links = w.reader.AppendLinks(w.links[:0], k)
	var classes sample.Classes
	if w.class != sample.All {
		classes = sample.ClassesOf(w.hosts, w.pages[k])
	}
	l.Items = w.set.AppendWithin(l.Items, w.links, w.class, classes)
}
