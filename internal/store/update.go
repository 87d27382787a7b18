// Updates: changes that depend on the current triples.

package store

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// updates runs one Update at a time.
type updates struct {
	turn chan struct{} // holds a token if no update runs
	// last is closed when the change of the update before is done or rejected. It is needed
	// because an update may return with an unknown outcome. It is nil if none is outstanding.
	last <-chan struct{}
}

func (u *updates) init() {
	u.turn = make(chan struct{}, 1)
	u.turn <- struct{}{}
}

// update lets one update run at a time, on the result of the one before, so that none is lost; see [Update].
func (s *Store) update(ctx context.Context, f func(Reader) (Steps, error)) (Result, error) {
	// 1. Wait for the turn. Only one update may run, because each must see the one before.
	if err := s.updates.begin(ctx, s.db, s.options.WriteTimeout); err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	defer func() { s.updates.turn <- struct{}{} }()
	// 2. If an earlier try has made the change, the snapshot of f may show it, so f must not run.
	if done, err := s.HasTokens([]Token{RequestKeyOf(ctx).Claim()}); err != nil || done[0] {
		return Result{}, fault.Wrap("update", cmp.Or(err, ErrDone))
	}
	// 3. Let f read a snapshot, and encode its change. The snapshot keeps files, so it is closed
	// before the commit.
	sn, err := s.Snapshot()
	if err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	defer sn.Close()
	changes, err := f(sn)
	if err != nil {
		return Result{}, err
	}
	r, err := s.committer.newChange(ctx, changes)
	if err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	if err := sn.Close(); err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	// 4. Commit. If the outcome is unknown, the next update must wait for it.
	err = s.committer.doChange(ctx, r)
	if r.state.Load() == stateTaken {
		s.updates.last = r.done
	}
	if err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	return Result{Added: r.changed, Deleted: r.removed}, nil
}

// begin waits until no other update runs.
func (u *updates) begin(ctx context.Context, db *database.Database, timeout time.Duration) error {
	select {
	case <-u.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.Stopping():
		return ErrClosed
	}
	if err := u.waitLast(ctx, db, timeout); err != nil {
		u.turn <- struct{}{}
		return err
	}
	return nil
}

// waitLast waits until the outcome of the update before is known.
func (u *updates) waitLast(ctx context.Context, db *database.Database, timeout time.Duration) error {
	if u.last == nil {
		return nil
	}
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	select {
	case <-u.last:
		u.last = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.Failed():
		return db.Err()
	case <-db.Stopping():
		return ErrClosed
	case <-limit.C:
		return fmt.Errorf("%w: the update before this one has not ended", ErrBusy)
	}
}
