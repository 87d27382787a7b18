// Followers: how a consumer reads the feed and leaves it only between commits.

package feed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrInside means that a feed has ended inside of a commit.
var ErrInside = errors.New("the change feed ended inside of a commit")

// Follower reads a feed for one consumer, which keeps a position of its own.
//
// A consumer that leaves the feed inside of a commit must read that commit from its beginning. If it always
// leaves there, it reads the same changes for ever. Therefore [Follower.Read] lets it leave only between
// commits, or with an error:
//
//	Read(since):    for each batch b behind since:
//	                    leave = take(b)         an error ends Read at any place
//	                    return if leave and not b.Continued
//	Reached(p):     what the consumer has taken up to p is its state now
//
// Invariant: behind a Read without an error that took something, the consumer's state can advance: all
// commits that it took are whole. If memory is bounded, take applies what it has of a large commit and
// keeps its position; so applying changes again must be harmless.
//
// A follower also knows whether it stands still, see [Watch]. It is safe for concurrent use.
type Follower struct {
	name string

	mu       sync.Mutex
	at       Position  // as reported by Reached
	taken    Position  // the furthest that was read since then
	parts    int       // batches that were read of the commit behind taken
	advanced time.Time // when one of these moved
	readers  int       // running calls of Read
	err      error     // of the last call of Read, or of Failed

	// Of the watch: an end of the feed that the follower must reach, and since when. read means that Read was
	// running since then, or that the consumer failed, and that it has not left.
	target  Position
	since   time.Time
	read    bool
	stalled *StalledError
	wake    func() // called without the mutex when stalled is set
}

// NewFollower returns a follower. Its name is for metrics, logs and the status. wake, unless it is nil, is called
// when the follower is found to stand still, because requests may wait for it.
func NewFollower(name string, wake func()) *Follower { return &Follower{name: name, wake: wake} }

// Name returns the name.
func (f *Follower) Name() string { return f.name }

// Read calls take with the batches of a request, in order, until take returns leave, the end is reached, or an
// error. It ignores leave inside of a commit. A batch is valid until take returns. If ctx ends, the error is its cause.
func (f *Follower) Read(ctx context.Context, s Source, r Request, take func(*Batch) (leave bool, err error)) (err error) {
	f.begin()
	defer func() { f.end(err) }()
	parts := 0
	for b, err := range s.Changes(ctx, r) {
		if err != nil {
			return err
		}
		leave, err := take(b)
		if err != nil {
			return err
		}
		// A commit that comes in parts is left behind its last one only.
		if parts++; !b.Continued {
			parts = 0
		}
		f.took(b.Position, parts)
		if leave && parts == 0 {
			return nil
		}
	}
	// A feed that ends without an error may have ended with ctx.
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case parts > 0:
		return fmt.Errorf("%w: the rest of it is missing", ErrInside)
	}
	return nil
}

// Each is [Follower.Read] of a consumer that is not watched.
func Each(ctx context.Context, s Source, r Request, take func(*Batch) (leave bool, err error)) error {
	return new(Follower).Read(ctx, s, r, take)
}

func (f *Follower) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
	f.read = true
}

func (f *Follower) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
	f.err = err
}

// Failed reports an error with which an attempt of the consumer to follow the feed ended, maybe before it read anything.
func (f *Follower) Failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.read = err, true
}

// Left reports that the consumer does not follow the feed any more, because another one does. It does not stand still then.
func (f *Follower) Left() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.read = nil, false
}

// took records what was read. It counts as an advance if it goes further than before, and until the target
// is read: what is read and never reached is none.
func (f *Follower) took(p Position, parts int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	further := !f.taken.Reaches(p)
	if !further && (!p.Reaches(f.taken) || parts <= f.parts) {
		return
	}
	if !f.taken.Reaches(f.target) {
		f.advanced = time.Now()
	}
	f.taken, f.parts = p.Clone(), parts
}

// Reached reports the position of the consumer's state. Another position is an advance, also an earlier one: the
// consumer begins again there.
func (f *Follower) Reached(p Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.Source == p.Source && f.at.Reaches(p) && p.Reaches(f.at) {
		return
	}
	f.at, f.taken, f.parts, f.advanced = p.Clone(), p.Clone(), 0, time.Now()
}

// Advanced reports that the consumer has kept a part of a batch for good, because large batches may take it long.
func (f *Follower) Advanced() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advanced = time.Now()
}

// StalledError means that a follower does not advance although the feed does.
type StalledError struct {
	Follower string
	Since    time.Time
	Position Position
	Cause    error // of the last attempt; nil if it had none
}

// Error implements error.
func (e *StalledError) Error() string {
	text := fmt.Sprintf("the follower %q of the change feed has not advanced since %s", e.Follower, e.Since.UTC().Format(time.RFC3339))
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Stalled returns a [*StalledError] if a watch has found that the follower stands still; otherwise nil.
func (f *Follower) Stalled() error {
	if err := f.stalledError(); err != nil {
		return err
	}
	return nil
}

func (f *Follower) stalledError() *StalledError {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stalled
}

// check compares the follower with an end of the feed. It returns how long changes have waited for a follower
// that does not advance, and whether it has begun or ceased to stand still.
func (f *Follower) check(now time.Time, end Position, limit time.Duration) (waited time.Duration, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.stalled != nil
	// 1. If it has reached the target, the present end is the next one. A follower that reads nothing waits
	// for its consumer, as during a build, and does not stand still.
	if f.target.Source != end.Source || f.at.Reaches(f.target) || !f.read {
		f.target, f.since, f.read, f.stalled = end.Clone(), now, f.readers > 0, nil
		return 0, was
	}
	// 2. The target is the same until it is reached, so a feed that moves cannot hide that nothing is.
	last := f.since
	if f.advanced.After(last) {
		last = f.advanced
	}
	waited = now.Sub(last)
	if f.stalled = nil; waited >= limit {
		f.stalled = &StalledError{f.name, last, f.at, f.err}
	}
	return waited, was != (f.stalled != nil)
}
