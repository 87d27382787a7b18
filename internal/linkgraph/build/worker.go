// Reading links: rows of a part of the store, to edges of ordinals.

package build

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/triple"
)

// worker reads parts of the links.
//
// Rows come by target, then by source. A target is looked up once. Sources are looked up in
// batches, because the processor can then wait for memory for several of them at once.
type worker struct {
	builder    *builder
	collection *Collection
	spans      []spanLinks // by span - collection.from
	held       int64       // bytes of links that the budget has not counted yet
	dropped    bool        // links are only measured

	group   []byte // prefix of the keys of the current target, up to their sources
	dst     uint32 // 1 + its ordinal, 0 if it has no UID
	dstIs   bool   // it is an IRI
	unknown []byte // its URL, if it has no UID and is not recorded yet
	text    []byte // sources that must be looked up
	pending []pending
	srcs    []uint32 // ordinals of the sources of one target
	touched uint32
	added   bool   // the last row is a link
	last    uint64 // the last link that was looked up
	isLast  bool   // both of its ends have UIDs
}

// pending is a link whose source must be looked up.
type pending struct {
	end uint32 // end of the source's URL in text
	dst uint32 // 1 + ordinal of the target, 0 if it has no UID
	src uint32 // 1 + ordinal of the source, likewise
	sum sum    // of the source
}

const (
	// batchSources is the number of sources in one look-up. batchText bounds their bytes, but
	// the last one may exceed it.
	batchSources = 256
	batchText    = 1 << 16
	// accountBytes bounds the links of a worker that the budget has not counted.
	accountBytes = 64 << 10
	// wordBytes bounds the pages without UIDs that are collected at a time.
	wordBytes = 512 << 20
)

func newWorker(b *builder, c *Collection) *worker {
	return &worker{builder: b, collection: c, spans: make([]spanLinks, len(c.Spans)), pending: make([]pending, 0, batchSources)}
}

// read reads the links in a range of POS.
func (w *worker) read(ctx context.Context, r triple.Range) error {
	w.group = w.group[:0]
	if err := w.builder.rows.Links(ctx, r, w); err != nil {
		return err
	}
	return w.flush()
}

// AddLabel adds the label of the last added link. The link must be looked up first.
func (w *worker) AddLabel(data []byte) error {
	if !w.added {
		return nil
	}
	if err := w.flush(); err != nil || !w.isLast {
		return err
	}
	label, err := lists.DecodeLabel(data)
	if err != nil {
		w.builder.cells.Log.Warn("a label could not be read", "error", err)
		return nil
	}
	from := w.builder.spanOf(uint32(w.last>>32)) - w.collection.from
	if from >= 0 && from < len(w.spans) && !w.dropped {
		w.spans[from].labels = append(w.spans[from].labels, labelled{w.last, label})
	}
	return nil
}

// AddLink adds a row of a link.
func (w *worker) AddLink(key, value []byte) error {
	w.added = false
	// 1. A new target: look it up once.
	if len(w.group) == 0 || !bytes.HasPrefix(key, w.group) {
		if err := w.begin(key, value); err != nil {
			return err
		}
	}
	if !w.dstIs {
		w.builder.mixed.Store(true)
		return nil
	}
	// 2. Decode the source. The fast path must not see a graph or a long term.
	term := key[len(w.group):]
	if len(term) < 2 || bytes.IndexByte(term, 0) >= 0 { // in a graph, or long
		l, ok, err := pagerows.LinkOf(key, value)
		if err != nil {
			return err
		}
		if !ok || l.Named {
			w.builder.mixed.Store(true)
		}
		if !ok {
			return nil
		}
		w.text = append(w.text, l.Src...)
	} else {
		src, ok := pagerows.IriOf(term)
		if !ok {
			w.builder.mixed.Store(true)
			return nil
		}
		w.text = append(w.text, src...)
	}
	if len(w.unknown) > 0 { // it has a link, so it is a page
		if err := w.addUnknown(w.unknown, []pending{{end: uint32(len(w.unknown)), sum: w.builder.table.Sum(w.unknown)}}); err != nil {
			return err
		}
		w.unknown = w.unknown[:0]
	}
	// 3. Collect the source, and look up a full batch.
	w.added = true
	w.pending = append(w.pending, pending{end: uint32(len(w.text)), dst: w.dst})
	if len(w.pending) == batchSources || len(w.text) >= batchText {
		return w.flush()
	}
	return nil
}

