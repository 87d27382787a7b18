// Collecting the links of cells that are built: passes over the store by several workers.

package links

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
)

// collection is the links of the cells of some spans: by span and direction, from
// where and whereto, both as ordinals, in the upper and lower half of a word.
type collection struct {
	mu      sync.Mutex
	from    int
	edges   [][2]edgeList // by span - from, and direction
	labels  [][]labelled  // by span - from
	words   *wordSet      // pages without UIDs
	dropped atomic.Bool   // there were too many: the edges are not all there
	budget  int64         // bytes that edges may take
	bytes   atomic.Int64  // that they take, about
	counts  []int64       // edges by span, both directions
}

// edgeList is edges in pieces, which are not copied when there are more.
type edgeList [][]uint64

const (
	// firstEdges and mostEdges are how many edges there are in the first piece of a
	// list, and at most in one of the others: each is twice as long as the one before.
	firstEdges = 1 << 9
	mostEdges  = 1 << 16
)

func (l *edgeList) add(edge uint64) {
	last := len(*l) - 1
	if last < 0 || len((*l)[last]) == cap((*l)[last]) {
		*l = append(*l, make([]uint64, 0, min(firstEdges<<min(last+1, 16), mostEdges)))
		last++
	}
	(*l)[last] = append((*l)[last], edge)
}

// labelled is a link with a label.
type labelled struct {
	edge  uint64
	label cell.Label
}

func (c *collection) unknown() []string {
	if c == nil || c.words.n == 0 {
		return nil
	}
	return c.words.list()
}

// collect goes through all links and keeps those of the spans from one on, as many as
// there is memory for: up to to. Where it is not enough for all, the first pass has
// counted the edges of every span, and the others keep what fits.
func (b *builder) collect(ctx context.Context, from int) (c *collection, to int, err error) {
	if b.counts == nil {
		if c, err = b.pass(ctx, from, len(b.spans), b.graph.o.BuildBytes); err != nil || !c.dropped.Load() {
			return c, len(b.spans), err
		}
		b.counts = c.counts
	}
	size := int64(0)
	for to = from; to < len(b.spans) && (to == from || size+8*b.counts[to] <= b.graph.o.BuildBytes); to++ {
		size += 8 * b.counts[to]
	}
	if size > b.graph.o.BuildBytes {
		b.graph.log.Warn("a cell's links take more memory than a build may use", "bytes", size)
	}
	c, err = b.pass(ctx, from, to, math.MaxInt64)
	return c, to, err
}

// pass goes through all links once, for the spans from one up to another.
func (b *builder) pass(ctx context.Context, from, to int, budget int64) (*collection, error) {
	c := &collection{
		from: from, edges: make([][2]edgeList, to-from), labels: make([][]labelled, to-from),
		words: newWordSet(b.table.seeds), counts: make([]int64, to-from), budget: budget,
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.links.Store(0)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.graph.o.Workers, len(b.parts)) {
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
	if err := context.Cause(ctx); err != nil {
		return c, err
	}
	if c.words.n > 0 {
		return c, errUnknown
	}
	return c, nil
}
