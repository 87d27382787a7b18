// Building all cells from a snapshot of the store: its pages, and how they are divided.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// builder makes the cells of a snapshot.
type builder struct {
	graph    *Graph
	snapshot *store.Snapshot
	keys     triple.Range
	labels   bool           // the store has annotations
	parts    []triple.Range // of the links, for each pass

	expected int // number of pages, about
	table    *table
	uids     []uid.UID // by ordinal, ascending
	spans    []*span
	near     []int32 // by ordinal >> nearBits: a span that ends behind the first of these ordinals

	links atomic.Int64 // links read in the current pass
	sizes []int64      // bytes of links by span; nil until they must be measured
}

// span is the pages of one cell: the ordinals in [first, end).
type span struct {
	uid.Range
	first, end uint32
	maker      *cell.Builder // of the cell
	added      bool          // the maker has the pages
}

const nearBits = 10

// errUnknown reports that links have ends without UIDs.
var errUnknown = errors.New("pages without UIDs")

// build makes all cells of the store's present content. If pages have no UIDs, they get some
// first. feed is the sequence up to which the feed is certainly in the cells.
func (g *Graph) build(ctx context.Context) (cells [][]byte, feed uint64, err error) {
	for {
		// The feed's end must be read before the snapshot, because the cells must have every
		// change up to it.
		feed, _ = g.store.ChangeFeed().End()
		rounds := g.assignRounds()
		var unknown []string
		if cells, unknown, err = g.tryBuild(ctx); !errors.Is(err, errUnknown) {
			return cells, feed, err
		}
		if err := g.assignAll(ctx, unknown, rounds); err != nil {
			return nil, 0, err
		}
	}
}

// assignRounds returns the number of times that UIDs were assigned.
func (g *Graph) assignRounds() int {
	g.assigning.Lock()
	defer g.assigning.Unlock()
	return g.assigner.rounds
}

// assignAll assigns UIDs to pages that had none when assignRounds returned rounds.
func (g *Graph) assignAll(ctx context.Context, urls []string, rounds int) error {
	g.assigning.Lock()
	defer g.assigning.Unlock()
	if g.assigner.rounds != rounds { // some of the pages may have them already
		var err error
		if urls, err = g.without(ctx, urls); err != nil {
			return err
		}
	}
	given, all := 0, len(urls)
	if all >= g.o.limits.loadedPages {
		g.say("%d new pages get UIDs", all)
		return g.assigner.load(ctx, urls, g.o.BuildBytes)
	}
	return g.assigner.assign(ctx, urls, func(some []assigned) error {
		given += len(some)
		g.say("%d of %d new pages have UIDs", given, all)
		return nil
	})
}

// without returns the pages that have no UIDs.
func (g *Graph) without(ctx context.Context, urls []string) (rest []string, err error) {
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sn.Close()) }()
	for _, url := range urls {
		u, err := findUID(ctx, sn, url)
		if err != nil {
			return nil, err
		}
		if u == 0 {
			rest = append(rest, url)
		}
	}
	return rest, nil
}

// tryBuild makes all cells of a snapshot. It fails with errUnknown if pages have no UIDs, and
// then returns these.
func (g *Graph) tryBuild(ctx context.Context) (cells [][]byte, unknown []string, err error) {
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, sn.Close()) }()
	b, err := g.newBuilder(ctx, sn)
	if err != nil {
		return nil, nil, err
	}
	// If memory does not suffice for all links, each round makes the cells that fit.
	cells = make([][]byte, len(b.spans))
	for from := 0; from < len(b.spans); {
		collected, to, err := b.collect(ctx, from)
		if err != nil {
			return nil, collected.unknown(), fmt.Errorf("read links: %w", err)
		}
		if err := b.makeCells(ctx, cells, from, to, collected); err != nil {
			return nil, nil, fmt.Errorf("build cells: %w", err)
		}
		from = to
	}
	return cells, nil, nil
}

// newBuilder returns the builder of a snapshot. It has read the pages.
func (g *Graph) newBuilder(ctx context.Context, sn *store.Snapshot) (b *builder, err error) {
	b = &builder{graph: g, snapshot: sn, labels: g.store.Status().Annotations > 0}
	if b.keys, err = predicateRange(g.o.Predicate); err != nil {
		return nil, err
	}
	uids, err := uidRange(uid.AllSlots.Range())
	if err != nil {
		return nil, err
	}
	rows, _, err := sn.EstimateRange(uids)
	if err != nil {
		return nil, err
	}
	b.expected = max(int(rows), b.graph.lastPages())
	b.table, b.uids = newTable(newSeeds(), b.expected), make([]uid.UID, 0, b.expected)
	if err := b.readPages(ctx); err != nil {
		return nil, fmt.Errorf("read the UIDs of pages: %w", err)
	}
	b.endSpans()
	if b.parts, err = b.divideLinks(ctx); err != nil {
		return nil, fmt.Errorf("divide the links: %w", err)
	}
	return b, nil
}

// endSpans builds the index from ordinals to spans.
func (b *builder) endSpans() {
	for i, s := range b.spans {
		for len(b.near)<<nearBits < int(s.end) {
			b.near = append(b.near, int32(i))
		}
	}
}

// read counts links, and reports progress.
func (b *builder) read(n int) {
	const often = 1 << 20
	if now := b.links.Add(int64(n)); now/often != (now-int64(n))/often {
		b.graph.say("%d links are read", now)
	}
}

// spanOf returns the index of the span with an ordinal.
func (b *builder) spanOf(ordinal uint32) int {
	i := int(b.near[ordinal>>nearBits])
	for b.spans[i].end <= ordinal {
		i++
	}
	return i
}
