// Commits that the feed delivers in parts.

package functions

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/triple"
)

// TestLargeCommits: a function that keeps an inverse property has made each effect behind commits larger than its
// batches, whatever part the feed fails at. A clear deletes the effects of earlier commits, too.
func TestLargeCommits(t *testing.T) { bubble.Test(t, largeCommits) }

func largeCommits(t *testing.T) {
	disk := memdisk.New()
	db, err := store.Open("data", store.Options{FS: disk, MinFreeBytes: -1, CacheBytes: 8 << 20, MemTableBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{TB: t, ctx: t.Context(), db: db}
	t.Cleanup(func() { b.close() })
	feedtest.Follower(t, db, func(i int) triple.Term { return iri(fmt.Sprint("o", i)) }, func(s *feedtest.Source) feedtest.Consumer {
		watched := &feedtest.Tap{Source: s}
		begin := func() { b.service = Open(Options{Store: db, Feed: watched}) }
		begin()
		b.put(Registration{Name: "inverse", Pattern: "? <" + feedtest.Predicate + "> ?", Kinds: []string{"add", "delete"}}, module(t, "inverse"))
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error {
				watched.SetError(nil)
				end, err := s.Position(ctx)
				for err == nil && !b.reached("inverse", end) {
					time.Sleep(firstWait / 2) // of the bubble's clock
					err = watched.SetError(nil)
				}
				return err
			},
			Objects: func(ctx context.Context) (list []triple.Term, err error) {
				sn, err := db.Snapshot()
				if err != nil {
					return nil, err
				}
				defer sn.Close()
				for row, err := range sn.Match(ctx, triple.Pattern{Predicate: iri("childOf")}, store.ReadOptions{}) {
					if err != nil {
						return nil, err
					}
					one, err := row.Triple()
					if err != nil {
						return nil, err
					}
					list = append(list, one.Subject)
				}
				return list, nil
			},
			Restart: func() {
				if err := b.service.Close(); err != nil {
					t.Error(err)
				}
				begin()
			},
		}
	})
}

// reached reports whether the stored state of a function has reached a position.
func (b *bench) reached(name string, end feed.Position) bool {
	state := b.state(name)
	at, err := feed.ParsePosition(state.Position)
	return err == nil && state.Intent == nil && at.Reaches(end)
}
