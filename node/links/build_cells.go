// Making cells of the pages and links that were collected.

package links

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
)

// makeCells builds the cells of the spans from one up to another.
func (b *builder) makeCells(ctx context.Context, cells [][]byte, from, to int, c *collection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := min(b.graph.o.Workers, to-from)
	both := b.graph.o.Workers > workers
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := from + int(next.Add(1)) - 1; i < to; i = from + int(next.Add(1)) - 1 {
				data, err := b.makeCell(ctx, b.spans[i], c, i-from, both)
				if err != nil {
					cancel(fmt.Errorf("%s: %w", b.spans[i].Range, err))
					return
				}
				cells[i] = data
				b.graph.say("%d of %d cells are built", i+1, len(cells))
				runtime.Gosched()
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// makeCell builds the cell of a span, whose edges are those at i, with both directions
// at the same time or one after the other.
func (b *builder) makeCell(ctx context.Context, s *span, c *collection, i int, both bool) ([]byte, error) {
	maker := s.maker
	s.maker = nil
	if !s.added {
		if err := b.addPages(ctx, s, maker); err != nil {
			return nil, err
		}
	}
	var sides errgroup
	for d := range c.edges[i] {
		sides.run(func() error {
			defer func() { c.edges[i][d] = nil }()
			return b.addEdges(maker, s, cell.Direction(d), c.edges[i][d], c.labels[i])
		})
		if !both {
			sides.Wait()
		}
	}
	if err := sides.wait(); err != nil {
		return nil, err
	}
	c.labels[i] = nil
	return maker.Build()
}

// addPages reads the pages of a span again.
func (b *builder) addPages(ctx context.Context, s *span, maker *cell.Builder) error {
	ordinal := s.first
	return eachPage(ctx, b.snapshot, s.Range, func(p page) error {
		if ordinal == s.end || p.uid != b.uids[ordinal] {
			return nil // a second UID of a page
		}
		ordinal++
		return maker.AddPage(p.uid, p.url)
	})
}

// edgeBatch is how many edges a builder is given at a time.
const edgeBatch = 1 << 16

// addEdges sorts the edges of a cell, by counting those of each page, and adds them.
func (b *builder) addEdges(maker *cell.Builder, s *span, d cell.Direction, parts edgeList, noted []labelled) error {
	starts := make([]uint32, s.end-s.first+1)
	total := 0
	for _, part := range parts {
		total += len(part)
		for _, e := range part {
			starts[uint32(e>>32)-s.first+1]++
		}
	}
	if uint64(total) >= 1<<32 {
		return fmt.Errorf("%w: %d links", cell.ErrTooLarge, total)
	}
	for i := 1; i < len(starts); i++ {
		starts[i] += starts[i-1]
	}
	targets := make([]uint32, total)
	for i, part := range parts {
		for _, e := range part {
			at := &starts[uint32(e>>32)-s.first]
			targets[*at] = uint32(e)
			*at++
		}
		parts[i] = nil
	}
	labels := map[uint64]cell.Label{}
	if d == cell.Forward {
		for _, l := range noted {
			labels[l.edge] = l.label
		}
	}
	edges := make([]cell.Edge, 0, min(total, edgeBatch))
	var names []cell.Label
	flush := func() error {
		noted := names
		if len(noted) == 0 {
			noted = nil
		}
		err := maker.AddEdges(d, edges, noted)
		edges, names = edges[:0], names[:0]
		return err
	}
	begin := uint32(0)
	for page := s.first; page < s.end; page++ {
		end := starts[page-s.first] // where the next page's begin, by now
		list := targets[begin:end]
		begin = end
		slices.Sort(list)
		for _, to := range list {
			edges = append(edges, cell.Edge{From: b.uids[page], To: b.uids[to]})
			if len(labels) > 0 {
				label, ok := labels[uint64(page)<<32|uint64(to)]
				if !ok {
					label = cell.NoLabel
				}
				names = append(names, label)
			}
			if len(edges) == edgeBatch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	if len(edges) > 0 {
		return flush()
	}
	return nil
}
