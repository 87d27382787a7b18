// Reads of lists, labels and degrees.

package linkgraph

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
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

// reader answers reads, from this machine's state if it holds all partitions, else from those of
// several machines.
type reader struct {
	*machine
	forms   *forms
	board   *board
	router  *router
	sampler *sampler
}

// Links implements links.Graph.
func (rd *reader) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	s, err := rd.router.local(ctx, cell.StoreOf(d), len(pages), ofPages(pages))
	if err != nil {
		return links.Lists{}, err
	}
	if s != nil {
		return s.links(ctx, d, pages, math.MaxInt)
	}
	return gather(ctx, rd.router, linksRequest(ctx, d, pages, false, 0))
}

// linksRequest requests the links of pages; if bounded is set, of a prefix of them with at most most links.
func linksRequest(ctx context.Context, d links.Direction, pages []uid.UID, bounded bool, most int) request[uid.UID] {
	r := request[uid.UID]{
		n: len(pages), of: ofPages(pages), size: pageSize, cut: true, bounded: bounded, most: most,
		query: func(items []int) *query { return &query{kind: askLinks, direction: d, pages: pick(pages, items)} },
		parse: parseUIDs,
	}
	r.local = func(s *state, items []int) (links.Lists, error) {
		return s.links(ctx, d, pick(pages, items), r.share(items))
	}
	return r
}

// links returns the links of a prefix of pages whose total is at most most.
func (s *state) links(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	if s, err = s.with(ctx, cell.StoreOf(d), len(pages), ofPages(pages)); err != nil {
		return l, err
	}
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
// answer early, with the lists still in the processor's cache. If other machines are asked, it is
// upToRemotePages, because each call waits for messages.
const (
	upToPages       = 1 << 10
	upToRemotePages = 1 << 13
)

// LinksPrefix returns the links of a prefix of pages whose total is at most most. The prefix is
// empty if the first page alone may exceed it.
func (rd *reader) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	first := pages[:min(len(pages), upToPages)]
	s, err := rd.router.local(ctx, cell.StoreOf(d), len(first), ofPages(first))
	if err != nil {
		return l, err
	}
	if s != nil {
		return s.links(ctx, d, first, most)
	}
	return gather(ctx, rd.router, linksRequest(ctx, d, pages[:min(len(pages), upToRemotePages)], true, most))
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

// Degrees implements links.Graph.
func (rd *reader) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	s, err := rd.router.local(ctx, cell.StoreOf(d), len(pages), ofPages(pages))
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.degrees(ctx, d, pages)
	}
	lists, err := gather(ctx, rd.router, request[int]{
		n: len(pages), of: ofPages(pages), size: pageSize,
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
	s, err := s.with(ctx, cell.StoreOf(d), len(pages), ofPages(pages))
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
