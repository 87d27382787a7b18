// How the changes since a state of the columns are read.

package columncache

import (
	"bytes"
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/triple"
)

// maxChanges and maxChangeBytes are how many changes a reader reads before it gives the set up, because
// all readers wait for it. They take some milliseconds. The set of a file is given up, too.
const (
	maxChanges     = 100_000
	maxChangeBytes = 16 << 20
)

// maxApplied is how many changes are applied to columns at a time. If there are more, the columns of their
// predicates are given up, because a change takes some microseconds.
const maxApplied = 10_000

// errVoid means that a change concerns all predicates, or that there are too many changes.
var errVoid = errors.New("all predicates may have changed")

// unread returns the newest state if a reader of at must see changes behind it; nil if none.
func (c *Cache) unread(at feed.Position) *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.newest(); s != nil && !s.at.Reaches(at) {
		return s
	}
	return nil
}

// readChanges makes the state of a position, if a reader of it must see changes that none has read. One
// reader reads at a time, and the others take what it has read.
func (c *Cache) readChanges(ctx context.Context, at feed.Position) {
	if c.unread(at) == nil {
		return
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return
	}
	// A set that is built meanwhile has its own changes to be read. The next set is not built so soon.
	for range 2 {
		s := c.unread(at)
		if s == nil {
			return
		}
		next, err := c.follow(ctx, s, true)
		if c.publish(ctx, s, next, err) {
			return
		}
	}
}

// publish makes next the newest state, which follows s. It returns false if there is a new set.
func (c *Cache) publish(ctx context.Context, s, next *state, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newest() != s {
		return c.newest() == nil // it is closed
	}
	switch {
	case err != nil && ctx.Err() == nil && (c.Transient == nil || !c.Transient(err)):
		c.states = nil
	case c.tooLate(errors.Is(ctx.Err(), context.DeadlineExceeded) && next == nil):
		c.states = nil // the next readers need a set behind these changes
	case next != nil:
		// After an error that passes the rest is for the next reader.
		if c.states = append(c.states, next); len(c.states) > maxStates {
			c.states = c.states[1:]
		}
		c.follower.Reached(next.at)
	}
	return true
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

// follow returns the state behind s that the end of the feed leads to, or the change that cannot be read; nil
// if that is s. If bounded is set and there are very many changes, the error is errVoid. One call at a time
// may follow the states of a set.
func (c *Cache) follow(ctx context.Context, s *state, bounded bool) (*state, error) {
	read := changes{until: s.at, predicates: map[string]struct{}{}}
	err := c.follower.Read(ctx, c.Feed, feed.Request{Since: s.at}, func(batch *feed.Batch) (bool, error) {
		err := read.add(batch)
		if err == nil && bounded && (read.n > maxChanges || read.bytes > maxChangeBytes) {
			err = errVoid
		}
		return false, err
	})
	if s.at.Reaches(read.until) {
		return nil, err
	}
	next := &state{at: read.until, view: s.view.Changed(read.list)}
	if set, changes := next.view.Bytes(); read.tooMany || set+changes > c.Memory {
		next.view = s.view.WithStale(read.predicates)
	}
	c.mu.Lock()
	s.later = read.predicates
	c.mu.Unlock()
	return next, err
}

// changes are those of the default graph between two positions.
type changes struct {
	until feed.Position
	list  []columns.Change
	// begun are the changes of a request whose other changes follow.
	begun      []columns.Change
	tooMany    bool // they are in neither list
	predicates map[string]struct{}
	n, bytes   int // of all that was read
}

// add adds a batch. The error is errVoid if it concerns all predicates.
func (r *changes) add(batch *feed.Batch) error {
	for i := range batch.Changes {
		change := &batch.Changes[i]
		r.n, r.bytes = r.n+1, r.bytes+len(change.Key)+len(change.Long)
		var err error
		switch change.Kind {
		case feed.Add, feed.Delete:
			err = r.addTriple(change)
		case feed.Annotate:
			if change.Annotation != nil {
				r.bytes += len(change.Annotation.Data)
			}
		default:
			err = errVoid
		}
		if err != nil {
			return err
		}
	}
	// The position of a part of a commit is before it. Its changes count with those of the rest.
	if batch.Continued {
		return nil
	}
	r.list, r.begun = append(r.list, r.begun...), nil
	r.until = batch.Position.Clone()
	return nil
}

// addTriple adds the change of a triple.
func (r *changes) addTriple(change *feed.Change) error {
	_, terms, err := triple.SplitKey(change.Key)
	if err != nil || len(terms[triple.Graph]) > 0 {
		return err
	}
	r.predicates[string(terms[triple.Predicate])] = struct{}{}
	switch {
	case r.tooMany:
	case len(r.list)+len(r.begun) == maxApplied:
		r.list, r.begun, r.tooMany = nil, nil, true
	default:
		for i := range terms {
			terms[i] = bytes.Clone(terms[i]) // a batch is valid until the next one
		}
		r.begun = append(r.begun, columns.Change{Terms: terms, Deleted: change.Kind == feed.Delete})
	}
	return nil
}
