// The columns of a store: built in the background, and current by the change feed.

// Package columncache keeps the columns of a lone store, or of a whole cluster, in memory (see package
// columns), so that joins compare numbers. They are derived: if they are missing, queries read rows.
//
// # How they stay right
//
// A set of columns belongs to a position of the change feed. A reader of a later position calls
// [Cache.View], which reads the changes between both positions and marks their predicates as stale.
// The columns of all other predicates are right for the reader. So nothing follows the feed while
// no query runs, a writer pays nothing, and a query never misses an acknowledged change. A reader of
// an earlier position gets no columns.
//
// A bulk load, a cleared graph and a gap in the feed end the set. Stale predicates and a missing set
// make the next query begin a new build. It runs beside the queries, which read rows meanwhile, and
// it takes at most a tenth of the time: after a build the next one waits nine times as long. Only a build
// whose rows moved meanwhile ([ErrDisturbed]) is followed by another one as soon as it has lasted.
package columncache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
)

// Options are the parameters of [New]. All but Now and Logger are needed.
type Options struct {
	// Memory bounds a set in bytes. A store whose set would be larger has no columns.
	Memory int64
	// Feed is the change feed of the store. Its positions must not go back: the end that a build begins with
	// has all changes that any reader has read before.
	Feed feed.Source
	// Snapshot returns the rows of the store, and the position that they belong to, or an earlier one:
	// changes behind it are read from the feed. release must be called at the end.
	Snapshot func(ctx context.Context) (src source.Source, at feed.Position, release func() error, err error)
	// Confirm is set if rows are not of one moment. It is called when the rows of a position were read, and
	// returns an error if they cannot be trusted.
	Confirm func(ctx context.Context, at feed.Position) error
	// Transient reports whether an error of the feed says nothing about the set; nil is never.
	Transient func(error) bool
	// Now returns the time; nil is time.Now.
	Now func() time.Time
	// Logger gets failed builds; nil discards them.
	Logger *slog.Logger
}

// Cache keeps the columns of a store. It is safe for concurrent use, and must be closed.
type Cache struct {
	Options
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	// reading holds a token while a reader reads changes. No lock is held meanwhile, because the members
	// of a cluster may be slow to answer.
	reading chan struct{}

	mu      sync.Mutex
	current *state // nil if there is no set
	// changed has the predicates of the changes that were read since the present build began; nil if
	// none runs.
	changed  map[string]struct{}
	building bool
	closed   bool
	next     time.Time // when the next build may begin
	// read is up to where changes were read. Invariant: it reaches current.at.
	read feed.Position
	late int // how many readers in a row had no time to read a batch of changes
}

// state is a set of columns with what has changed since.
type state struct {
	set   *columns.Set
	at    feed.Position
	stale map[string]struct{} // never changed, because views share it
	view  *columns.View
}

// New returns a cache without columns. Build begins to make them.
func New(o Options) *Cache {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{Options: o, reading: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Close frees the columns, ends a build that runs, and waits for it. Views have none from then on.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed, c.current = true, nil
	c.mu.Unlock()
	c.cancel()
	c.tasks.Wait()
}

// View returns the columns for a reader of a position; nil if there are none. It may have to read changes,
// or to wait until another reader has read them, but never longer than ctx.
func (c *Cache) View(ctx context.Context, at feed.Position) *columns.View {
	c.readChanges(ctx, at)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.current
	if s == nil || len(s.stale) > 0 {
		c.build()
	}
	if s == nil || !c.read.Reaches(at) || !at.Reaches(s.at) {
		return nil
	}
	return s.view
}

// Wanted reports whether View has a use: there is a set, or a build may begin.
func (c *Cache) Wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current != nil || c.mayBuild()
}

// Size returns the bytes of the set, and how many predicates are known to be stale; 0 without a set.
func (c *Cache) Size() (bytes int64, stale int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return 0, 0
	}
	return c.current.set.Bytes(), len(c.current.stale)
}

// newState returns a set with the predicates that changed since.
func (c *Cache) newState(set *columns.Set, at feed.Position, stale map[string]struct{}) *state {
	view := columns.NewView(set, stale)
	if c.Confirm != nil {
		view = view.WithMovingRows()
	}
	return &state{set, at, stale, view}
}

// Build begins to build a set, unless a build runs or the last one was not long ago.
func (c *Cache) Build() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.build()
}

// mayBuild reports whether a build may begin now. c.mu must be held.
func (c *Cache) mayBuild() bool { return !c.building && !c.closed && !c.Now().Before(c.next) }

// build is Build. c.mu must be held.
func (c *Cache) build() {
	if !c.mayBuild() {
		return
	}
	c.building, c.changed = true, map[string]struct{}{}
	// The build takes no lock, so queries go on. Changes that they read meanwhile are kept in c.changed.
	c.tasks.Go(func() {
		set, at, took, err := c.snapshotSet()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.building, c.next = false, c.Now().Add(9*took)
		switch {
		case errors.Is(err, columns.ErrTooLarge):
			c.next = c.Now().Add(max(tooLargePause, 9*took))
		case errors.Is(err, ErrDisturbed):
			c.next = c.Now().Add(took)
		}
		switch {
		case c.closed:
		case errors.Is(err, ErrDisturbed):
			c.Logger.Debug("the columns are built once more", "error", err)
		case err != nil:
			c.Logger.Warn("no columns are built, so joins read rows", "error", err)
		default:
			c.Logger.Debug("columns are built", "bytes", set.Bytes(), "predicates", set.Predicates(), "took", took)
			c.publish(set, at)
		}
		c.changed = nil
	})
}

// ErrDisturbed is wrapped by an error of Confirm if the next build may succeed soon.
var ErrDisturbed = errors.New("the rows of the columns were moved while they were read")

// tooLargePause is the least pause after a build that has found the store too large.
const tooLargePause = 10 * time.Minute

// publish makes a built set the current one.
func (c *Cache) publish(set *columns.Set, at feed.Position) {
	// 1. Without a set before it, no changes behind the snapshot count as read.
	if c.current == nil {
		c.read = at
		c.current = c.newState(set, at, nil)
		return
	}
	// 2. Otherwise the predicates of all changes between the snapshot and c.read are in c.changed,
	// because the snapshot was taken after the build began. Those of older changes do no harm.
	if !c.read.Reaches(at) {
		c.read = at
	}
	c.current = c.newState(set, at, c.changed)
}

// snapshotSet builds a set. took is how long it has read, without the wait for the position.
func (c *Cache) snapshotSet() (set *columns.Set, at feed.Position, took time.Duration, err error) {
	src, at, release, err := c.Snapshot(c.ctx)
	if err != nil {
		return nil, at, retryPause, err
	}
	began := c.Now()
	set, err = columns.Build(c.ctx, src, c.Memory)
	if err == nil && c.Confirm != nil {
		err = c.Confirm(c.ctx, at)
	}
	return set, at, c.Now().Sub(began), errors.Join(err, release())
}

// retryPause is counted for a build that found no position.
const retryPause = time.Second
