// Building all cells from a snapshot of the store: its pages, and how they are divided.

package links

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// builder makes the cells of a snapshot.
type builder struct {
	graph    *Graph
	snapshot *node.Snapshot
	prefix   []byte // of the keys of links in POS
	keys     triple.Range
	labels   bool // there are annotations in the store

	table *table
	uids  []uid.UID // by ordinal, ascending
	spans []span
	near  []int32 // by ordinal >> nearBits: a span that ends behind the first of these
	cuts  [][]byte

	links atomic.Int64 // looked at, in the pass that runs
}

// span is the pages of one cell: ordinals from first up to end.
type span struct {
	uid.Range
	first, end uint32
}

const nearBits = 10

// errUnknown tells that links have ends without UIDs.
var errUnknown = errors.New("pages without UIDs")

// build makes all cells of what is in the store now, and gives UIDs to pages that have
// none. feed is the number of the last entry of the feed that is in them for sure.
func (g *Graph) build(ctx context.Context) (cells [][]byte, feed uint64, err error) {
	for {
		feed, _ = g.store.FeedEnd()
		var unknown [][]byte
		if cells, unknown, err = g.tryBuild(ctx, feed); !errors.Is(err, errUnknown) {
			return cells, feed, err
		}
		if err := g.assignAll(ctx, unknown); err != nil {
			return nil, 0, err
		}
	}
}

// assignAll gives UIDs to pages that have none.
func (g *Graph) assignAll(ctx context.Context, pages [][]byte) error {
	urls := make([]string, len(pages))
	for i, p := range pages {
		urls[i] = string(p)
	}
	if g.state.Load() != nil { // updates may have given UIDs since the snapshot
		_, err := g.resolve(ctx, urls, make(map[string]uid.UID, len(urls)))
		return err
	}
	g.assigning.Lock()
	defer g.assigning.Unlock()
	given := 0
	return g.assigner.assign(ctx, urls, func(some []assigned) error {
		given += len(some)
		g.say("%d of %d new pages have UIDs", given, len(urls))
		return nil
	})
}

func (g *Graph) tryBuild(ctx context.Context, feed uint64) (cells [][]byte, unknown [][]byte, err error) {
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, sn.Close()) }()
	b := &builder{graph: g, snapshot: sn, labels: g.store.Status().Annotations > 0}
	if b.keys, err = predicateRange(g.o.Predicate); err != nil {
		return nil, nil, err
	}
	b.prefix, _ = triple.AppendTerm([]byte{byte(triple.POS)}, triple.NewIRI(g.o.Predicate))
	b.prefix = append(b.prefix, 0x00, 0x01)
	if err := b.readPages(ctx); err != nil {
		return nil, nil, fmt.Errorf("read the UIDs of pages: %w", err)
	}
	b.divide()
	cells = make([][]byte, len(b.spans))
	for from := 0; from < len(b.spans); {
		collected, to, err := b.collect(ctx, from)
		if err != nil {
			return nil, collected.unknown(), fmt.Errorf("read links: %w", err)
		}
		if err := b.makeCells(ctx, cells, from, to, collected, feed); err != nil {
			return nil, nil, fmt.Errorf("build cells: %w", err)
		}
		from = to
	}
	return cells, nil, nil
}

// sampledPages is one of how many pages is a place where links may be cut into parts.
const sampledPages = 1 << 10

// readPages reads the pages, in the order of UIDs.
func (b *builder) readPages(ctx context.Context) error {
	b.table = newTable(newSeeds(), b.graph.lastPages())
	hosts := b.graph.hosts
	last := uid.Extent(0)
	return eachPage(ctx, b.snapshot, uid.AllSlots.Range(), func(p page) error {
		ordinal := len(b.uids)
		if uint64(ordinal) >= 1<<32-1 {
			return fmt.Errorf("more than %d pages", uint64(1<<32-1))
		}
		if !b.table.add(b.table.sum(p.url), uint32(ordinal)) {
			return nil // it has another UID, a lower one, which counts
		}
		b.uids = append(b.uids, p.uid)
		if e := p.uid.Extent(); e != last {
			last = e
			hosts.add(e, p.url)
		}
		if ordinal%sampledPages == 0 {
			term, _ := triple.AppendTerm(nil, triple.NewIRI(string(p.url)))
			b.cuts = append(b.cuts, term)
		}
		if ordinal%(1<<20) == 0 {
			b.graph.say("%d pages are read", ordinal)
		}
		return nil
	})
}

// divide divides the pages into cells, at the ends of slots.
func (b *builder) divide() {
	pages := b.graph.o.CellPages
	first, n := uid.Slot(0), uint32(len(b.uids))
	begin := uint32(0)
	for at := begin; at < n; {
		slot := b.uids[at].Slot()
		// The first ordinal of a later slot.
		end := at + uint32(sort.Search(int(n-at), func(i int) bool { return b.uids[at+uint32(i)].Slot() > slot }))
		if end-begin >= uint32(pages) && end < n {
			b.spans = append(b.spans, span{uid.Slots{First: first, Last: slot}.Range(), begin, end})
			first, begin = slot+1, end
		}
		at = end
	}
	b.spans = append(b.spans, span{uid.Slots{First: first, Last: uid.NumSlots - 1}.Range(), begin, n})
	for i := range b.spans {
		for len(b.near)<<nearBits < int(b.spans[i].end) {
			b.near = append(b.near, int32(i))
		}
	}
}

// read counts links that have been read.
func (b *builder) read(n int) {
	const often = 1 << 20
	if now := b.links.Add(int64(n)); now/often != (now-int64(n))/often {
		b.graph.say("%d links are read", now)
	}
}

// spanOf returns which span an ordinal is in.
func (b *builder) spanOf(ordinal uint32) int {
	i := int(b.near[ordinal>>nearBits])
	for b.spans[i].end <= ordinal {
		i++
	}
	return i
}
