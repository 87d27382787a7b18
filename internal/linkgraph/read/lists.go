// Reads of lists, labels and degrees.

package read

import (
	"context"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// Reader answers reads, from this machine's state if it holds all partitions, else from those of
// several machines.
type Reader struct {
	*machine.Machine
	Board   *state.Board
	Router  *route.Router
	Sampler *Sampler
}

// Links implements links.Graph.
func (rd *Reader) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	s, err := rd.Router.Local(ctx, cell.StoreOf(d), len(pages), state.OfPages(pages))
	if err != nil {
		return links.Lists{}, err
	}
	if s != nil {
		return s.Links(ctx, d, pages, math.MaxInt)
	}
	return route.Gather(ctx, rd.Router, linksRequest(ctx, d, pages, false, 0))
}

// linksRequest requests the links of pages; if bounded is set, of a prefix of them with at most most links.
func linksRequest(ctx context.Context, d links.Direction, pages []uid.UID, bounded bool, most int) route.Request[uid.UID] {
	r := route.Request[uid.UID]{
		N: len(pages), Of: state.OfPages(pages), Size: route.PageSize, Cut: true, Bounded: bounded, Most: most,
		Query: func(items []int) *route.Query {
			return &route.Query{Kind: route.QueryLinks, Direction: d, Pages: route.Pick(pages, items)}
		},
		Parse: route.ParseUIDs,
	}
	r.Local = func(s *state.State, items []int) (links.Lists, error) {
		return s.Links(ctx, d, route.Pick(pages, items), r.Share(items))
	}
	return r
}

// UpToPages bounds the pages of LinksPrefix. It is small because the caller can then begin its
// answer early, with the lists still in the processor's cache. If other machines are queried, it is
// upToRemotePages, because each call waits for messages.
const (
	UpToPages       = 1 << 10
	upToRemotePages = 1 << 13
)

// LinksPrefix returns the links of a prefix of pages whose total is at most most. The prefix is
// empty if the first page alone may exceed it.
func (rd *Reader) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (l links.Lists, err error) {
	first := pages[:min(len(pages), UpToPages)]
	s, err := rd.Router.Local(ctx, cell.StoreOf(d), len(first), state.OfPages(first))
	if err != nil {
		return l, err
	}
	if s != nil {
		return s.Links(ctx, d, first, most)
	}
	return route.Gather(ctx, rd.Router, linksRequest(ctx, d, pages[:min(len(pages), upToRemotePages)], true, most))
}

// Degrees implements links.Graph.
func (rd *Reader) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	s, err := rd.Router.Local(ctx, cell.StoreOf(d), len(pages), state.OfPages(pages))
	if err != nil {
		return nil, err
	}
	if s != nil {
		return s.Degrees(ctx, d, pages)
	}
	lists, err := route.Gather(ctx, rd.Router, route.Request[int]{
		N: len(pages), Of: state.OfPages(pages), Size: route.PageSize,
		Local: func(s *state.State, items []int) (rank.Lists[int], error) {
			degrees, err := s.Degrees(ctx, d, route.Pick(pages, items))
			return route.Singles(degrees), err
		},
		Query: func(items []int) *route.Query {
			return &route.Query{Kind: route.QueryDegrees, Direction: d, Pages: route.Pick(pages, items)}
		},
		Parse: func(a *route.Answer) ([]int, error) { return route.NumbersOf[int](a.Items), nil },
	})
	if err == nil && len(lists.Items) != len(pages) {
		err = fmt.Errorf("%w: %d degrees for %d pages", peer.ErrMessage, len(lists.Items), len(pages))
	}
	return lists.Items, err
}
