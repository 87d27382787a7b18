// Reading links: rows of a part of the store, to edges of ordinals.

package links

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// worker reads parts of the links.
//
// Rows come by target, then by source. A target is looked up once; sources are looked
// up many at a time, so that the processor waits for memory for several of them at
// once.
type worker struct {
	builder    *builder
	collection *collection
	edges      [][2]edgeList // by span - collection.from, and direction
	labels     [][]labelled
	counts     []int64 // edges by span
	held       int     // edges that the budget does not know of yet
	dropped    bool    // edges are counted only

	group   []byte // the beginning of the keys of the last target, up to their sources
	dst     uint32 // 1 + ordinal of it, 0 where it has no UID
	dstIs   bool   // it is an IRI
	unknown []byte // it, where it has no UID and nobody knows of it yet
	text    []byte // sources that are to be looked up
	pending []pending
	added   bool   // the last version is a link
	version []byte // its key, where there are labels
	last    uint64 // the last link that was looked up
	isLast  bool   // both of its ends have UIDs
}

// pending is a link of which the source is to be looked up.
type pending struct {
	end uint32 // of the source's URL in text
	dst uint32 // 1 + ordinal of the target, 0 where it has no UID
	src uint32 // 1 + ordinal of the source, likewise
	sum sum    // of the source
}

const (
	// batchSources is how many sources are looked up at a time, and batchText how many
	// bytes they have at most, but for the last one.
	batchSources = 256
	batchText    = 1 << 16
	// accountBytes is what edges of a worker may take without the budget's knowing.
	accountBytes = 64 << 10
	// wordBytes bounds the pages without UIDs that are gathered at a time.
	wordBytes = 512 << 20
)

func newWorker(b *builder, c *collection) *worker {
	n := len(c.edges)
	return &worker{builder: b, collection: c, edges: make([][2]edgeList, n), labels: make([][]labelled, n), counts: make([]int64, n),
		pending: make([]pending, 0, batchSources)}
}

// read reads the links in a range of POS.
func (w *worker) read(ctx context.Context, r triple.Range) error {
	w.group, w.version = w.group[:0], w.version[:0]
	for row, err := range w.builder.snapshot.Raw(ctx, node.TableStorage, r) {
		if err == nil {
			err = w.addRow(row)
		}
		if err != nil {
			return err
		}
	}
	return w.flush()
}

// addRow takes a row: a version, or an annotation, which stands behind its version.
func (w *worker) addRow(row node.RawRow) error {
	switch {
	case triple.IsTombstone(row.Value):
		return nil
	case !triple.IsAnnotation(row.Value):
		if w.builder.labels {
			w.version, w.added = append(w.version[:0], row.Key...), false
		}
		return w.add(row.Key, row.Value)
	}
	version, id, _ := triple.CutAnnotation(row.Key)
	// Between a version and its annotations are the versions of the same link in graphs.
	if !w.added || string(id) != application || !bytes.HasPrefix(w.version, version) {
		return nil
	}
	if err := w.flush(); err != nil || !w.isLast {
		return err
	}
	a, err := triple.DecodeAnnotation(row.Value)
	if err != nil || a.Removed {
		return err
	}
	label, err := decodeLabel(a.Data)
	if err != nil {
		w.builder.graph.log.Warn("a label could not be read", "error", err)
		return nil
	}
	from := w.builder.spanOf(uint32(w.last>>32)) - w.collection.from
	if from >= 0 && from < len(w.labels) && !w.dropped {
		w.labels[from] = append(w.labels[from], labelled{w.last, label})
	}
	return nil
}

// add takes a version of a link.
func (w *worker) add(key, value []byte) error {
	if len(w.group) == 0 || !bytes.HasPrefix(key, w.group) {
		if err := w.begin(key, value); err != nil {
			return err
		}
	}
	if !w.dstIs {
		return nil
	}
	term := key[len(w.group):]
	if len(term) < 2 || bytes.IndexByte(term, 0) >= 0 { // in a graph, or long
		l, ok, err := linkOf(key, value)
		if err != nil || !ok {
			return err
		}
		w.text = append(w.text, l.src...)
	} else {
		src, ok := iriOf(term)
		if !ok {
			return nil
		}
		w.text = append(w.text, src...)
	}
	if len(w.unknown) > 0 { // it has a link, so that it is a page
		if err := w.collection.addUnknown(w.unknown, []pending{{end: uint32(len(w.unknown)), sum: w.builder.table.sum(w.unknown)}}); err != nil {
			return err
		}
		w.unknown = w.unknown[:0]
	}
	w.added = true
	w.pending = append(w.pending, pending{end: uint32(len(w.text)), dst: w.dst})
	if len(w.pending) == batchSources || len(w.text) >= batchText {
		return w.flush()
	}
	return nil
}

