// Reads of the graph.

package linkgraph

import (
	"context"
	"iter"
	"math/bits"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

var _ links.Graph = (*Graph)(nil)

// checkPages is the number of pages between two checks of the context.
const checkPages = 1 << 8

// each calls do with the numbers from 0 to n-1 until an error or the end of ctx.
func each(ctx context.Context, n int, do func(i int) error) error {
	for i := range n {
		if i%checkPages == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// UIDs implements links.Graph.
func (g *Graph) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	s, err := g.now(ctx)
	if err != nil {
		return nil, err
	}
	// 1. Look in the cells, in batches, because memory accesses then overlap.
	found := make([]uid.UID, len(urls))
	var missing []int
	var hosts [delta.ReaderLen]uint64
	err = s.eachBatch(ctx, len(urls), func(i, k int) uid.UID {
		hosts[k] = cell.HostHash(urls[i])
		return uid.Make(slotOf(hosts[k]), 1, 0)
	}, func(r *delta.Reader, views []*delta.View, from int) bool {
		r.FindURLs(views, urls[from:from+len(views)], hosts[:len(views)])
		for i := range views {
			var ok bool
			if found[from+i], ok = r.UID(i); !ok {
				missing = append(missing, from+i)
			}
		}
		return true
	})
	if err != nil || len(missing) == 0 {
		return found, err
	}
	// 2. If a page has no links any more, it is in no cell, but the store has its UID.
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	return found, each(ctx, len(missing), func(i int) (err error) {
		found[missing[i]], err = findUID(ctx, sn, urls[missing[i]])
		return err
	})
}

// slotOf returns the slot of a host from its cell.HostHash, as uid.SlotOf does from its key.
func slotOf(hostHash uint64) uid.Slot { return uid.Slot(hostHash >> (64 - uid.SlotBits)) }

// URLs implements links.Graph.
func (g *Graph) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	s, err := g.now(ctx)
	if err != nil {
		return nil, err
	}
	// 1. Look in the cells, in batches.
	found := make([]string, len(pages))
	var missing []int
	var url []byte
	err = s.eachBatch(ctx, len(pages), func(i, _ int) uid.UID { return pages[i] },
		func(r *delta.Reader, views []*delta.View, from int) bool {
			r.ReadURLs(views, pages[from:from+len(views)])
			for i := range views {
				var ok bool
				if url, ok = r.AppendURL(url[:0], i); ok {
					found[from+i] = string(url)
				} else if pages[from+i].Valid() {
					missing = append(missing, from+i)
				}
			}
			return true
		})
	if err != nil || len(missing) == 0 {
		return found, err
	}
	// 2. If a page is in no cell, the store may still have its UID.
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	return found, each(ctx, len(missing), func(i int) (err error) {
		found[missing[i]], err = findURL(ctx, sn, pages[missing[i]])
		return err
	})
}

// Links implements links.Graph.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (l links.Lists, err error) {
	s, err := g.now(ctx)
	if err != nil {
		return l, err
	}
	l.Ends = make([]int, 0, len(pages))
	return l, s.eachRead(ctx, d, pages, func(r *delta.Reader, n int) bool {
		if len(l.Ends) == 0 {
			l.Items = make([]uid.UID, 0, guess(r, n, len(pages)))
		}
		for i := range n {
			l.Items = r.AppendLinks(l.Items, i)
			l.End()
		}
		return true
	})
}

// mostGuessed bounds a guess, because the first lists may be far longer than others.
const mostGuessed = 1 << 18

// guess returns about the number of links of all pages. The first n, at least one, were read.
// It is there because a slice that grows is copied again and again.
func guess(r *delta.Reader, n, pages int) int {
	first := 0
	for i := range n {
		first += min(r.Degree(i), mostGuessed)
	}
	return min(first, mostGuessed) + min(first/n*(pages-n)/8*9, mostGuessed)
}

// upToPages bounds the pages of LinksPrefix. It is small because the caller can then begin its
// answer early, with the lists still in the processor's cache.
const upToPages = 1 << 10

