// Reading pages: the UIDs of the store, to ordinals and to the beginnings of cells.

package linkgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
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
	each    int           // goroutines of a cell
	begun   errgroup      // cells that are begun
	room    chan struct{} // has a token for each of them
	first   uid.Slot      // of the open span
	foreign bool          // its partition is not built
	begin   uint32        // its first ordinal
	held    heldPages
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
// goroutines read a partition each. The partitions are numbered in order.
func (b *builder) readPages(ctx context.Context) (err error) {
	// 1. On return, all readers and all begun cells must have ended.
	ctx, cancel := context.WithCancelCause(ctx)
	workers := b.cells.o.Workers
	cells := b.expected/b.cells.o.CellPages + 1
	r := &pageReader{builder: b, each: max(workers/cells, 1), room: make(chan struct{}, workers)}
	var readers sync.WaitGroup
	defer func() {
		cancel(nil)
		readers.Wait()
		err = errors.Join(err, r.begun.wait())
	}()
	// 2. Read the parts in parallel. Channels bound the batches that wait.
	parts := make([]chan *pageBatch, numPartitions)
	for i := range parts {
		parts[i] = make(chan *pageBatch, aheadPages)
	}
	var next atomic.Int64
	for range min(workers, numPartitions) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < numPartitions; i = next.Add(1) - 1 {
				b.readPart(ctx, int(i), parts[i])
				close(parts[i])
			}
		})
	}
	// 3. Number the pages in the order of partitions, because ordinals must follow UIDs.
	for p, part := range parts {
		r.foreign = !b.set.has(p)
		for batch := range part {
			if err := r.take(batch); err != nil {
				return err
			}
		}
		if ctx.Err() != nil { // the partition has ended early
			return context.Cause(ctx)
		}
		r.close(partitionRange(p).Last.Slot())
	}
	return nil
}

// readPart reads the pages of a partition and sends them in batches. Of another partition than
// those that are built it sends the known pages.
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
	err := b.eachPage(ctx, part, func(p page) error {
		if e := p.uid.Extent(); e != last {
			last = e
			b.cells.hosts.add(e, p.url)
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

// eachPage calls do with the pages of a partition.
func (b *builder) eachPage(ctx context.Context, part int, do func(page) error) error {
	if b.set.has(part) {
		return b.rows.Pages(ctx, partitionRange(part), do)
	}
	r := partitionRange(part)
	from, _ := slices.BinarySearchFunc(b.others, r.First, func(a assigned, u uid.UID) int { return cmp.Compare(a.uid, u) })
	for _, a := range b.others[from:] {
		if a.uid > r.Last {
			break
		}
		if err := do(page{a.uid, []byte(a.url)}); err != nil {
			return err
		}
	}
	return nil
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
		if n := len(r.uids); n > 0 && r.uids[n-1].Slot() != u.Slot() && int(ordinal-r.begin) >= r.cells.o.CellPages {
			r.close(r.uids[n-1].Slot())
		}
		if r.uids = append(r.uids, u); !r.foreign {
			r.held.add(url, r.cells.o.limits.heldBytes)
		}
	}
	const often = 1 << 20
	if len(r.uids)/often != before/often {
		r.cells.board.say("%d pages are read", len(r.uids))
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

// close ends the open span at a slot, and begins its cell in the background if it has one.
func (r *pageReader) close(last uid.Slot) {
	s := &span{Range: uid.Slots{First: r.first, Last: last}.Range(), foreign: r.foreign, first: r.begin, end: uint32(len(r.uids))}
	r.spans = append(r.spans, s)
	if s.foreign {
		r.first, r.begin = last+1, s.end
		return
	}
	pages := r.held
	uids := r.uids[s.first:s.end]
	// The goroutine owns pages and uids, so the reader must not use them any more.
	r.first, r.begin, r.held = last+1, s.end, heldPages{}
	r.room <- struct{}{}
	r.begun.run(func() error {
		defer func() { <-r.room }()
		var err error
		if s.maker, err = cell.NewBuilder(r.cells.cellOptions(s.Range, r.each)); err != nil || pages.dropped {
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
