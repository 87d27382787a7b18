// The columns of a store: built in the background, and current by the change feed.

// Package columncache keeps the columns of a lone store, or of a whole cluster, in memory (see package
// columns), so that joins compare numbers. They are derived: if they are missing, queries read rows.
// [Cache] has the argument why no query misses a change.
package columncache

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
)

// Options are the parameters of [New]. Memory, Feed and Snapshot are needed.
type Options struct {
	// Memory bounds a set in bytes. If all predicates would take more, only some have columns.
	Memory int64
	// Triples returns how many there are about, so that no build of all of them begins if they cannot fit; nil does
	// not know.
	Triples func() int64
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
	// File keeps a set for the next start; nil keeps none.
	File File
	// Now returns the time; nil is time.Now.
	Now func() time.Time
	// Logger gets failed builds; nil discards them.
	Logger *slog.Logger
}

// File is where a set is kept.
type File interface {
	Keep(ctx context.Context, set *columns.Set, at feed.Position) error
	// Read returns the set that was kept last. The error wraps [os.ErrNotExist] if none was.
	Read(ctx context.Context, limit int64) (set *columns.Set, at feed.Position, err error)
}

// Cache keeps the columns of a store. It is safe for concurrent use, and must be closed.
//
// A set of columns takes a second or more to build for each million triples, and the store changes
// meanwhile and afterwards. A query must see every change that was acknowledged before it began, and
// on a lone node none behind its snapshot. If writers kept the columns current, each write would pay
// for queries that may never come. So readers do it: a reader whose position lies behind the newest
// state reads the feed from there, applies the changes, and leaves the next state for the others.
//
// Invariants:
//
//  1. A state has the triples of the default graph at its position, of each predicate that has a column
//     and is not stale. In a cluster it may have later ones, too. All others are read as rows.
//  2. states ascend by position, and are of one set. later lists the predicates that changed between a
//     state and the next one, so the other columns of the state are right up to there.
//  3. One reader at a time reads changes (reading), without a lock. It publishes the next state only
//     if the newest is still the one from which it began.
//  4. One build runs at a time. It begins to read the feed at a position that is not behind its first
//     row, because its set takes in all changes since.
//  5. A position is never inside of a commit: changes of a continued batch count with its end.
//
// The protocol:
//
//	View(at)                                     build, beside the queries
//	  the newest state does not reach at:          the first one: take the set of the file
//	    take the token, or wait for its holder     else rows of a snapshot -> set
//	    follow: read the feed to its end             Confirm: in a cluster, were the rows of one epoch?
//	      up to maxApplied changes: patch          follow: read what has changed meanwhile
//	      more, or no memory: stale predicates     replace all states
//	      a load, a clear, a gap, or more than     keep the set in the file, seldom
//	        maxChanges: no states any more         no further build for nine times as long
//	    append the state; keep maxStates
//	  no set, stale, much changed, or wanted
//	    columns are missing: begin a build
//	  return the newest state that may be used:
//	    its position is at; in a cluster a later one, too
//	    or at lies between it and the next: without the predicates in later
//
// In a cluster ([Options].Confirm is set) a query has no snapshot, so a later state is as good. A
// reader that runs out of time leaves the rest of the changes to the next one; if maxLate in a row get
// nowhere, the set is given up. A build whose rows moved ([ErrDisturbed]) is tried again after as
// long as it took, and one that found the store too large after tooLargePause at least.
type Cache struct {
	Options
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	follower *feed.Follower
	// reading holds a token while a reader reads changes. No lock is held meanwhile, because the members
	// of a cluster may be slow to answer.
	reading chan struct{}

	mu sync.Mutex
	// states are those of the set, the newest last; none without a set. Each is right for the readers of its
	// position.
	states   []*state
	building bool
	closed   bool
	next     time.Time // when the next build may begin
	late     int       // how many readers in a row had no time to read a batch of changes
	// wanted counts the requests for columns that are not there, of up to maxWanted predicates.
	wanted map[string]int
	missed bool // a column was wanted since the last build

	// Only a build has the rest.
	opened bool                // the file was read
	keep   time.Time           // when the next set of the same size is kept
	kept   int64               // the bytes of the set of the file
	chosen map[string]struct{} // the predicates of a partial set
}

// state is a set of columns with the changes up to a position.
type state struct {
	view *columns.View
	at   feed.Position
	// later are the predicates that changed between this state and the next one.
	later map[string]struct{}
}

// maxStates is how many states are kept.
const maxStates = 8

