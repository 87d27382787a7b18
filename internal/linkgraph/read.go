// Reads of the graph.

package linkgraph

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
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
	// 1. Look in the cells.
	of := func(i int) int { return partitionOfURL(urls[i]) }
	s, err := g.local(ctx, len(urls), of)
	var found []uid.UID
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		found, err = s.uids(ctx, urls)
	default:
		var lists links.Lists
		lists, err = gather(ctx, g, request[uid.UID]{
			n: len(urls), of: of,
			local: func(s *state, items []int) (links.Lists, error) {
				uids, err := s.uids(ctx, pick(urls, items))
				return singles(uids), err
			},
			query: func(items []int) *query { return &query{kind: askUIDs, urls: pick(urls, items)} },
			parse: parseUIDs,
		})
		if found = lists.Items; err == nil && len(found) != len(urls) {
			err = fmt.Errorf("%w: %d UIDs for %d pages", peer.ErrMessage, len(found), len(urls))
		}
	}
	if err != nil {
		return nil, err
	}
	// 2. If a page has no links any more, it is in no cell, but the store has its UID.
	var missing []string
	var places []int
	for i, u := range found {
		if u == 0 {
			missing, places = append(missing, urls[i]), append(places, i)
		}
	}
	rest, err := findUIDs(ctx, g.node, missing)
	for k, u := range rest {
		found[places[k]] = u
	}
	return found, err
}

// singles returns lists of one item each.
func singles[T any](items []T) (l rank.Lists[T]) {
	l.Items, l.Ends = items, make([]int, len(items))
	for i := range l.Ends {
		l.Ends[i] = i + 1
	}
	return l
}

// parseUIDs returns the items of an answer as UIDs.
func parseUIDs(a *answer) ([]uid.UID, error) { return numbersOf[uid.UID](a.items), nil }

// numbersOf converts numbers.
func numbersOf[T ~uint64 | ~uint32 | ~int](items []uint64) []T {
	list := make([]T, len(items))
	for i, n := range items {
		list[i] = T(n)
	}
	return list
}

// uids returns the UIDs of pages that are in the cells, 0 for others. They are looked up in
// batches, because memory accesses then overlap.
func (s *state) uids(ctx context.Context, urls []string) ([]uid.UID, error) {
	found := make([]uid.UID, len(urls))
	var hosts [delta.ReaderLen]uint64
	return found, s.eachBatch(ctx, len(urls), func(i, k int) uid.UID {
		hosts[k] = cell.HostHash(urls[i])
		return uid.Make(slotOf(hosts[k]), 1, 0)
	}, func(r *delta.Reader, views []*delta.View, from int) bool {
		r.FindURLs(views, urls[from:from+len(views)], hosts[:len(views)])
		for i := range views {
			found[from+i], _ = r.UID(i)
		}
		return true
	})
}

// slotOf returns the slot of a host from its cell.HostHash, as uid.SlotOf does from its key.
func slotOf(hostHash uint64) uid.Slot { return uid.Slot(hostHash >> (64 - uid.SlotBits)) }

// URLs implements links.Graph.
func (g *Graph) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	// 1. Look in the cells.
	s, err := g.local(ctx, len(pages), ofPages(pages))
	var found []string
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		found, err = s.urls(ctx, pages)
	default:
		var lists rank.Lists[string]
		lists, err = gather(ctx, g, request[string]{
			n: len(pages), of: ofPages(pages),
			local: func(s *state, items []int) (rank.Lists[string], error) {
				urls, err := s.urls(ctx, pick(pages, items))
				return singles(urls), err
			},
			query: func(items []int) *query { return &query{kind: askURLs, pages: pick(pages, items)} },
			parse: func(a *answer) ([]string, error) { return a.texts, nil },
		})
		if found = lists.Items; err == nil && len(found) != len(pages) {
			err = fmt.Errorf("%w: %d URLs for %d pages", peer.ErrMessage, len(found), len(pages))
		}
	}
	if err != nil {
		return nil, err
	}
	// 2. If a page is in no cell, the store may still have its UID.
	var missing []uid.UID
	var places []int
	for i, url := range found {
		if url == "" && pages[i].Valid() {
			missing, places = append(missing, pages[i]), append(places, i)
		}
	}
	rest, err := findURLs(ctx, g.node, missing)
	for k, url := range rest {
		found[places[k]] = url
	}
	return found, err
}

