// Commits that the feed delivers in parts.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// tapped is a lone node whose feed a test watches.
type tapped struct {
	derived.Node
	feed feed.Source
}

func (n tapped) Feed() feed.Source { return n.feed }

// TestLargeCommits: the index advances behind commits with more documents than it applies at a time, and behind cleared
// graphs. It also does if no predicate is indexed.
func TestLargeCommits(t *testing.T) {
	for name, indexed := range map[string]bool{"indexed": true, "nothing indexed": false} {
		t.Run(name, func(t *testing.T) { largeCommits(t, indexed) })
	}
}

func largeCommits(t *testing.T, indexed bool) {
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	f := &fixture{T: t, db: db}
	dir := t.TempDir()
	t.Cleanup(f.close)
	feedtest.Follower(t, db, func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }, func(s *feedtest.Source) feedtest.Consumer {
		open := func() {
			if f.index, err = OpenNode(tapped{derived.Lone{Store: db}, s}, Options{Dir: dir, TendEvery: 10 * time.Millisecond, maxChanges: feedtest.Part / 4}); err != nil {
				t.Fatal(err)
			}
		}
		open()
		if indexed {
			require.NoError(t, f.index.Add(f.ctx(), feedtest.Predicate))
			f.await()
		}
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error { return f.index.follow(ctx) },
			Objects: func(ctx context.Context) (list []triple.Term, err error) {
				if !indexed { // it has nothing but a position
					end, err := s.Position(ctx)
					if at := f.index.state.Load().at; err == nil && !at.Reaches(end) {
						t.Errorf("the index is at %v, and the feed at %v", at, end)
					}
					all, _ := feedtest.Stored(ctx, db)
					for _, one := range all {
						list = append(list, one.Object)
					}
					return list, err
				}
				f.await() // a clear makes it be built again
				for _, text := range f.find("word") {
					list = append(list, triple.NewString(text))
				}
				return list, nil
			},
			Restart: func() {
				require.NoError(t, f.index.Close())
				open()
			},
		}
	})
}

// slowFeed is a feed whose batches take time, as applying them does.
type slowFeed struct {
	feed.Source
	takes time.Duration
	read  int // batches
}

func (s *slowFeed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for b, err := range s.Source.Changes(ctx, r) {
			select {
			case <-time.After(s.takes):
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			if s.read++; !yield(b, err) {
				return
			}
		}
	}
}

// TestLongCommit: a commit that takes longer than a search may wait is applied once, in virtual time. The searches
// meanwhile end with an error after which a client tries again, and one of them finds what the commit has.
func TestLongCommit(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
		require.NoError(t, err)
		slow := &slowFeed{Source: db.Feed()}
		x, err := OpenNode(tapped{derived.Lone{Store: db}, slow}, Options{Dir: t.TempDir(), TendEvery: 24 * time.Hour})
		require.NoError(t, err)
		require.NoError(t, errors.Join(x.Add(t.Context(), label), x.Await(t.Context())))
		synctest.Wait() // until the index is not tended any more
		// 1. One batch takes more than the timeouts of two searches.
		if _, err := store.Add(t.Context(), db, []triple.Triple{labelled("a", "graph")}); err != nil {
			t.Fatal(err)
		}
		slow.takes, slow.read = 5*searchTimeout/2, 0
		began, failed := time.Now(), 0
		var found *Search
		for found == nil && failed < 10 {
			if found, err = x.Search(t.Context(), Request{Query: "graph"}); err != nil {
				failed++
				if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, ErrTooSlow) {
					t.Fatalf("a search while the commit is applied: %v", err)
				}
			}
		}
		// 2. The third search waits for the rest of it.
		if failed != 2 || slow.read != 1 || time.Since(began) != slow.takes {
			t.Errorf("after %s %d searches had failed, and %d batches were read", time.Since(began), failed, slow.read)
		}
		if found != nil {
			if hits, err := found.Next(t.Context(), 2); err != nil || len(hits) != 1 {
				t.Errorf("%d hits, %v", len(hits), err)
			}
		}
		if err := errors.Join(x.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}
