// Collecting the links of cells that are built: passes over the store by several workers.

package links

import (
	"context"
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
	bytes   atomic.Int64
	counts  []int64 // edges by span, both directions
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
// there is memory for: up to to.
func (b *builder) collect(ctx context.Context, from int) (*collection, int, error) {
	budget := b.graph.o.BuildBytes
	for to := len(b.spans); ; {
		c := &collection{
			from: from, edges: make([][2]edgeList, to-from), labels: make([][]labelled, to-from),
			words: newWordSet(b.table.seeds), counts: make([]int64, to-from),
		}
		if err := b.pass(ctx, c); err != nil {
			return c, to, err
		}
		if !c.dropped.Load() {
			return c, to, nil
		}
		// What the spans have is known now: as many as fit, one at least.
		size, fit := int64(0), from
		for fit < to && (fit == from || size+8*c.counts[fit-from] <= budget) {
			size += 8 * c.counts[fit-from]
			fit++
		}
		if fit == from+1 {
			budget = max(budget, 2*size)
			b.graph.log.Warn("a cell's links take more memory than a build may use", "bytes", size)
		}
		to = fit
	}
}

// pass goes through all links once.
func (b *builder) pass(ctx context.Context, c *collection) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts, err := b.parts(ctx)
	if err != nil {
		return err
	}
	b.links.Store(0)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.graph.o.Workers, len(parts)) {
		group.Go(func() {
			w := newWorker(b, c)
			for i := int(next.Add(1) - 1); i < len(parts); i = int(next.Add(1) - 1) {
				if err := w.read(ctx, parts[i]); err != nil {
					cancel(err)
					break
				}
			}
			w.give()
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.words.n > 0 {
		return errUnknown
	}
	return nil
}
