// Reading pages: the UIDs of the store, to ordinals and to the beginnings of cells.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// pageParts is the number of parts in which pages are read, each with the same number of
	// slots. The parts are of similar size, because the slot of a host is as good as random.
	pageParts = 64
	// batchPages is the number of pages in a batch from a reader. batchPageBytes bounds the
	// length of their URLs, but the last one may exceed it. aheadPages is the number of batches
	// that may wait for each reader.
	batchPages     = 1 << 10
	batchPageBytes = 1 << 18
	aheadPages     = 4
	// heldBytes bounds the URLs of a cell that is begun while pages are read. If a cell is
	// larger, its pages are read again.
	heldBytes = 128 << 20
)

// pageBatch is pages in the order of UIDs.
type pageBatch struct {
	uids []uid.UID
	sums []sum
	ends []uint32 // of the URLs in text
	text []byte
	err  error // the error that ended the part
}

// pageReader numbers pages and divides them into cells.
type pageReader struct {
	*builder
	each  int           // goroutines of a cell
	begun errgroup      // cells that are begun
	room  chan struct{} // has a token for each of them
	first uid.Slot      // of the open span
	begin uint32        // its first ordinal
	held  heldPages
}

// heldPages is the URLs of the open span.
type heldPages struct {
	text    []byte
	ends    []uint32
	dropped bool // there were too many
}

// errgroup waits for goroutines and joins their errors.
type errgroup struct {
	sync.WaitGroup
	mu  sync.Mutex
	err error
}

func (g *errgroup) run(do func() error) {
	g.Go(func() {
		if err := do(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.err = errors.Join(g.err, err)
		}
	})
}

func (g *errgroup) wait() error {
	g.Wait()
	return g.err
}

// readPages reads the pages in the order of UIDs, numbers them, and begins the cells. Several
// goroutines read a part each. The parts are numbered in order.
func (b *builder) readPages(ctx context.Context) (err error) {
	// 1. On return, all readers and all begun cells must have ended.
	ctx, cancel := context.WithCancelCause(ctx)
	workers := b.graph.o.Workers
	cells := b.expected/b.graph.o.CellPages + 1
	r := &pageReader{builder: b, each: max(workers/cells, 1), room: make(chan struct{}, workers)}
	var readers sync.WaitGroup
	defer func() {
		cancel(nil)
		readers.Wait()
		err = errors.Join(err, r.begun.wait())
	}()
	// 2. Read the parts in parallel. Channels bound the batches that wait.
	parts := make([]chan *pageBatch, pageParts)
	for i := range parts {
		parts[i] = make(chan *pageBatch, aheadPages)
	}
	var next atomic.Int64
	for range min(workers, pageParts) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < pageParts; i = next.Add(1) - 1 {
				b.readPart(ctx, int(i), parts[i])
				close(parts[i])
			}
		})
	}
	// 3. Number the pages in the order of parts, because ordinals must follow UIDs.
	for _, part := range parts {
		for batch := range part {
			if err := r.take(batch); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil { // a part has ended early
		return context.Cause(ctx)
	}
	r.close(uid.NumSlots - 1)
	return nil
}

// partRange returns the UIDs of a part of the pages.
func partRange(part int) uid.Range {
	const slots = uid.NumSlots / pageParts
	return uid.Slots{First: uid.Slot(part * slots), Last: uid.Slot((part+1)*slots - 1)}.Range()
}

// readPart reads a part of the pages and sends them in batches.
func (b *builder) readPart(ctx context.Context, part int, to chan<- *pageBatch) {
	batch := &pageBatch{}
	// give sends the batch, and gives up if the build ends.
	give := func() error {
		select {
		case to <- batch:
			batch = &pageBatch{}
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	last := uid.Extent(0)
	err := eachPage(ctx, b.snapshot, partRange(part), func(p page) error {
		if e := p.uid.Extent(); e != last {
			last = e
			b.graph.hosts.add(e, p.url)
		}
		// The hash is computed here, because this runs in several goroutines.
		if batch.uids == nil {
			batch.uids, batch.sums = make([]uid.UID, 0, batchPages), make([]sum, 0, batchPages)
			batch.ends, batch.text = make([]uint32, 0, batchPages), make([]byte, 0, 64*batchPages)
		}
		batch.uids = append(batch.uids, p.uid)
		batch.sums = append(batch.sums, b.table.sum(p.url))
		batch.text = append(batch.text, p.url...)
		batch.ends = append(batch.ends, uint32(len(batch.text)))
		if len(batch.uids) == batchPages || len(batch.text) >= batchPageBytes {
			return give()
		}
		return nil
	})
	if batch.err = err; err != nil || len(batch.uids) > 0 {
		_ = give() // an error means that nobody waits for it
	}
}

// take numbers the pages of a batch.
func (r *pageReader) take(batch *pageBatch) error {
	if batch.err != nil {
		return batch.err
	}
	// A cell ends only between slots, and if it has enough pages.
	before := len(r.uids)
	begin := uint32(0)
	for i, u := range batch.uids {
		url := batch.text[begin:batch.ends[i]]
		begin = batch.ends[i]
		// The number of pages is bounded, because the table stores ordinals plus 1 in 32 bits.
		ordinal := uint32(len(r.uids))
		if ordinal == 1<<32-2 {
			return fmt.Errorf("more than %d pages", ordinal)
		}
		if !r.table.add(batch.sums[i], ordinal) {
			continue // the page has a lower UID, which counts
		}
		if n := len(r.uids); n > 0 && r.uids[n-1].Slot() != u.Slot() && int(ordinal-r.begin) >= r.graph.o.CellPages {
			r.close(r.uids[n-1].Slot())
		}
		r.uids = append(r.uids, u)
		r.held.add(url, r.graph.o.limits.heldBytes)
	}
	const often = 1 << 20
	if len(r.uids)/often != before/often {
		r.graph.say("%d pages are read", len(r.uids))
	}
	return nil
}

func (h *heldPages) add(url []byte, most int) {
	switch {
	case h.dropped:
	case len(h.text)+len(url) > most:
		*h = heldPages{dropped: true}
	default:
		h.text = append(h.text, url...)
		h.ends = append(h.ends, uint32(len(h.text)))
	}
}

// close ends the open span at a slot, and begins its cell in the background.
func (r *pageReader) close(last uid.Slot) {
	s := &span{Range: uid.Slots{First: r.first, Last: last}.Range(), first: r.begin, end: uint32(len(r.uids))}
	r.spans = append(r.spans, s)
	pages := r.held
	uids := r.uids[s.first:s.end]
	// The goroutine owns pages and uids, so the reader must not use them any more.
	r.first, r.begin, r.held = last+1, s.end, heldPages{}
	r.room <- struct{}{}
	r.begun.run(func() error {
		defer func() { <-r.room }()
		var err error
		if s.maker, err = cell.NewBuilder(r.graph.cellOptions(s.Range, r.each)); err != nil || pages.dropped {
			return err
		}
		begin := uint32(0)
		for i, end := range pages.ends {
			if err := s.maker.AddPage(uids[i], pages.text[begin:end]); err != nil {
				return err
			}
			begin = end
		}
		s.added = true
		return nil
	})
}
