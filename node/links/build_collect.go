// Collecting the links of cells that are built: passes over the store by several workers.

package links

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// parts cuts the range of links into some for each worker.
func (b *builder) parts() []triple.Range {
	var cuts [][]byte
	for _, term := range b.cuts {
		cuts = append(cuts, append(bytes.Clone(b.prefix), term...))
	}
	for segment := range b.graph.store.Trie().All() {
		if b.keys.Contains(segment.Lo) {
			cuts = append(cuts, bytes.Clone(segment.Lo))
		}
	}
	slices.SortFunc(cuts, bytes.Compare)
	want := 4 * b.graph.o.Workers
	step := max(len(cuts)/want, 1)
	var parts []triple.Range
	lo := b.keys.Lo
	for i := step; i < len(cuts); i += step {
		if bytes.Compare(lo, cuts[i]) < 0 {
			parts = append(parts, triple.Range{Lo: lo, Hi: cuts[i]})
			lo = cuts[i]
		}
	}
	return append(parts, triple.Range{Lo: lo, Hi: b.keys.Hi})
}

// collection is the links of the cells of some spans: by span and direction, from
// where and whereto, both as ordinals, in the upper and lower half of a word.
type collection struct {
	mu      sync.Mutex
	from    int
	edges   [][2][][]uint64 // by span - from, direction, and worker
	labels  [][]labelled    // by span - from
	words   *wordSet        // pages without UIDs
	dropped atomic.Bool     // there were too many: the edges are not all there
	bytes   atomic.Int64
	counts  []atomic.Int64 // links by span, both directions
}

// labelled is a link with a label.
type labelled struct {
	edge  uint64
	label cell.Label
}

func (c *collection) unknown() [][]byte {
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
			from: from, edges: make([][2][][]uint64, to-from), labels: make([][]labelled, to-from),
			words: newWordSet(), counts: make([]atomic.Int64, to-from),
		}
		if err := b.pass(ctx, c); err != nil {
			return c, to, err
		}
		if !c.dropped.Load() {
			return c, to, nil
		}
		// What the spans have is known now: as many as fit, one at least.
		size, fit := int64(0), from
		for fit < to && (fit == from || size+8*c.counts[fit-from].Load() <= budget) {
			size += 8 * c.counts[fit-from].Load()
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
	parts := b.parts()
	b.links.Store(0)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(b.graph.o.Workers, len(parts)) {
		group.Go(func() {
			w := &worker{builder: b, collection: c, edges: make([][2][]uint64, len(c.edges)), labels: make([][]labelled, len(c.edges))}
			for i := int(next.Add(1) - 1); i < len(parts); i = int(next.Add(1) - 1) {
				if err := w.read(ctx, parts[i]); err != nil {
					cancel(err)
					return
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

// worker reads parts of the links.
type worker struct {
	builder    *builder
	collection *collection
	edges      [][2][]uint64
	labels     [][]labelled
	held       int64 // bytes of edges

	dst     []byte // of the last link
	dstOrd  uint32
	dstIs   bool
	version []byte // key of the last version, where there are labels
	last    uint64 // its link
	isLast  bool
	seen    int64
}

// wordBytes bounds the pages without UIDs that are gathered at a time.
const wordBytes = 512 << 20

func (w *worker) read(ctx context.Context, r triple.Range) error {
	w.dst = w.dst[:0]
	if !w.builder.labels {
		return eachLink(ctx, w.builder.snapshot, r, w.add)
	}
	for row, err := range w.builder.snapshot.Raw(ctx, node.TableStorage, r) {
		if err == nil {
			err = w.addRaw(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addRaw takes a row: a version, or an annotation, which stands behind its version.
func (w *worker) addRaw(row node.RawRow) error {
	switch {
	case triple.IsTombstone(row.Value):
		return nil
	case !triple.IsAnnotation(row.Value):
		w.version, w.isLast = append(w.version[:0], row.Key...), false
		l, ok, err := linkOf(row.Key, row.Value)
		if err != nil || !ok {
			return err
		}
		return w.add(l)
	}
	version, id, _ := triple.CutAnnotation(row.Key)
	if !w.isLast || string(id) != application || !bytes.Equal(version, w.version) {
		return nil
	}
	a, err := triple.DecodeAnnotation(row.Value)
	if err != nil || a.Removed {
		return err
	}
	from := w.builder.spanOf(uint32(w.last>>32)) - w.collection.from
	label, err := decodeLabel(a.Data)
	if err != nil {
		w.builder.graph.log.Warn("a label could not be read", "error", err)
		return nil
	}
	if from >= 0 && from < len(w.labels) {
		w.labels[from] = append(w.labels[from], labelled{w.last, label})
	}
	return nil
}

// add takes a link.
func (w *worker) add(l link) error {
	b, c := w.builder, w.collection
	if w.seen++; w.seen%(1<<16) == 0 {
		b.graph.say("%d links are read", b.links.Add(1<<16))
	}
	if len(w.dst) == 0 || !bytes.Equal(w.dst, l.dst) {
		w.dst = append(w.dst[:0], l.dst...)
		w.dstOrd, w.dstIs = b.table.find(l.dst)
		if !w.dstIs {
			if err := c.add(l.dst); err != nil {
				return err
			}
		}
	}
	src, ok := b.table.find(l.src)
	if !ok {
		return c.add(l.src)
	}
	if !w.dstIs {
		return nil
	}
	w.last, w.isLast = uint64(src)<<32|uint64(w.dstOrd), true
	w.keep(cell.Forward, src, w.last)
	w.keep(cell.Backward, w.dstOrd, uint64(w.dstOrd)<<32|uint64(src))
	return nil
}

// add takes a page without a UID. When there are many, that is enough for now.
func (c *collection) add(page []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words.add(page)
	c.dropped.Store(true)
	if c.words.bytes() > wordBytes {
		return errUnknown
	}
	return nil
}

func (w *worker) keep(d cell.Direction, page uint32, edge uint64) {
	c := w.collection
	i := w.builder.spanOf(page) - c.from
	if i < 0 || i >= len(c.edges) {
		return
	}
	c.counts[i].Add(1)
	if c.dropped.Load() {
		return
	}
	w.edges[i][d] = append(w.edges[i][d], edge)
	if w.held++; w.held == 1<<13 {
		w.held = 0
		if c.bytes.Add(8<<13) > w.builder.graph.o.BuildBytes {
			c.dropped.Store(true)
			w.edges = make([][2][]uint64, len(c.edges))
			w.labels = make([][]labelled, len(c.edges))
		}
	}
}

// give hands over what the worker has.
func (w *worker) give() {
	c := w.collection
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range w.edges {
		for d := range w.edges[i] {
			if len(w.edges[i][d]) > 0 {
				c.edges[i][d] = append(c.edges[i][d], w.edges[i][d])
			}
		}
		c.labels[i] = append(c.labels[i], w.labels[i]...)
	}
}
