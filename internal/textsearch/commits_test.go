// Commits that the feed delivers in parts.

package textsearch

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/triple"
)

// tapped is a lone node whose feed a test watches.
type tapped struct {
	lone
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
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, db: db}
	dir := t.TempDir()
	t.Cleanup(f.close)
	feedtest.Follower(t, db, func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }, func(s *feedtest.Source) feedtest.Consumer {
		open := func() {
			if f.index, err = OpenNode(tapped{lone{db}, s}, Options{Dir: dir, TendEvery: 10 * time.Millisecond, maxChanges: feedtest.Part / 4}); err != nil {
				t.Fatal(err)
			}
		}
		open()
		if indexed {
			if err := f.index.Add(f.ctx(), feedtest.Predicate); err != nil {
				t.Fatal(err)
			}
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
				if err := f.index.Close(); err != nil {
					t.Fatal(err)
				}
				open()
			},
		}
	})
}
