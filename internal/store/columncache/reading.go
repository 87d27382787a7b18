// How the changes since a set are read.

package columncache

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/triple"
)

// maxChanges and maxChangeBytes are how many changes a reader reads before it gives the set up, because
// all readers wait for it. They take some milliseconds.
const (
	maxChanges     = 100_000
	maxChangeBytes = 16 << 20
)

// errVoid means that a change concerns all predicates, or that there are too many changes.
var errVoid = errors.New("all predicates may have changed")

// unread returns the set and the position behind which changes must be read for a reader of at; nil if
// none must be.
func (c *Cache) unread(at feed.Position) (s *state, since feed.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil || c.read.Reaches(at) {
		return nil, since
	}
	return c.current, c.read
}

// readChanges marks the predicates of the changes up to a position as stale. One reader reads at a time,
// and the others take what it has read.
func (c *Cache) readChanges(ctx context.Context, at feed.Position) {
	if s, _ := c.unread(at); s == nil {
		return
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return
	}
	s, since := c.unread(at)
	if s == nil {
		return
	}
	stale, until, err := c.changedSince(ctx, since)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.current == nil: // it is closed
	case err != nil && ctx.Err() == nil && (c.Transient == nil || !c.Transient(err)):
		// A set that was built meanwhile stays: nothing counts as read.
		if c.current.set == s.set {
			c.current = nil
		}
	case c.tooLate(errors.Is(ctx.Err(), context.DeadlineExceeded) && since.Reaches(until)):
		c.current = nil // the next readers need a set behind these changes
	default:
		// After an error that passes the rest is for the next reader. A build may have ended meanwhile.
		// Its set needs the marks, too, and c.read must not move back.
		c.mark(stale)
		if until.Reaches(c.read) {
			c.read = until
		}
	}
}

// maxLate is how many readers in a row may have no time to read a batch of changes.
const maxLate = 10

// tooLate counts a reader that had no time to read a batch, and reports whether they are too many. c.mu must
// be held.
func (c *Cache) tooLate(late bool) bool {
	if !late {
		c.late = 0
		return false
	}
	c.late++
	return c.late%maxLate == 0
}

// changedSince returns the predicates of the changes behind a position, and up to where they were read.
func (c *Cache) changedSince(ctx context.Context, since feed.Position) (stale map[string]struct{}, until feed.Position, err error) {
	stale, until = map[string]struct{}{}, since
	n, size := 0, 0
	for batch, err := range c.Feed.Changes(ctx, feed.Request{Since: since}) {
		if err != nil {
			return stale, until, err
		}
		for i := range batch.Changes {
			change := &batch.Changes[i]
			if err := addPredicate(stale, change); err != nil {
				return stale, until, err
			}
			size += len(change.Key) + len(change.Long)
			if change.Annotation != nil {
				size += len(change.Annotation.Data)
			}
		}
		if n += len(batch.Changes); n > maxChanges || size > maxChangeBytes {
			return stale, until, errVoid
		}
		until = batch.Position.Clone()
	}
	return stale, until, nil
}

// addPredicate adds the predicate of a change of the default graph.
func addPredicate(stale map[string]struct{}, change *feed.Change) error {
	switch change.Kind {
	case feed.Annotate:
		return nil
	case feed.Add, feed.Delete:
		_, terms, err := triple.SplitKey(change.Key)
		if err == nil && len(terms[triple.Graph]) == 0 {
			stale[string(terms[triple.Predicate])] = struct{}{}
		}
		return err
	}
	return errVoid
}

// mark adds stale predicates to the set and to the build that runs. c.mu must be held.
func (c *Cache) mark(stale map[string]struct{}) {
	s := c.current
	fresh := false
	for predicate := range stale {
		if c.changed != nil {
			c.changed[predicate] = struct{}{}
		}
		_, known := s.stale[predicate]
		fresh = fresh || !known
	}
	if !fresh {
		return
	}
	for predicate := range s.stale {
		stale[predicate] = struct{}{}
	}
	c.current = c.newState(s.set, s.at, stale)
}
