// The consumers of the feed that have no package of their own.

package feedtest_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

func number(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }

func open(t *testing.T) *store.Store {
	db := storetest.Open(t)
	return db
}

// TestRead: a consumer that wants to leave at each batch leaves between commits only, so it advances.
func TestRead(t *testing.T) {
	db := open(t)
	feedtest.Follower(t, db, number, func(s *feedtest.Source) feedtest.Consumer {
		var at feed.Position
		set := feedtest.Set{}
		f := feed.NewFollower("test", nil)
		return feedtest.Consumer{Objects: func(ctx context.Context) ([]triple.Term, error) { return set.Objects(ctx) }, Follow: func(ctx context.Context) error {
			for {
				end, err := s.Position(ctx)
				if err != nil || at.Reaches(end) && !at.IsZero() {
					return err
				}
				next, to, last := maps.Clone(set), at, false
				err = f.Read(ctx, s, feed.Request{Since: at}, func(b *feed.Batch) (bool, error) {
					to, last = b.Position.Clone(), b.Continued
					return true, next.Take(b.Changes)
				})
				switch {
				case err != nil:
					return err
				case last:
					return fmt.Errorf("it has left inside of the commit behind %v", to)
				}
				set, at = next, to
				f.Reached(at)
			}
		}}
	})
}