// LinksPrefix returns the links of a prefix of pages whose total is at most most. The prefix is
// empty if the first page alone exceeds it.
func (g *Graph) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	s, err := g.now(ctx)
	if err != nil {
		return l, err
	}
	pages = pages[:min(len(pages), upToPages)]
	l.Ends = make([]int, 0, len(pages))
	return l, s.eachRead(ctx, d, pages, func(r *delta.Reader, n int) bool {
		if len(l.Ends) == 0 {
			l.Items = make([]uid.UID, 0, min(guess(r, n, len(pages)), most))
		}
		for i := range n {
			if len(l.Items)+r.Degree(i) > most {
				return false
			}
			l.Items = r.AppendLinks(l.Items, i)
			l.End()
		}
		return true
	})
}

// eachRead calls use with the links of pages, in order, n at a time. It stops if use returns
// false or ctx ends.
func (s *state) eachRead(ctx context.Context, d links.Direction, pages []uid.UID, use func(r *delta.Reader, n int) bool) error {
	return s.eachBatch(ctx, len(pages), func(i, _ int) uid.UID { return pages[i] },
		func(r *delta.Reader, views []*delta.View, from int) bool {
			r.Read(d, views, pages[from:from+len(views)])
			return use(r, len(views))
		})
}

// eachBatch calls use for the numbers below n in batches, with the views of their UIDs. from is
// the first number of a batch. of returns the UID of number i, with index k in its batch. It
// stops if use returns false or ctx ends.
func (s *state) eachBatch(ctx context.Context, n int, of func(i, k int) uid.UID, use func(r *delta.Reader, views []*delta.View, from int) bool) error {
	r := delta.NewReader()
	defer r.Release()
	lasts := s.lasts()
	var views [delta.ReaderLen]*delta.View
	for from := 0; from < n; from += delta.ReaderLen {
		if from%checkPages == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		some := views[:min(delta.ReaderLen, n-from)]
		for k := range some {
			some[k] = s.views[findPart(lasts, of(from+k, k))]
		}
		if !use(r, some, from) {
			return nil
		}
	}
	return nil
}

// lasts returns the last UIDs of the parts.
func (s *state) lasts() []uid.UID {
	lasts := make([]uid.UID, len(s.parts))
	for i, p := range s.parts {
		lasts[i] = p.Last
	}
	return lasts
}

// findPart is find without branches, because the processor cannot predict them if the pages are
// of random parts. lasts are the last UIDs of the parts.
func findPart(lasts []uid.UID, u uid.UID) (at int) {
	for n := len(lasts); n > 1; {
		half := n / 2
		_, below := bits.Sub64(uint64(lasts[at+half-1]), uint64(u), 0)
		at += half * int(below)
		n -= half
	}
	return at
}

// Labels implements links.Graph.
func (g *Graph) Labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	s, err := g.now(ctx)
	if err != nil {
		return l, err
	}
	return l, each(ctx, len(pages), func(i int) error {
		l.Items = s.view(pages[i]).AppendLabels(l.Items, pages[i])
		l.End()
		return nil
	})
}

// Degrees implements links.Graph.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	s, err := g.now(ctx)
	if err != nil {
		return nil, err
	}
	degrees := make([]int, 0, len(pages))
	return degrees, s.eachRead(ctx, d, pages, func(r *delta.Reader, n int) bool {
		for i := range n {
			degrees = append(degrees, r.Degree(i))
		}
		return true
	})
}

// SampleLinks implements links.Graph and rank.Source.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, spec sample.Spec) (l links.Lists, err error) {
	s, err := g.now(ctx)
	if err != nil {
		return l, err
	}
	// 1. Each goroutine reads its spans with a reader of its own.
	lasts := s.lasts()
	return rank.MakeLists(ctx, len(pages), nil, func(l *links.Lists, spans iter.Seq2[int, int]) {
		r := delta.NewReader()
		defer r.Release()
		var list []uid.UID
		// views are those of one batch.
		var views [delta.ReaderLen]*delta.View
		for from, to := range spans {
			for ; from < to; from += delta.ReaderLen {
				some := pages[from:min(to, from+delta.ReaderLen)]
				for k, u := range some {
					views[k] = s.views[findPart(lasts, u)]
				}
				r.Read(d, views[:], some)
				for k, u := range some {
					// 2. Short lists are sampled whole. A long one may have a sketch.
					if _, _, short := r.Targets(k); short || spec.Mode != sample.ModeConsistent {
						list = r.AppendLinks(list[:0], k)
						l.Items = sample.Sample(l.Items, list, u, spec, g.hosts)
					} else {
						l.Items, list = g.sample(l.Items, list, s, d, u, spec)
					}
					l.End()
				}
			}
		}
	})
}

