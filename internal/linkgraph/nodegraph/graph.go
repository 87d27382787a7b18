// Package nodegraph is the graph of links of a node that is alone at first and may become one
// machine of a cluster. It answers from the cells of the lone store until then, and from the
// ordered ranges of all machines afterwards.
package nodegraph

import (
	"context"
	"errors"
	"sync"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Alone is the graph of a lone node.
type Alone interface {
	links.Graph
	// Epoch returns the epoch that readers see.
	Epoch() uint64
	Close() error
}

// Graph is one of two graphs. It implements links.Graph.
type Graph struct {
	alone    Alone
	together links.Graph
	member   func() bool

	closing sync.Once
	closed  chan struct{} // closed when alone is closed
	err     error         // the error of that
}

// New returns the graph alone, which may be nil, until member reports that the node is part of
// a cluster, and together from then on. It closes alone, then or in Close.
func New(alone Alone, together links.Graph, member func() bool) *Graph {
	return &Graph{alone: alone, together: together, member: member, closed: make(chan struct{})}
}

// Close closes the graph of the lone node.
func (g *Graph) Close() error {
	if g.alone == nil {
		return nil
	}
	g.end()
	<-g.closed
	return g.err
}

// end closes the graph of the lone node in the background, once.
func (g *Graph) end() {
	g.closing.Do(func() {
		go func() {
			defer close(g.closed)
			g.err = g.alone.Close()
		}()
	})
}

func (g *Graph) now() links.Graph {
	if g.alone == nil {
		return g.together
	}
	if !g.member() {
		return g.alone
	}
	g.end() // its cells are not needed any more
	return g.together
}

// do calls f with the current graph. If the node becomes a member during the call, it calls f
// again with the other one.
func do[T any](g *Graph, f func(links.Graph) (T, error)) (T, error) {
	graph := g.now()
	answer, err := f(graph)
	if err != nil && graph == links.Graph(g.alone) && (errors.Is(err, store.ErrMember) || errors.Is(err, store.ErrClosed)) && g.member() {
		return f(g.now())
	}
	return answer, err
}

func none(f func(links.Graph) error) func(links.Graph) (struct{}, error) {
	return func(graph links.Graph) (struct{}, error) { return struct{}{}, f(graph) }
}

// Capabilities returns the abilities of both graphs, because the node may join a cluster at any
// time. If the graph that answers lacks one, its methods return an empty answer or
// errors.ErrUnsupported.
func (g *Graph) Capabilities() links.Capabilities {
	c := links.Capabilities{Loader: g, Epoch: g, RemoteEpoch: g, Prefix: g, Packed: g}
	if g.together != nil {
		c.Copies = g.together.Capabilities().Copies
	}
	return c
}

// Epoch returns the epoch of a lone node's graph. It is 0 in a cluster, because no machine has
// the epoch in memory.
func (g *Graph) Epoch() uint64 {
	if g.alone == nil || g.member() {
		return 0
	}
	return g.alone.Epoch()
}

// CurrentEpoch returns the graph's epoch: from memory if the node is alone, else as
// ranges.Graph does. 0 means none.
func (g *Graph) CurrentEpoch(ctx context.Context, cached uint64) (uint64, error) {
	return do(g, func(graph links.Graph) (uint64, error) {
		switch has := graph.Capabilities(); {
		case has.Epoch != nil:
			return has.Epoch.Epoch(), nil
		case has.RemoteEpoch != nil:
			return has.RemoteEpoch.CurrentEpoch(ctx, cached)
		}
		return 0, nil
	})
}

// UIDs implements links.Graph.
func (g *Graph) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	return do(g, func(graph links.Graph) ([]uid.UID, error) { return graph.UIDs(ctx, urls) })
}

// URLs implements links.Graph.
func (g *Graph) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	return do(g, func(graph links.Graph) ([]string, error) { return graph.URLs(ctx, pages) })
}

// Links implements links.Graph.
func (g *Graph) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	return do(g, func(graph links.Graph) (links.Lists, error) { return graph.Links(ctx, d, pages) })
}