// urls returns the URLs of pages that are in the cells, "" for others.
func (s *state) urls(ctx context.Context, pages []uid.UID) ([]string, error) {
	found := make([]string, len(pages))
	var url []byte
	return found, s.eachBatch(ctx, len(pages), func(i, _ int) uid.UID { return pages[i] },
		func(r *delta.Reader, views []*delta.View, from int) bool {
			r.ReadURLs(views, pages[from:from+len(views)])
			for i := range views {
				var ok bool
				if url, ok = r.AppendURL(url[:0], i); ok {
					found[from+i] = string(url)
				}
			}
			return true
		})
}

// Links implements links.Graph.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	s, err := g.local(ctx, len(pages), ofPages(pages))
	if err != nil {
		return links.Lists{}, err
	}
	if s != nil {
		return s.links(ctx, d, pages, math.MaxInt)
	}
	return g.gatherLinks(ctx, d, pages, math.MaxInt)
}

// gatherLinks returns the links of pages of several machines. Each machine returns those of a
// prefix of its pages, with at most most links.
func (g *Graph) gatherLinks(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	return gather(ctx, g, request[uid.UID]{
		n: len(pages), of: ofPages(pages),
		local: func(s *state, items []int) (links.Lists, error) {
			l, err := s.links(ctx, d, pick(pages, items), most)
			return padded(l, len(items)), err
		},
		query: func(items []int) *query {
			return &query{kind: askLinks, direction: d, pages: pick(pages, items), most: uint64(most)}
		},
		parse: parseUIDs,
	})
}

// padded adds empty lists up to n.
func padded(l links.Lists, n int) links.Lists {
	for len(l.Ends) < n {
		l.End()
	}
	return l
}

