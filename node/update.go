package node

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// updates lets one Update in at a time.
type updates struct {
	turn chan struct{} // holds a token while there is none
	// last is closed when the change of the update before is done or refused: it
	// may have been left with its outcome unknown. It is nil where none was begun.
	last <-chan struct{}
}

func (u *updates) init() {
	u.turn = make(chan struct{}, 1)
	u.turn <- struct{}{}
}

// Update makes a change that depends on what is there: f reads a snapshot and
// returns the change, which is made as by [Store.Apply]. Of several updates one
// runs at a time, each on what the one before has left, so that none is lost;
// the others wait until their context ends. Other writes (Add, Delete, loads,
// Apply) do not wait: one that comes between the snapshot and the change has
// happened before the change, and f has not seen it.
//
// The snapshot is closed when the iterators of the change have been read. An
// error of f is returned as it is, and nothing is changed.
func (s *Store) Update(ctx context.Context, f func(*Snapshot) (Changes, error)) (ApplyResult, error) {
	if s.options.ReadOnly {
		return ApplyResult{}, fmt.Errorf("update: %w", ErrReadOnly)
	}
	if err := s.alone(); err != nil {
		return ApplyResult{}, wrap("update", err)
	}
	if err := s.beginUpdate(ctx); err != nil {
		return ApplyResult{}, wrap("update", err)
	}
	defer func() { s.updates.turn <- struct{}{} }()
	// What f finds may be what the change has left.
	if done, err := s.HasTokens([]Token{RequestKeyOf(ctx).Claim()}); err != nil || done[0] {
		return ApplyResult{}, wrap("update", cmp.Or(err, ErrDone))
	}
	sn, err := s.Snapshot()
	if err != nil {
		return ApplyResult{}, wrap("update", err)
	}
	defer sn.Close()
	changes, err := f(sn)
	if err != nil {
		return ApplyResult{}, err
	}
	r, err := s.newChange(ctx, changes)
	if err != nil {
		return ApplyResult{}, wrap("update", err)
	}
	if err := sn.Close(); err != nil {
		return ApplyResult{}, wrap("update", err)
	}
	err = s.doChange(ctx, r)
	if r.state.Load() == stateTaken {
		s.updates.last = r.done
	}
	if err != nil {
		return ApplyResult{}, wrap("update", err)
	}
	return ApplyResult{r.changed, r.removed}, nil
}

// beginUpdate waits until no other update runs.
func (s *Store) beginUpdate(ctx context.Context) error {
	select {
	case <-s.updates.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.health.closing:
		return ErrClosed
	}
	if err := s.settleUpdate(ctx); err != nil {
		s.updates.turn <- struct{}{}
		return err
	}
	return nil
}

// settleUpdate waits until it is known what became of the update before.
func (s *Store) settleUpdate(ctx context.Context) error {
	if s.updates.last == nil {
		return nil
	}
	limit := time.NewTimer(s.options.WriteTimeout)
	defer limit.Stop()
	select {
	case <-s.updates.last:
		s.updates.last = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.health.failed:
		return s.health.err()
	case <-s.health.closing:
		return ErrClosed
	case <-limit.C:
		return fmt.Errorf("%w: the update before this one has not ended", ErrBusy)
	}
}