// New returns a cache without columns. Build begins to make them.
func New(o Options) *Cache {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Cache{Options: o, follower: feed.NewFollower("columns", nil), reading: make(chan struct{}, 1), wanted: map[string]int{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Follower returns the follower of the change feed, which reads it when a query needs columns.
func (c *Cache) Follower() *feed.Follower { return c.follower }

// Close frees the columns, ends a build that runs, and waits for it. Views have none from then on.
func (c *Cache) Close() {
	c.mu.Lock()
	c.closed, c.states = true, nil
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
	if c.outdated() {
		c.build()
	}
	for i := len(c.states) - 1; i >= 0; i-- {
		s := c.states[i]
		switch reached := s.at.Reaches(at); {
		case reached && (c.Confirm != nil || at.Reaches(s.at)):
			return s.view
		case reached: // it has changes that the reader must not see
		case i == len(c.states)-1: // it may lack some that the reader must see
			return nil
		case at.Reaches(s.at):
			return s.view.WithStale(s.later)
		}
	}
	return nil
}

// outdated reports whether a new set is wanted. c.mu must be held.
func (c *Cache) outdated() bool {
	s := c.newest()
	return c.isOutdated(s) || s.view.Partial() && c.missed
}

// isOutdated reports whether a state has no set, or one that has changed much.
func (c *Cache) isOutdated(s *state) bool {
	if s == nil || s.view.Stale() > 0 {
		return true
	}
	set, changes := s.view.Bytes()
	return changes > minChanged+set/maxChangedShare
}

// want counts a request for a column that is not there.
func (c *Cache) want(predicate string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.wanted[predicate]; known || len(c.wanted) < maxWanted {
		c.wanted[predicate]++
	}
	c.missed = true
}

// maxWanted is for how many predicates requests are counted.
const maxWanted = 1000

// A set with more bytes of changes than minChanged and this share of it is outdated.
const (
	minChanged      = 1 << 20
	maxChangedShare = 8
)

// newest returns the newest state; nil without a set. c.mu must be held.
func (c *Cache) newest() *state {
	if len(c.states) == 0 {
		return nil
	}
	return c.states[len(c.states)-1]
}

// Wanted reports whether View has a use: there is a set, or a build may begin.
func (c *Cache) Wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest() != nil || c.mayBuild()
}

// Size returns the bytes of the set with its changes, and how many predicates have no column; 0 without a
// set.
func (c *Cache) Size() (bytes int64, stale int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.newest()
	if s == nil {
		return 0, 0
	}
	set, changes := s.view.Bytes()
	return set + changes, s.view.Stale()
}

// Idle reports whether no build runs. Then the file has the last set that was to be kept.
func (c *Cache) Idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.building
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
	c.building, c.missed = true, false
	c.tasks.Go(func() {
		// 1. The build takes no lock, so queries go on.
		b, err := c.buildStates()
		c.publishBuild(b, err)
		// 2. Readers need not wait for the file.
		began := c.Now()
		if err == nil && !b.kept {
			c.keepSet(b.set, b.at)
		}
		c.endBuild(b.took+c.Now().Sub(began), err)
	})
}

// publishBuild gives readers what was built, unless that failed.
func (c *Cache) publishBuild(b built, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed, errors.Is(err, errSame):
	case errors.Is(err, ErrDisturbed):
		c.Logger.Debug("the columns are built once more", "error", err)
	case err != nil:
		c.Logger.Warn("no columns are built, so joins read rows", "error", err)
	default:
		c.states = b.states
		c.follower.Reached(c.newest().at)
	}
}

// endBuild lets another build begin some time after one that took long.
func (c *Cache) endBuild(took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.building, c.next = false, c.Now().Add(9*took)
	switch {
	case errors.Is(err, columns.ErrTooLarge), errors.Is(err, errSame):
		c.next = c.Now().Add(max(tooLargePause, 9*took))
	case errors.Is(err, ErrDisturbed):
		c.next = c.Now().Add(took)
	}
}

// ErrDisturbed is wrapped by an error of Confirm if the next build may succeed soon.
var ErrDisturbed = errors.New("the rows of the columns were moved while they were read")

// tooLargePause is the least pause after a build that has found the store too large.
const tooLargePause = 10 * time.Minute

// largeSet is the size of a set whose build gives its memory back to the system.
const largeSet = 64 << 20

// built is what a build has made.
type built struct {
	states []*state
	set    *columns.Set
	at     feed.Position // of the set
	kept   bool          // the set is that of the file
	took   time.Duration // how long it has read, without the wait for the position
}