// sample appends the sample of a long list. list is memory for its links, which is returned.
func (g *Graph) sample(dst, list []uid.UID, s *state, d links.Direction, page uid.UID, spec sample.Spec) (sampled, memory []uid.UID) {
	at := s.find(page)
	if spec.Mode == sample.ModeConsistent {
		if sampled, ok := g.bySketch(dst, s, at, d, page, spec); ok {
			return sampled, list
		}
	}
	list = s.views[at].AppendLinks(list[:0], d, page)
	return sample.Sample(dst, list, page, spec, g.hosts), list
}

// bySketch appends the consistent sample of a long list with a sketch. It returns false if
// there is none, or if the sketch does not suffice.
func (g *Graph) bySketch(dst []uid.UID, s *state, at int, d links.Direction, page uid.UID, spec sample.Spec) ([]uid.UID, bool) {
	tables := s.sketches[at]
	c := s.views[at].Cell()
	ord, ok := c.Ordinal(page)
	if tables == nil || !ok {
		return dst, false
	}
	sketch, ok := tables[d].Find(ord)
	if !ok {
		return dst, false
	}
	var changes sample.Changes
	if changes.Added, changes.Deleted, ok = s.views[at].Changes(d, page); !ok {
		return dst, false
	}
	if spec.Class != sample.All {
		changes.Classes = sample.ClassesOf(g.hosts, page)
	}
	return sketch.Sample(dst, spec.N, spec.Class, changes)
}

// Pages implements links.Graph.
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error) {
	s, err := g.now(ctx)
	if err != nil {
		return nil, err
	}
	var pages []uid.UID
	for i := s.find(after); i < len(s.views) && len(pages) < n; i++ {
		for u := range s.views[i].UIDs(after) {
			if pages = append(pages, u); len(pages) == n {
				break
			}
			if len(pages)%checkPages == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	return pages, nil
}

// Stats implements links.Graph.
func (g *Graph) Stats(ctx context.Context) (links.Stats, error) {
	all := links.Stats{Loading: true}
	if text := g.progress.Load(); text != nil {
		all.Progress = *text
	}
	s := g.state.Load()
	last, _ := g.store.ChangeFeed().End()
	if s == nil {
		all.Pending = last
		return all, ctx.Err()
	}
	all.Loading, all.Progress = false, ""
	all.Epoch = s.feed
	all.Pending = last - min(s.feed, last)
	one := links.ServerStats{ID: g.store.MachineID().String(), Cells: len(s.views)}
	for i, v := range s.views {
		if err := ctx.Err(); err != nil {
			return all, context.Cause(ctx)
		}
		add(&one, v, s.parts[i].Range)
	}
	all.ServerStats, all.ID = one, ""
	all.Servers = []links.ServerStats{one}
	return all, nil
}

// add adds a view to the stats of a server.
func add(s *links.ServerStats, v *delta.View, r uid.Range) {
	s.Pages += int64(v.NumPages())
	s.Links += v.NumLinks(cell.Forward)
	s.Linked += v.NumLinks(cell.Backward)
	s.MaxOut = max(s.MaxOut, v.MaxDegree(cell.Forward))
	s.MaxIn = max(s.MaxIn, v.MaxDegree(cell.Backward))
	if first, last, ok := v.Ends(); ok {
		if s.MinUID == 0 {
			s.MinUID = first
		}
		s.MaxUID = last
	}
	c := v.Cell()
	s.Bytes += int64(len(c.Bytes()))
	s.DeltaBytes += v.Bytes()
	for name, size := range c.Sizes() {
		switch {
		case name == "URLs":
			s.URLBytes += int64(size)
		case name == "forward lists" || name == "forward ghosts":
			s.ForwardBytes += int64(size)
		case name == "backward lists" || name == "backward ghosts":
			s.BackwardBytes += int64(size)
		}
	}
}

// Epoch returns the sequence of the store's feed up to which readers see changes. It grows
// with every change of the graph. It is 0 if there is no graph yet.
func (g *Graph) Epoch() uint64 {
	if s := g.state.Load(); s != nil {
		return s.feed
	}
	return 0
}