// begin begins with the links to the target of a key.
func (w *worker) begin(key, value []byte) error {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return err
	}
	const ends = 1 + 2 + 2 // the order, and what ends two terms
	w.group = append(w.group[:0], key[:ends+len(terms[triple.Predicate])+len(terms[triple.Object])]...)
	if terms, err = triple.WholeTerms(terms, value); err != nil {
		return err
	}
	dst, ok := iriOf(terms[triple.Object])
	if w.dstIs = ok; !ok {
		return nil
	}
	t := w.builder.table
	w.dst, w.unknown = t.find(t.sum(dst)), w.unknown[:0]
	if w.dst == 0 {
		w.unknown = append(w.unknown, dst...)
	}
	return nil
}

// flush looks up the sources that there are, and keeps their links.
func (w *worker) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	t := w.builder.table
	begin := uint32(0)
	for i := range w.pending {
		s := &w.pending[i]
		s.sum = t.sum(w.text[begin:s.end])
		begin = s.end
	}
	unknown := false
	for i := range w.pending {
		s := &w.pending[i]
		s.src = t.find(s.sum)
		unknown = unknown || s.src == 0
	}
	if unknown {
		if err := w.collection.addUnknown(w.text, w.pending); err != nil {
			return err
		}
	}
	for i := range w.pending {
		if s := &w.pending[i]; s.src > 0 && s.dst > 0 {
			w.keep(s.src-1, s.dst-1)
		}
	}
	s := w.pending[len(w.pending)-1]
	w.last, w.isLast = uint64(s.src-1)<<32|uint64(s.dst-1), s.src > 0 && s.dst > 0
	w.builder.read(len(w.pending))
	w.text, w.pending = w.text[:0], w.pending[:0]
	w.account()
	return nil
}

// addUnknown takes those sources of links that have no UIDs.
func (c *collection) addUnknown(text []byte, links []pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	begin := uint32(0)
	for _, s := range links {
		if s.src == 0 {
			if err := c.add(text[begin:s.end], s.sum); err != nil {
				return err
			}
		}
		begin = s.end
	}
	return nil
}

// add takes a page without a UID. When there are many, that is enough for now. The
// lock is held.
func (c *collection) add(page []byte, of sum) error {
	c.words.add(page, of)
	c.dropped.Store(true)
	if c.words.bytes() > wordBytes {
		return errUnknown
	}
	return nil
}

// keep takes a link, of ordinals.
func (w *worker) keep(src, dst uint32) {
	b, c := w.builder, w.collection
	from, to := 0, 0
	if len(b.spans) > 1 {
		from, to = b.spanOf(src)-c.from, b.spanOf(dst)-c.from
	}
	if uint(from) < uint(len(c.edges)) {
		w.counts[from]++
		if !w.dropped {
			w.edges[from][cell.Forward].add(uint64(src)<<32 | uint64(dst))
			w.held++
		}
	}
	if uint(to) < uint(len(c.edges)) {
		w.counts[to]++
		if !w.dropped {
			w.edges[to][cell.Backward].add(uint64(dst)<<32 | uint64(src))
			w.held++
		}
	}
}

// account tells the budget what edges take.
func (w *worker) account() {
	c := w.collection
	if size := 8 * int64(w.held); size >= min(accountBytes, c.budget/16) {
		if c.bytes.Add(size) > c.budget {
			c.dropped.Store(true)
		}
		w.held = 0
	}
	if !w.dropped && c.dropped.Load() {
		w.dropped = true
		clear(w.edges)
		clear(w.labels)
	}
}

// give hands over what the worker has.
func (w *worker) give() {
	c := w.collection
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range w.edges {
		for d := range w.edges[i] {
			c.edges[i][d] = append(c.edges[i][d], w.edges[i][d]...)
		}
		c.labels[i] = append(c.labels[i], w.labels[i]...)
		c.counts[i] += w.counts[i]
	}
}
