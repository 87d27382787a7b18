// The conformance test of followers of the change feed.

// Package feedtest checks a follower of the change feed: whatever it derives from triples is right after commits that
// come in parts, also if the feed fails at any part.
//
// [Follower] makes commits larger than the bounds of the follower, with clears inside of them, and sends each change
// as a batch of its own. Before each round the follower is stopped at one part. Then it follows to the end: it must
// have the store's triples, and must read no part again and again.
package feedtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Predicate is that of the triples. They are in the default graph.
const Predicate = "http://example.org/links"

// Part is the number of changes of a commit, at least. A follower that is tested must have smaller bounds.
const Part = 20

// ErrStopped is the error of a feed that was stopped at a part.
var ErrStopped = errors.New("the feed fails here")

// Source is a feed that sends each change as a batch of its own, and may fail at one of them.
type Source struct {
	feed.Source

	mu      sync.Mutex
	batches int // with changes, since the last call of limit
	most    int
	err     error // behind so many batches
}

// limit makes the feed fail with an error behind some batches with changes.
func (s *Source) limit(most int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches, s.most, s.err = 0, most, err
}

// take counts a batch, and returns the error if it must not be sent.
func (s *Source) take(b *feed.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(b.Changes) == 0 {
		return nil
	}
	if s.batches >= s.most {
		return s.err
	}
	s.batches++
	return nil
}

// Changes implements [feed.Source].
func (s *Source) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		r.MaxBytes = 1
		for b, err := range s.Source.Changes(ctx, r) {
			if err == nil {
				err = s.take(b)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// Tap is a feed that keeps its last error, because a follower may show no more than its text.
type Tap struct {
	feed.Source

	mu     sync.Mutex
	failed error
}

// Changes implements [feed.Source].
func (f *Tap) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for b, err := range f.Source.Changes(ctx, r) {
			if err != nil && ctx.Err() == nil {
				f.SetError(err)
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// SetError sets the error of the feed, and returns the one before.
func (f *Tap) SetError(err error) (last error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last, f.failed = f.failed, err
	return last
}

// Consumer is a follower under test.
type Consumer struct {
	// Follow reads to the end of the feed. An error of the feed may end it.
	Follow func(ctx context.Context) error
	// Objects returns the objects of the triples that the follower has, in any order.
	Objects func(ctx context.Context) ([]triple.Term, error)
	// Restart, if set, begins again with what the follower has kept.
	Restart func()
}

// Follower tests a follower of the feed of an empty store. object returns the object of a triple by number. open is
// called once.
func Follower(t *testing.T, db *store.Store, object func(i int) triple.Term, open func(*Source) Consumer) {
	t.Helper()
	s := &Source{Source: db.Feed()}
	s.limit(1<<30, nil)
	c := open(s)
	for i, commit := range commits {
		// 1. A large commit.
		change := store.Steps{ClearDefault: commit.clear, Add: triples(object, commit.add), Delete: triples(object, commit.remove)}
		if _, err := store.Apply(t.Context(), db, change); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
		// 2. The feed fails at each of its parts.
		for at := range Part + 2 {
			s.limit(at, ErrStopped)
			if err := c.Follow(t.Context()); err != nil && !errors.Is(err, ErrStopped) {
				t.Fatalf("commit %d, stopped at part %d: %v", i, at, err)
			}
			if c.Restart != nil && at%7 == 3 {
				c.Restart()
			}
		}
		// 3. It does not fail. Twice is enough for a follower that must know other things first.
		most := 3 * (commit.add.len() + commit.remove.len() + 2)
		s.limit(most, fmt.Errorf("the follower has read more than %d parts, and does not advance", most))
		if err := c.Follow(t.Context()); err != nil {
			t.Fatalf("commit %d: %v", i, err)
		}
		if got, want := objects(t, c), stored(t, db); !slices.Equal(got, want) {
			t.Fatalf("commit %d: the follower has %d of %d triples:\n%q\nwant\n%q", i, len(got), len(want), got, want)
		}
	}
}

// span is the numbers from the first up to, but not, the second.
type span [2]int

// commits are the commits of the test.
var commits = []struct {
	clear       bool
	add, remove span
}{
	{add: span{0, 2 * Part}},
	{clear: true, add: span{2 * Part, 4 * Part}},                      // a graph is replaced
	{add: span{4 * Part, 5 * Part}, remove: span{2 * Part, 3 * Part}}, // both kinds
	{clear: true, add: span{3 * Part, 5 * Part}},                      // by some that it had
	{remove: span{3 * Part, 4*Part + Part/2}},                         // deletes only
	{clear: true},            // nothing is left
	{add: span{0, 3 * Part}}, // as in the beginning
	{clear: true, add: span{Part, 2 * Part}, remove: span{2 * Part, 3*Part - 1}}, // all of it
}

func (s span) len() int { return s[1] - s[0] }

// triples returns the triples of numbers.
func triples(object func(int) triple.Term, s span) iter.Seq[triple.Triple] {
	return func(yield func(triple.Triple) bool) {
		for i := s[0]; i < s[1]; i++ {
			one := triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://example.org/s%d", i)), Predicate: triple.NewIRI(Predicate), Object: object(i)}
			if !yield(one) {
				return
			}
		}
	}
}

// objects returns what the consumer has, sorted.
func objects(t *testing.T, c Consumer) []string {
	t.Helper()
	list, err := c.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return texts(list)
}

// stored returns what the store has, sorted.
func stored(t *testing.T, db *store.Store) []string {
	t.Helper()
	all, err := Stored(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]triple.Term, len(all))
	for i, one := range all {
		list[i] = one.Object
	}
	return texts(list)
}

// Stored returns the triples of the predicate in a store.
func Stored(ctx context.Context, db *store.Store) (all []triple.Triple, err error) {
	r, err := db.Reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for row, err := range r.Match(ctx, triple.Pattern{Predicate: triple.NewIRI(Predicate)}, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		one, err := row.Triple()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func texts(list []triple.Term) []string {
	all := make([]string, len(list))
	for i, term := range list {
		all[i] = term.String()
	}
	slices.Sort(all)
	return all
}

// Set is the set of triples that the changes of a feed lead to: the consumer of a test.
type Set map[string]triple.Triple

// Take takes in changes.
func (s Set) Take(changes []feed.Change) error {
	for i := range changes {
		switch c := &changes[i]; c.Kind {
		case feed.Clear:
			clear(s)
		case feed.Add, feed.Delete:
			one, err := c.Triple()
			if err != nil {
				return err
			}
			if delete(s, one.String()); c.Kind == feed.Add {
				s[one.String()] = one
			}
		}
	}
	return nil
}

// Objects returns the objects.
func (s Set) Objects(context.Context) (list []triple.Term, err error) {
	for _, one := range s {
		list = append(list, one.Object)
	}
	return list, nil
}