// links returns the links of a prefix of pages whose total is at most most.
func (s *state) links(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	l.Ends = make([]int, 0, len(pages))
	return l, s.eachRead(ctx, d, pages, func(r *delta.Reader, n int) bool {
		if len(l.Ends) == 0 {
			l.Items = make([]uid.UID, 0, min(guess(r, n, len(pages)), most))
		}
		for i := range n {
			if most-len(l.Items) < r.Degree(i) {
				return false
			}
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
	pages = pages[:min(len(pages), upToPages)]
	s, err := g.local(ctx, len(pages), ofPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return s.links(ctx, d, pages, most)
	}
	// Degrees tell which pages fit, because a machine knows nothing of the pages of others.
	degrees, err := g.Degrees(ctx, d, pages)
	if err != nil {
		return l, err
	}
	n, total := 0, 0
	for n < len(pages) && total+degrees[n] <= most {
		total += degrees[n]
		n++
	}
	if n == 0 {
		return l, nil
	}
	// A list may grow meanwhile, but not much.
	return g.Links(ctx, d, pages[:n])
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
	s, err := g.local(ctx, len(pages), ofPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return s.labels(ctx, pages)
	}
	return gather(ctx, g, request[links.Label]{
		n: len(pages), of: ofPages(pages),
		local: func(s *state, items []int) (rank.Lists[links.Label], error) { return s.labels(ctx, pick(pages, items)) },
		query: func(items []int) *query { return &query{kind: askLabels, pages: pick(pages, items)} },
		parse: func(a *answer) ([]links.Label, error) { return parseLabels(a.texts) },
	})
}

// labels returns the labels of the forward links of pages.
func (s *state) labels(ctx context.Context, pages []uid.UID) (l rank.Lists[links.Label], err error) {
	return l, each(ctx, len(pages), func(i int) error {
		l.Items = s.view(pages[i]).AppendLabels(l.Items, pages[i])
		l.End()
		return nil
	})
}

// Degrees implements links.Graph.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	s, err := g.local(ctx, len(pages), ofPages(pages))
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.degrees(ctx, d, pages)
	}
	lists, err := gather(ctx, g, request[int]{
		n: len(pages), of: ofPages(pages),
		local: func(s *state, items []int) (rank.Lists[int], error) {
			degrees, err := s.degrees(ctx, d, pick(pages, items))
			return singles(degrees), err
		},
		query: func(items []int) *query { return &query{kind: askDegrees, direction: d, pages: pick(pages, items)} },
		parse: func(a *answer) ([]int, error) { return numbersOf[int](a.items), nil },
	})
	if err == nil && len(lists.Items) != len(pages) {
		err = fmt.Errorf("%w: %d degrees for %d pages", peer.ErrMessage, len(lists.Items), len(pages))
	}
	return lists.Items, err
}

// degrees returns the numbers of links of pages.
func (s *state) degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
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
	s, err := g.local(ctx, len(pages), ofPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return g.sampleAll(ctx, s, d, pages, spec)
	}
	return gather(ctx, g, request[uid.UID]{
		n: len(pages), of: ofPages(pages),
		local: func(s *state, items []int) (links.Lists, error) {
			return g.sampleAll(ctx, s, d, pick(pages, items), spec)
		},
		query: func(items []int) *query {
			return &query{kind: askSample, direction: d, spec: spec, pages: pick(pages, items)}
		},
		parse: parseUIDs,
	})
}

// sampleAll returns samples of the links of pages.
func (g *Graph) sampleAll(ctx context.Context, s *state, d links.Direction, pages []uid.UID, spec sample.Spec) (l links.Lists, err error) {
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
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) (pages []uid.UID, err error) {
	// One partition after the other, because UIDs ascend with them.
	for p := partitionOf(after); p < numPartitions && len(pages) < n; p++ {
		of := func(int) int { return p }
		s, err := g.local(ctx, 1, of)
		var some []uid.UID
		switch {
		case err != nil:
			return nil, err
		case s != nil:
			some, err = s.pages(ctx, p, after, n-len(pages))
		default:
			var lists links.Lists
			// Another machine holds the partition.
			lists, err = gather(ctx, g, request[uid.UID]{
				n: 1, of: of,
				local: func(s *state, _ []int) (l links.Lists, err error) {
					l.Items, err = s.pages(ctx, p, after, n-len(pages))
					l.End()
					return l, err
				},
				query: func([]int) *query {
					return &query{kind: askPages, number: uint64(p), pages: []uid.UID{after}, most: uint64(n - len(pages))}
				},
				parse: parseUIDs,
			})
			some = lists.Items
		}
		if err != nil {
			return nil, err
		}
		pages = append(pages, some...)
	}
	return pages, nil
}

// pages returns the next n pages after one in a partition, fewer at its end.
func (s *state) pages(ctx context.Context, partition int, after uid.UID, n int) (pages []uid.UID, err error) {
	for i := range s.partsOf(partition) {
		for u := range s.views[i].UIDs(after) {
			if len(pages) >= n {
				return pages, nil
			}
			pages = append(pages, u)
			if len(pages)%checkPages == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		}
	}
	return pages, nil
}

// partsOf yields the indexes of the parts of a held partition.
func (s *state) partsOf(partition int) iter.Seq[int] {
	return func(yield func(int) bool) {
		r := partitionRange(partition)
		for i := s.find(r.First); i < len(s.parts) && s.parts[i].First <= r.Last; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// add adds a view to the stats of a server.
func add(s *links.ServerStats, v *delta.View) {
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
