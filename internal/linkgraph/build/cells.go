// Making cells of the pages and links that were collected.

package build

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/links/cell"
)

// makeCells builds the cells of the spans in [from, to).
func (b *builder) makeCells(ctx context.Context, cells [][]byte, from, to int, c *Collection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// If there are fewer cells than workers, both directions of a cell are made concurrently.
	workers := min(b.cells.Options.Workers, to-from)
	both := b.cells.Options.Workers > workers
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := from + int(next.Add(1)) - 1; i < to; i = from + int(next.Add(1)) - 1 {
				if b.Spans[i].foreign {
					continue
				}
				data, err := b.makeCell(ctx, b.Spans[i], c, i-from, both)
				if err != nil {
					cancel(fmt.Errorf("%s: %w", b.Spans[i].Range, err))
					return
				}
				if err := b.cells.Fits(b.cells.Board.Memory()+b.made.Add(int64(len(data))), "the graph that is built"); err != nil {
					cancel(err)
					return
				}
				cells[i] = data
				b.cells.Board.Say("%d of %d cells are built", i+1, len(cells))
				runtime.Gosched()
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// makeCell builds the cell of a span with the links of c.spans[i]. If both is set, it makes
// both directions concurrently.
func (b *builder) makeCell(ctx context.Context, s *span, c *Collection, i int, both bool) ([]byte, error) {
	maker := s.maker
	s.maker = nil
	// The pages of a large cell were not held, so they are read again.
	if !s.added {
		if err := b.addPages(ctx, s, maker); err != nil {
			return nil, err
		}
	}
	var sides errgroup
	links := &c.Spans[i]
	for _, add := range []func(*cell.Builder, *span, *spanLinks) error{b.addForward, b.addBackward} {
		sides.run(func() error { return add(maker, s, links) })
		if !both {
			sides.Wait()
		}
	}
	if err := sides.wait(); err != nil {
		return nil, err
	}
	*links = spanLinks{}
	return maker.Build()
}

// addPages reads the pages of a span again.
func (b *builder) addPages(ctx context.Context, s *span, maker *cell.Builder) error {
	ordinal := s.first
	return b.rows.Pages(ctx, s.Range, func(p pagerows.Page) error {
		if ordinal == s.end || p.UID != b.uids[ordinal] {
			return nil // a second UID of a page
		}
		ordinal++
		return maker.AddPage(p.UID, p.URL)
	})
}
