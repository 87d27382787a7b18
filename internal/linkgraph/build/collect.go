// Collecting the links of cells that are built: passes over the store by several workers.

package build

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
)

// Collection is the links of the cells of some spans.
type Collection struct {
	mu      sync.Mutex
	from    int
	Spans   []spanLinks  // by span - from
	words   *wordSet     // pages without UIDs
	later   bool         // pages without UIDs are left out
	Dropped atomic.Bool  // links are missing, because there were too many
	budget  int64        // bytes that links may take
	bytes   atomic.Int64 // bytes that links take, about
}

func (c *Collection) unknown() []string {
	if c == nil || c.words.n == 0 {
		return nil
	}
	return c.words.List()
}

// Collect reads all links and keeps those of the spans in [from, to), up to the memory of a
// build. If memory does not suffice for all, the first pass measures the links of every span,
// and later passes keep what fits.
func (b *builder) Collect(ctx context.Context, from int) (c *Collection, to int, err error) {
	if b.sizes == nil {
		if c, err = b.Pass(ctx, from, len(b.Spans), b.cells.Options.BuildBytes); err != nil || !c.Dropped.Load() {
			return c, len(b.Spans), err
		}
		b.sizes = make([]int64, len(c.Spans))
		for i := range c.Spans {
			b.sizes[i] = c.Spans[i].bytes
		}
	}
	size := int64(0)
	for to = from; to < len(b.Spans) && (to == from || size+b.sizes[to] <= b.cells.Options.BuildBytes); to++ {
		size += b.sizes[to]
	}
	if size > b.cells.Options.BuildBytes {
		b.cells.Log.Warn("a cell's links take more memory than a build may use", "bytes", size)
	}
	c, err = b.Pass(ctx, from, to, math.MaxInt64)
	return c, to, err
}

// Pass reads all links once, for the spans in [from, to).
func (b *builder) Pass(ctx context.Context, from, to int, budget int64) (*Collection, error) {
	c := &Collection{
		from: from, Spans: make([]spanLinks, to-from), words: newWordSet(b.table.seeds), budget: budget, later: b.later,
	}
	// 1. Each worker reads parts until none is left, and then hands over its links.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.links.Store(0)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.cells.Options.Workers, len(b.parts)) {
		group.Go(func() {
			w := newWorker(b, c)
			for i := int(next.Add(1) - 1); i < len(b.parts); i = int(next.Add(1) - 1) {
				if err := w.read(ctx, b.parts[i]); err != nil {
					cancel(err)
					break
				}
			}
			w.give()
		})
	}
	group.Wait()
	// 2. Pages without UIDs make the pass useless: they must get UIDs first.
	if err := context.Cause(ctx); err != nil {
		return c, err
	}
	if c.words.n > 0 {
		return c, errUnknown
	}
	return c, nil
}
