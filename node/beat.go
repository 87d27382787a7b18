package node

import (
	"context"
	"fmt"
)

// rowBeat changes with every beat; what it holds does not matter.
var rowBeat = localKey("beat")

// Beat writes something durably and returns when the disk has it: proof that the
// disk still writes. It returns [ErrBusy] where ctx ends first; the write may
// still be going on then, and another beat waits for it.
func (s *Store) Beat(ctx context.Context) error {
	if err := s.uses.begin(); err != nil {
		return err
	}
	select {
	case s.beating <- struct{}{}:
	case <-ctx.Done():
		s.uses.end()
		return fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
	}
	done := make(chan error, 1)
	go func() { // it cannot be interrupted
		defer s.uses.end()
		defer func() { <-s.beating }()
		batch := s.db.NewBatch()
		defer batch.Close()
		if err := batch.Set(rowBeat, nil, nil); err != nil {
			done <- err
			return
		}
		done <- s.apply(batch)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
	}
}