// buildStates builds a set, and reads what has changed meanwhile. The first set is that of the file, if there
// is one.
func (c *Cache) buildStates() (b built, err error) {
	if !c.opened && c.File != nil {
		began := c.Now()
		c.opened = true
		if b.states = c.keptStates(); b.states != nil {
			b.kept, b.took = true, c.Now().Sub(began)
			return b, nil
		}
	}
	// 1. If there is no such file, build a set from rows.
	src, at, release, err := c.Snapshot(c.ctx)
	if err != nil {
		b.took = retryPause
		return b, err
	}
	began := c.Now()
	b.at = at
	b.set, err = c.buildSet(src)
	if err == nil && c.Confirm != nil {
		err = c.Confirm(c.ctx, at)
	}
	if b.set != nil && b.set.Bytes() > largeSet {
		debug.FreeOSMemory() // a build takes much more than its set
	}
	if err = errors.Join(err, release()); err == nil {
		c.Logger.Debug("columns are built", "bytes", b.set.Bytes(), "predicates", b.set.Predicates(), "took", c.Now().Sub(began))
		// 2. If the changes cannot be read now, they are read for the next reader.
		b.states, _ = c.statesOf(b.set, at, false)
	}
	b.took = c.Now().Sub(began)
	return b, err
}

// errSame means that the columns that can be built are those that are there.
var errSame = errors.New("the columns stay as they are")

// buildSet builds a set of all predicates, or of the most wanted ones if the memory is too small for all.
func (c *Cache) buildSet(src source.Source) (*columns.Set, error) {
	if c.chosen == nil && (c.Triples == nil || c.Triples() <= c.Memory/minTripleBytes) {
		if set, err := columns.Build(c.ctx, src, c.Memory); !errors.Is(err, columns.ErrTooLarge) {
			return set, err
		}
	}
	sizes, err := columns.Sizes(c.ctx, src)
	if err != nil {
		return nil, err
	}
	wanted, outdated := c.demand()
	// Sizes are estimates, so smaller choices may be needed.
	for budget := c.Memory; budget > c.Memory/16; budget /= 2 {
		chosen := columns.Choose(sizes, budget, wanted)
		if len(chosen) == 0 {
			break
		}
		if len(chosen) == len(sizes) {
			chosen = nil // there is room for all of them again
		} else if !outdated && maps.Equal(chosen, c.chosen) {
			return nil, errSame
		}
		set, err := columns.BuildSome(c.ctx, src, c.Memory, chosen)
		if err == nil {
			c.chosen = chosen
		}
		if !errors.Is(err, columns.ErrTooLarge) {
			return set, err
		}
	}
	return nil, columns.ErrTooLarge
}

// minTripleBytes is the least that a triple takes in a set of many.
const minTripleBytes = 8

// demand returns the requests for missing columns, of which old ones count less, and whether the present state
// is worn.
func (c *Cache) demand() (wanted map[string]int, outdated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted = maps.Clone(c.wanted)
	for predicate, n := range c.wanted {
		if c.wanted[predicate] = n / 2; n < 2 {
			delete(c.wanted, predicate)
		}
	}
	return wanted, c.isOutdated(c.newest())
}

// statesOf returns the states of a set and of the end of the feed. The error is that of the feed, or errVoid
// if bounded is set and there are too many changes.
func (c *Cache) statesOf(set *columns.Set, at feed.Position, bounded bool) ([]*state, error) {
	first := &state{view: columns.NewView(set, nil).WithMissing(c.want), at: at}
	if c.Confirm != nil {
		first.view = first.view.WithMovingRows()
	}
	next, err := c.follow(c.ctx, first, bounded)
	if err != nil || next == nil {
		return []*state{first}, err
	}
	return []*state{first, next}, nil
}

// keptStates returns the states of the set of the file; nil if it is of no use. If there are very many changes
// since, reading them takes longer than a build, and gives the columns of their predicates up.
func (c *Cache) keptStates() []*state {
	set, at, err := c.File.Read(c.ctx, c.Memory)
	var states []*state
	if err == nil {
		states, err = c.statesOf(set, at, true)
	}
	switch {
	case errors.Is(err, os.ErrNotExist), c.ctx.Err() != nil:
	case err != nil:
		c.Logger.Warn("the columns are built anew", "error", err)
	default:
		c.keep, c.kept = c.Now().Add(keepPause), set.Bytes()
		c.Logger.Debug("columns are read from their file", "bytes", set.Bytes())
		return states
	}
	return nil
}

// keepPause is the least time between two sets that are kept, unless the second is twice as large.
const keepPause = 10 * time.Minute

// keepSet keeps a set, unless another one was kept not long ago: the next start reads the changes since then.
func (c *Cache) keepSet(set *columns.Set, at feed.Position) {
	if c.File == nil || c.Now().Before(c.keep) && set.Bytes() < 2*c.kept {
		return
	}
	c.keep, c.kept = c.Now().Add(keepPause), set.Bytes()
	if err := c.File.Keep(c.ctx, set, at); err != nil && c.ctx.Err() == nil {
		c.Logger.Warn("the next start has to build the columns", "error", err)
	}
}

// retryPause is counted for a build that found no position.
const retryPause = time.Second