// LinksPrefix implements links.PrefixReader. The prefix is empty if the graph that answers has
// no such ability: the caller must request degrees then.
func (g *Graph) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, maxLinks int) (links.Lists, error) {
	return do(g, func(graph links.Graph) (l links.Lists, err error) {
		if has := graph.Capabilities(); has.Prefix != nil {
			return has.Prefix.LinksPrefix(ctx, d, pages, maxLinks)
		}
		return l, nil
	})
}

// PackedPrefix implements links.PackedReader. It returns errors.ErrUnsupported on a lone node,
// because its cells must be decoded.
func (g *Graph) PackedPrefix(ctx context.Context, d links.Direction, pages []uid.UID, maxLinks int) (lengths []int, packed rank.Lists[byte], err error) {
	packed, err = do(g, func(graph links.Graph) (l rank.Lists[byte], err error) {
		has := graph.Capabilities()
		if has.Packed == nil {
			return l, errors.ErrUnsupported
		}
		lengths, l, err = has.Packed.PackedPrefix(ctx, d, pages, maxLinks)
		return l, err
	})
	return lengths, packed, err
}

// Labels implements links.Graph.
func (g *Graph) Labels(ctx context.Context, pages []uid.UID) (rank.Lists[links.Label], error) {
	return do(g, func(graph links.Graph) (rank.Lists[links.Label], error) { return graph.Labels(ctx, pages) })
}

// SampleLinks implements links.Graph.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (links.Lists, error) {
	return do(g, func(graph links.Graph) (links.Lists, error) { return graph.SampleLinks(ctx, d, pages, s) })
}

// Degrees implements links.Graph.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	return do(g, func(graph links.Graph) ([]int, error) { return graph.Degrees(ctx, d, pages) })
}

// Pages implements links.Graph.
func (g *Graph) Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error) {
	return do(g, func(graph links.Graph) ([]uid.UID, error) { return graph.Pages(ctx, after, n) })
}

// Stats implements links.Graph.
func (g *Graph) Stats(ctx context.Context) (links.Stats, error) {
	return do(g, func(graph links.Graph) (links.Stats, error) { return graph.Stats(ctx) })
}

// Update implements links.Graph.
func (g *Graph) Update(ctx context.Context, changes []links.Change) (links.UpdateResult, error) {
	return do(g, func(graph links.Graph) (links.UpdateResult, error) { return graph.Update(ctx, changes) })
}

// Rank implements links.Graph.
func (g *Graph) Rank(ctx context.Context, r links.RankRequest) (links.Ranking, error) {
	return do(g, func(graph links.Graph) (links.Ranking, error) { return graph.Rank(ctx, r) })
}

// StartPageRank implements links.Graph.
func (g *Graph) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	_, err := do(g, none(func(graph links.Graph) error { return graph.StartPageRank(ctx, o) }))
	return err
}

// PageRank implements links.Graph.
func (g *Graph) PageRank(ctx context.Context) (links.PageRankJob, error) {
	return do(g, func(graph links.Graph) (links.PageRankJob, error) { return graph.PageRank(ctx) })
}

// StopPageRank implements links.Graph.
func (g *Graph) StopPageRank(ctx context.Context) error {
	_, err := do(g, none(func(graph links.Graph) error { return graph.StopPageRank(ctx) }))
	return err
}

// Request implements links.Loader.
func (g *Graph) Request(ctx context.Context) error {
	return g.load(ctx, links.Loader.Request)
}

// Relinquish implements links.Loader.
func (g *Graph) Relinquish(ctx context.Context) error {
	return g.load(ctx, links.Loader.Relinquish)
}

// load calls a method of the Loader of the graph that answers, if it has one.
func (g *Graph) load(ctx context.Context, call func(links.Loader, context.Context) error) error {
	_, err := do(g, none(func(graph links.Graph) error {
		if has := graph.Capabilities(); has.Loader != nil {
			return call(has.Loader, ctx)
		}
		return ctx.Err()
	}))
	return err
}
