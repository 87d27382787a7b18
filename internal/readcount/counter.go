// The counter of a machine: its subscriptions, the counts that wait, and their batches.

package readcount

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// MaxSubscriptions is the most subscriptions of kind read, because each read of a table is compared
// with all of them.
const MaxSubscriptions = 100

const (
	maxTable   = 10_000 // entries of the machine's table
	maxWaiting = 10_000 // entries of all subscriptions that wait to be stored
	// maxBatch bounds the bytes of a batch, about. It must be far below the greatest annotation.
	maxBatch = 256 << 10
	// feedRate bounds what batches add to the change feed, in bytes a second. After a large batch the
	// next one comes later.
	feedRate = 16 << 10
	// callTimeout bounds one call of the registry.
	callTimeout = 10 * time.Second
	// closeTimeout bounds the last batches when the counter is closed.
	closeTimeout = 2 * time.Second
)

// Subscription is a subscription of kind read.
type Subscription struct {
	// Row is the triple whose annotation has its batches. A subscription with another filter has
	// another row.
	Row    triple.Triple
	Filter feed.Filter
}

// Registry has the subscriptions. The methods are called by one goroutine.
type Registry interface {
	// Reads returns the subscriptions of kind read.
	Reads(ctx context.Context) ([]Subscription, error)
	// SaveReads stores a batch, as the annotation of a subscription's row. The error is
	// [store.ErrNotFound] if the row is gone.
	SaveReads(ctx context.Context, row triple.Triple, batch []byte) error
}

// Options are the parameters of [Start].
type Options struct {
	Registry Registry
	// Every is the time between two batches of a subscription; 0 is a second.
	Every time.Duration
	// Logger gets failures; nil discards them.
	Logger *slog.Logger
}

// Counter counts reads for the subscriptions of a registry. It is safe for concurrent use. Close ends
// it.
type Counter struct {
	registry Registry
	every    time.Duration
	log      *slog.Logger
	run      uint64          // identifies this counter among all
	active   atomic.Bool     // there are subscriptions
	failing  map[string]bool // what has failed last; of the goroutine
	cancel   context.CancelFunc
	ended    chan struct{}

	mu            sync.Mutex
	table         table
	subscriptions map[triple.Triple]*subscription // by row
	// number is of the last batch. All subscriptions share it, because one that is removed and
	// stored again must not repeat a number of this run.
	number uint64
}

// subscription is what waits for one subscription. The counter's mutex guards it.
type subscription struct {
	row      triple.Triple
	selector selector
	waiting  table
	other    count // what found no room in waiting
	// sending is the batch that is stored next. It does not change until it is stored, because a try
	// that failed may have stored it.
	sending []byte
	next    time.Time // when the next batch may be made
}

var discard = slog.New(slog.DiscardHandler)

// Start begins to count. The counter must be closed before the store.
func Start(o Options) *Counter {
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Logger == nil {
		o.Logger = discard
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Counter{registry: o.Registry, every: o.Every, log: o.Logger, run: rand.Uint64(), cancel: cancel, ended: make(chan struct{}),
		failing: map[string]bool{}, table: table{}, subscriptions: map[triple.Triple]*subscription{}}
	go func() {
		defer close(c.ended)
		c.follow(ctx)
	}()
	return c
}

// Close stores what waits, if that takes little time, and ends the counter.
func (c *Counter) Close() {
	c.cancel()
	<-c.ended
}

// follow makes a step in each interval, and a last one when ctx ends. Reading the registry in each
// costs less than following the change feed, see package functions.
func (c *Counter) follow(ctx context.Context) {
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for c.refresh(ctx); ; {
		select {
		case now := <-ticker.C:
			c.refresh(ctx)
			c.store(ctx, now)
		case <-ctx.Done():
			if c.active.Swap(false) {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
				defer cancel()
				c.store(last, time.Time{})
			}
			return
		}
	}
}

// refresh takes up the subscriptions of the registry. If it cannot be read, the known ones stay.
func (c *Counter) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := c.registry.Reads(ctx)
	if c.report("the subscriptions of reads cannot be read", err); err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// 1. Forget those that are gone, with what waits for them.
	listed := map[triple.Triple]bool{}
	for _, s := range list[:min(len(list), MaxSubscriptions)] {
		listed[s.Row] = true
	}
	for row := range c.subscriptions {
		if !listed[row] {
			delete(c.subscriptions, row)
		}
	}
	// 2. Take up new ones.
	for _, s := range list {
		if !listed[s.Row] || c.subscriptions[s.Row] != nil {
			continue
		}
		selector, err := newSelector(s.Filter)
		if err != nil {
			c.log.Error("a subscription of reads cannot be used", "subscription", s.Row.Predicate.Value(), "error", err)
			continue
		}
		c.subscriptions[s.Row] = &subscription{row: s.Row, selector: selector, waiting: table{}}
	}
	// 3. Without subscriptions nothing is counted.
	if c.active.Store(len(c.subscriptions) > 0); len(c.subscriptions) == 0 {
		clear(c.table)
	}
}

// report logs the first of several failures.
func (c *Counter) report(what string, err error) {
	if err != nil && !c.failing[what] && !errors.Is(err, context.Canceled) {
		c.log.Warn(what+", and the counter tries again", "error", err)
	}
	c.failing[what] = err != nil
}

// take adds reads to the machine's table. If it is full, they move on to the subscriptions at once.
func (c *Counter) take(reads table) {
	if len(reads) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscriptions) == 0 {
		return // the last one has gone while the request ran, and a later one must not get its reads
	}
	for k, n := range reads {
		if !c.table.add(k, *n, maxTable) {
			c.spread()
			c.table.add(k, *n, maxTable)
		}
	}
}

// spread moves the table's counts to the subscriptions that they concern. The caller holds the mutex.
func (c *Counter) spread() {
	room := maxWaiting / max(1, len(c.subscriptions))
	for k, n := range c.table {
		p := decodePattern(k.pattern)
		for _, s := range c.subscriptions {
			if s.selector.overlaps(&p) && !s.waiting.add(k, *n, room) {
				s.other.merge(*n)
			}
		}
	}
	clear(c.table)
}

// store stores a batch for each subscription that is due. The zero time means that all are.
func (c *Counter) store(ctx context.Context, now time.Time) {
	for _, s := range c.due(now) {
		limited, cancel := context.WithTimeout(ctx, callTimeout)
		err := c.registry.SaveReads(limited, s.row, s.sending)
		cancel()
		gone := errors.Is(err, store.ErrNotFound)
		c.mu.Lock()
		switch {
		case err == nil:
			s.sending = nil
		case gone && c.subscriptions[s.row] == s:
			delete(c.subscriptions, s.row)
		}
		c.mu.Unlock()
		if !gone {
			c.report("counts of reads cannot be stored", err)
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// due returns the subscriptions with a batch to store, which is made if there is none.
func (c *Counter) due(now time.Time) (all []*subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spread()
	rate := feedRate / max(1, len(c.subscriptions))
	for _, s := range c.subscriptions {
		if s.sending == nil && (now.IsZero() || !now.Before(s.next)) && s.makeBatch(c.run, c.number+1) {
			c.number++
			s.next = now.Add(time.Duration(len(s.sending)) * time.Second / time.Duration(rate))
		}
		if s.sending != nil {
			all = append(all, s)
		}
	}
	return all
}
