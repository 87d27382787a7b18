// Commits that the feed delivers in parts.

package columncache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/columncache"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// TestLargeCommits: the columns of a position have whole commits only, whatever part the feed fails at.
func TestLargeCommits(t *testing.T) {
	db := storetest.Open(t)
	key, _ := triple.AppendTerm(nil, triple.NewIRI(feedtest.Predicate))
	literal := func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }
	feedtest.Follower(t, db, literal, func(s *feedtest.Source) feedtest.Consumer {
		var hours atomic.Int64 // a build need not wait for the one before
		c := columncache.New(columncache.Options{
			Memory: 1 << 20, Feed: s, Now: func() time.Time { return time.Unix(3600*hours.Add(1), 0) },
			Transient: func(err error) bool { return errors.Is(err, feedtest.ErrStopped) },
			Snapshot: func(ctx context.Context) (source.Source, feed.Position, func() error, error) {
				at, err := s.Position(ctx)
				if err != nil {
					return nil, at, nil, err
				}
				all, err := feedtest.Stored(ctx, db)
				return memsource.New(all), at, func() error { return nil }, err
			},
		})
		t.Cleanup(c.Close)
		view := func(ctx context.Context) (rows int, ok bool, err error) {
			at, err := s.Position(ctx)
			if err != nil {
				return 0, false, err
			}
			v := c.View(ctx, at)
			if v == nil {
				return 0, false, nil
			}
			if column, ok := v.Column(string(key)); ok {
				rows = column.Rows()
			}
			return rows, true, nil
		}
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error { _, _, err := view(ctx); return err },
			Objects: func(ctx context.Context) (list []triple.Term, err error) {
				// 1. Behind a clear the columns are built again, by the first view.
				rows, ok, err := view(ctx)
				for ; !ok && err == nil && ctx.Err() == nil; rows, ok, err = view(ctx) {
				}
				// 2. They have as many rows as the store.
				all, failed := feedtest.Stored(ctx, db)
				for i := range min(rows, len(all)) {
					list = append(list, all[i].Object)
				}
				if rows > len(all) {
					t.Errorf("the column has %d rows, and the store %d", rows, len(all))
				}
				return list, errors.Join(err, failed)
			},
		}
	})
}
