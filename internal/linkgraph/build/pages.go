// Reading pages: the UIDs of the store, to ordinals and to the beginnings of cells.

package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
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
	workers := b.cells.Options.Workers
	cells := b.expected/b.cells.Options.CellPages + 1
	r := &pageReader{builder: b, each: max(workers/cells, 1), room: make(chan struct{}, workers)}
	var readers sync.WaitGroup
	defer func() {
		cancel(nil)
		readers.Wait()
		err = errors.Join(err, r.begun.wait())
	}()
	// 2. Read the parts in parallel. Channels bound the batches that wait.
	parts := make([]chan *pageBatch, machine.NumPartitions)
	for i := range parts {
		parts[i] = make(chan *pageBatch, machine.AheadPages)
	}
	var next atomic.Int64
	for range min(workers, machine.NumPartitions) {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < machine.NumPartitions; i = next.Add(1) - 1 {
				b.readPart(ctx, int(i), parts[i])
				close(parts[i])
			}
		})
	}
	// 3. Number the pages in the order of partitions, because ordinals must follow UIDs.
	for p, part := range parts {
		r.foreign = !b.set.Has(p)
		for batch := range part {
			if err := r.take(batch); err != nil {
				return err
			}
		}
		if ctx.Err() != nil { // the partition has ended early
			return context.Cause(ctx)
		}
		r.close(machine.PartitionRange(p).Last.Slot())
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
	err := b.eachPage(ctx, part, func(p pagerows.Page) error {
		if e := p.UID.Extent(); e != last {
			last = e
			b.cells.Hosts.Add(e, p.URL)
		}
		// The hash is computed here, because this runs in several goroutines.
		if batch.uids == nil {
			batch.uids, batch.sums = make([]uid.UID, 0, machine.BatchPages), make([]sum, 0, machine.BatchPages)
			batch.ends, batch.text = make([]uint32, 0, machine.BatchPages), make([]byte, 0, 64*machine.BatchPages)
		}
		batch.uids = append(batch.uids, p.UID)
		batch.sums = append(batch.sums, b.table.Sum(p.URL))
		batch.text = append(batch.text, p.URL...)
		batch.ends = append(batch.ends, uint32(len(batch.text)))
		if len(batch.uids) == machine.BatchPages || len(batch.text) >= machine.BatchPageBytes {
			return give()
		}
		return nil
	})
	if batch.err = err; err != nil || len(batch.uids) > 0 {
		_ = give() // an error means that nobody waits for it
	}
}

// eachPage calls do with the pages of a partition.
func (b *builder) eachPage(ctx context.Context, part int, do func(pagerows.Page) error) error {
	if b.set.Has(part) {
		return b.rows.Pages(ctx, machine.PartitionRange(part), do)
	}
	r := machine.PartitionRange(part)
	from, _ := slices.BinarySearchFunc(b.others, r.First, func(a assign.Assigned, u uid.UID) int { return cmp.Compare(a.UID, u) })
	for _, a := range b.others[from:] {
		if a.UID > r.Last {
			break
		}
		if err := do(pagerows.Page{UID: a.UID, URL: []byte(a.URL)}); err != nil {
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
		if !r.table.Add(batch.sums[i], ordinal) {
			continue // the page has a lower UID, which counts
		}
		if n := len(r.uids); n > 0 && r.uids[n-1].Slot() != u.Slot() && int(ordinal-r.begin) >= r.cells.Options.CellPages {
			r.close(r.uids[n-1].Slot())
		}
		if r.uids = append(r.uids, u); !r.foreign {
			r.held.add(url, r.cells.Options.Limits.HeldBytes)
		}
	}
	const often = 1 << 20
	if len(r.uids)/often != before/often {
		r.cells.Board.Say("%d pages are read", len(r.uids))
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
	r.Spans = append(r.Spans, s)
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
		if s.maker, err = cell.NewBuilder(r.cells.CellOptions(s.Range, r.each)); err != nil || pages.dropped {
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
