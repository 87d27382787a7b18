// Package growing is the graph of links of a node that is alone at first and may become
// one machine of a cluster: it answers from the cells of the lone store, and from then
// on from the ordered ranges of all machines.
package growing

import (
	"context"
	"errors"
	"sync"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
)

// Alone is the graph of a node that is alone.
type Alone interface {
	links.Graph
	// Epoch is that of what readers see.
	Epoch() uint64
	Close() error
}

// Graph is one of two graphs. It implements links.Graph.
type Graph struct {
	alone    Alone
	together links.Graph
	member   func() bool

	closing sync.Once
	closed  chan struct{} // when alone is
	err     error         // of that
}

// New returns the graph that alone is, which may be nil, until member tells that the
// node is part of a cluster, and together from then on. It closes alone, then or when
// it is closed.
func New(alone Alone, together links.Graph, member func() bool) *Graph {
	return &Graph{alone: alone, together: together, member: member, closed: make(chan struct{})}
}

// Close ends the graph of the node alone.
func (g *Graph) Close() error {
	if g.alone == nil {
		return nil
	}
	g.end()
	<-g.closed
	return g.err
}

// end closes the graph of the node alone beside, once.
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
	g.end() // its cells are of no use any more
	return g.together
}

// do calls f with the graph that counts, and again where the node has become a member in
// the middle.
func do[T any](g *Graph, f func(links.Graph) (T, error)) (T, error) {
	graph := g.now()
	answer, err := f(graph)
	if err != nil && graph == links.Graph(g.alone) && (errors.Is(err, node.ErrMember) || errors.Is(err, node.ErrClosed)) && g.member() {
		return f(g.now())
	}
	return answer, err
}

func none(f func(links.Graph) error) func(links.Graph) (struct{}, error) {
	return func(graph links.Graph) (struct{}, error) { return struct{}{}, f(graph) }
}

// Epoch returns that of the graph of a node alone; 0 in a cluster, where nobody has it at
// hand.
func (g *Graph) Epoch() uint64 {
	if g.alone == nil || g.member() {
		return 0
	}
	return g.alone.Epoch()
}

// askedEpoch is a graph that has to ask for its epoch.
type askedEpoch interface {
	CurrentEpoch(ctx context.Context, told uint64) (uint64, error)
}

// CurrentEpoch returns the graph's epoch: of a node alone that which is at hand, and else as
// ranges.Graph does. 0 is none.
func (g *Graph) CurrentEpoch(ctx context.Context, told uint64) (uint64, error) {
	return do(g, func(graph links.Graph) (uint64, error) {
		if alone, ok := graph.(Alone); ok {
			return alone.Epoch(), nil
		}
		if asked, ok := graph.(askedEpoch); ok {
			return asked.CurrentEpoch(ctx, told)
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

// bounded is a graph that reads as many lists as there is room for.
type bounded interface {
	LinksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error)
}

// LinksUpTo returns the links of the first of some pages: of as many, or fewer, as have no
// more than most links together; of none where the first one alone may have more.
func (g *Graph) LinksUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	return do(g, func(graph links.Graph) (l links.Lists, err error) {
		if b, ok := graph.(bounded); ok {
			return b.LinksUpTo(ctx, d, pages, most)
		}
		return l, nil // of none: they are asked for by their degrees then
	})
}

// packed is a graph that has lists as answers in the binary form do.
type packed interface {
	PackedUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (lengths []int, lists rank.Lists[byte], err error)
}

// PackedUpTo is that of the graph which counts; the error is errors.ErrUnsupported where that
// has none, as a node alone decodes its cells.
func (g *Graph) PackedUpTo(ctx context.Context, d links.Direction, pages []uid.UID, most int) (lengths []int, lists rank.Lists[byte], err error) {
	lists, err = do(g, func(graph links.Graph) (l rank.Lists[byte], err error) {
		p, ok := graph.(packed)
		if !ok {
			return l, errors.ErrUnsupported
		}
		lengths, l, err = p.PackedUpTo(ctx, d, pages, most)
		return l, err
	})
	return lengths, lists, err
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

// Request implements links.Graph.
func (g *Graph) Request(ctx context.Context) error {
	_, err := do(g, none(func(graph links.Graph) error { return graph.Request(ctx) }))
	return err
}

// Relinquish implements links.Graph.
func (g *Graph) Relinquish(ctx context.Context) error {
	_, err := do(g, none(func(graph links.Graph) error { return graph.Relinquish(ctx) }))
	return err
}
