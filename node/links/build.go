// Building all cells from a snapshot of the store.

package links

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
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
	b.table = newTable(b.graph.lastPages())
	hosts := b.graph.hosts
	last := uid.Extent(0)
	return eachPage(ctx, b.snapshot, uid.AllSlots.Range(), func(p page) error {
		ordinal := len(b.uids)
		if uint64(ordinal) >= 1<<32-1 {
			return fmt.Errorf("more than %d pages", uint64(1<<32-1))
		}
		if !b.table.add(p.url, uint32(ordinal)) {
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

// spanOf returns which span an ordinal is in.
func (b *builder) spanOf(ordinal uint32) int {
	i := int(b.near[ordinal>>nearBits])
	for b.spans[i].end <= ordinal {
		i++
	}
	return i
}

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

// makeCells builds the cells of the spans from one up to another.
func (b *builder) makeCells(ctx context.Context, cells [][]byte, from, to int, c *collection, feed uint64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := min(b.graph.o.Workers, to-from)
	each := max(b.graph.o.Workers/max(workers, 1), 1)
	var next atomic.Int64
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := from + int(next.Add(1)) - 1; i < to; i = from + int(next.Add(1)) - 1 {
				data, err := b.makeCell(ctx, b.spans[i], c, i-from, feed, each)
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

func (b *builder) makeCell(ctx context.Context, s span, c *collection, i int, feed uint64, workers int) ([]byte, error) {
	o := b.graph.cellOptions(s.Range, workers)
	maker, err := cell.NewBuilder(o)
	if err != nil {
		return nil, err
	}
	ordinal := s.first
	err = eachPage(ctx, b.snapshot, s.Range, func(p page) error {
		if ordinal == s.end || p.uid != b.uids[ordinal] {
			return nil // a second UID of a page
		}
		ordinal++
		return maker.AddPage(p.uid, p.url)
	})
	if err != nil {
		return nil, err
	}
	for _, d := range []cell.Direction{cell.Forward, cell.Backward} {
		if err := b.addEdges(maker, s, d, c.edges[i][d], c.labels[i]); err != nil {
			return nil, err
		}
		c.edges[i][d] = nil
	}
	c.labels[i] = nil
	return maker.Build()
}

// edgeBatch is how many edges a builder is given at a time.
const edgeBatch = 1 << 16

// addEdges sorts the edges of a cell, by counting those of each page, and adds them.
func (b *builder) addEdges(maker *cell.Builder, s span, d cell.Direction, parts [][]uint64, noted []labelled) error {
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