// begin begins the links to the target of a key.
func (w *worker) begin(key, value []byte) error {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		return err
	}
	const ends = 1 + 2 + 2 // the order, and the ends of two terms
	w.group = append(w.group[:0], key[:ends+len(terms[triple.Predicate])+len(terms[triple.Object])]...)
	if terms, err = triple.WholeTerms(terms, value); err != nil {
		return err
	}
	dst, ok := pagerows.IriOf(terms[triple.Object])
	if w.dstIs = ok; !ok {
		return nil
	}
	t := w.builder.table
	w.dst, w.unknown = t.Find(t.Sum(dst)), w.unknown[:0]
	if w.dst == 0 {
		w.unknown = append(w.unknown, dst...)
	}
	return nil
}

// flush looks up the pending sources, and keeps their links.
func (w *worker) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	t := w.builder.table
	// 1. Hash all sources.
	begin := uint32(0)
	for i := range w.pending {
		s := &w.pending[i]
		s.sum = t.Sum(w.text[begin:s.end])
		begin = s.end
	}
	// 2. Touch their places in the table. These loads overlap, because no branch depends on
	// them.
	for i := range w.pending {
		w.touched += t.touch(w.pending[i].sum)
	}
	// 3. Find them, and record pages without UIDs.
	unknown := false
	for i := range w.pending {
		s := &w.pending[i]
		s.src = t.Find(s.sum)
		unknown = unknown || s.src == 0
	}
	if unknown {
		if err := w.addUnknown(w.text, w.pending); err != nil {
			return err
		}
	}
	w.keepPending()
	s := w.pending[len(w.pending)-1]
	w.last, w.isLast = uint64(s.src-1)<<32|uint64(s.dst-1), s.src > 0 && s.dst > 0
	w.builder.read(len(w.pending))
	w.text, w.pending = w.text[:0], w.pending[:0]
	w.account()
	return nil
}

// keepPending keeps the links with two known ends, target by target.
func (w *worker) keepPending() {
	for i := 0; i < len(w.pending); {
		dst := w.pending[i].dst
		w.srcs = w.srcs[:0]
		for ; i < len(w.pending) && w.pending[i].dst == dst; i++ {
			if src := w.pending[i].src; src > 0 {
				w.srcs = append(w.srcs, src-1)
			}
		}
		if dst > 0 && len(w.srcs) > 0 {
			w.keep(dst-1, w.srcs)
		}
	}
}

// addUnknown records the sources of links that have no UIDs. If pages without UIDs are left out, the
// feed has their links, unless an IRI is invalid.
func (w *worker) addUnknown(text []byte, links []pending) error {
	c := w.collection
	c.mu.Lock()
	defer c.mu.Unlock()
	begin := uint32(0)
	for _, s := range links {
		page := text[begin:s.end]
		begin = s.end
		switch {
		case s.src != 0:
		case !c.later:
			if err := c.add(page, s.sum); err != nil {
				return err
			}
		case !pagerows.ValidPage(string(page)):
			w.builder.mixed.Store(true)
		}
	}
	return nil
}

// add records a page without a UID. It returns errManyUnknown if there are too many for one pass.
// The lock must be held.
func (c *Collection) add(page []byte, of sum) error {
	c.words.Add(page, of)
	c.Dropped.Store(true)
	if c.words.bytes() > wordBytes {
		return errManyUnknown
	}
	return nil
}

// keep keeps links to one target, of ordinals.
func (w *worker) keep(dst uint32, srcs []uint32) {
	// A link belongs to two spans: backward to that of its target, forward to that of its
	// source. Either may be outside of this pass. Dropped links are measured only.
	b, from := w.builder, w.collection.from
	many := len(b.Spans) > 1
	to := 0
	if many {
		to = b.spanOf(dst) - from
	}
	if uint(to) < uint(len(w.spans)) && !b.Spans[to+from].foreign {
		words := runHead + len(srcs)
		if !w.dropped {
			words = w.spans[to].Backward.add(dst, srcs)
		}
		w.spans[to].bytes += WordLen * int64(words)
		w.held += WordLen * int64(words)
	}
	for _, src := range srcs {
		at := 0
		if many {
			at = b.spanOf(src) - from
		}
		if uint(at) >= uint(len(w.spans)) || b.Spans[at+from].foreign {
			continue
		}
		s := &w.spans[at]
		s.bytes += EdgeBytes
		w.held += EdgeBytes
		if !w.dropped {
			s.Forward.add(uint64(src)<<32 | uint64(dst))
		}
	}
}

// account adds the memory of links to the budget. If it is exceeded, all workers drop their
// links.
func (w *worker) account() {
	c := w.collection
	if w.held >= min(accountBytes, c.budget/16) {
		if c.bytes.Add(w.held) > c.budget {
			c.Dropped.Store(true)
		}
		w.held = 0
	}
	if !w.dropped && c.Dropped.Load() {
		w.dropped = true
		for i := range w.spans {
			w.spans[i].drop()
		}
	}
}

// give hands the worker's links to the collection.
func (w *worker) give() {
	c := w.collection
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range w.spans {
		c.Spans[i].take(&w.spans[i])
	}
}
