// The columns of the whole cluster, which a member keeps for its queries.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/columncache"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
)

// memberColumns are the columns that a member of a cluster keeps. A query asks all members for the end
// of the change feed first. So it sees all that was acknowledged before it began, and no member answers
// under a view that others have left.
type memberColumns struct {
	*triples
	cache *columncache.Cache
	pause atomic.Int64 // no query requests the end before this time, in nanoseconds of the node's clock
}

const (
	// columnsTimeout bounds the wait for the end of the feed and the changes up to it. After it the query
	// reads rows.
	columnsTimeout = 200 * time.Millisecond
	// columnsPause is how long no query waits again, because a member is probably down.
	columnsPause = time.Second
)

// newMemberColumns returns columns of up to some bytes. The first query builds them, or reads them from a file.
func newMemberColumns(t *triples, bytes int64, file columncache.File) *memberColumns {
	c := &memberColumns{triples: t}
	c.cache = columncache.New(columncache.Options{
		Memory: bytes, Feed: t.changes, Snapshot: c.rows, Confirm: c.confirm, Logger: t.log, File: file,
		Transient: func(err error) bool { return errors.Is(err, store.ErrUnavailable) },
	})
	return c
}

// rows returns the rows of the cluster for a build. They are not of one moment, so the position is that
// before the first of them is read.
func (c *memberColumns) rows(ctx context.Context) (source.Source, feed.Position, func() error, error) {
	at, err := c.changes.Position(ctx)
	if err != nil {
		return nil, at, nil, err
	}
	sn, err := c.reads.Snapshot()
	if err != nil {
		return nil, at, nil, err
	}
	return sn.Source(), at, sn.Close, nil
}

// confirm returns an error unless all rows that were read since a position are committed. A row of another
// epoch might have gone with the only machine that had it, and no change would tell.
func (c *memberColumns) confirm(ctx context.Context, at feed.Position) error {
	now, err := c.changes.Position(ctx)
	if err == nil && now.Epoch != at.Epoch {
		err = fmt.Errorf("%w: the epoch was %d, and is %d", columncache.ErrDisturbed, at.Epoch, now.Epoch)
	}
	return err
}

// view returns the columns for a query that begins now; nil if there are none.
func (c *memberColumns) view(ctx context.Context) *columns.View {
	if int64(c.leaseTime()) < c.pause.Load() || !c.cache.Wanted() {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, columnsTimeout)
	defer cancel()
	at, err := c.changes.Position(wait)
	if err == nil {
		v := c.cache.View(wait, at)
		if err = wait.Err(); err == nil {
			return v
		}
	}
	// If only this query was given up, the members are as good as before.
	if ctx.Err() == nil {
		c.pause.Store(int64(c.leaseTime() + columnsPause))
	}
	return nil
}

// ColumnFollower returns the follower of the cluster's change feed that keeps this member's columns current; nil if
// there are none.
func (n *Node) ColumnFollower() *feed.Follower {
	if n.triples.columns == nil {
		return nil
	}
	return n.triples.columns.cache.Follower()
}
