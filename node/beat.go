package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// rowBeat changes with every beat; what it holds does not matter.
var rowBeat = localKey("beat")

// rowSeen holds what was given to Saw: generation and epoch as uvarints.
var rowSeen = localKey("seen")

// Saw has every beat from now on write which view this machine has adopted.
func (s *Store) Saw(generation, epoch uint64) {
	row := binary.AppendUvarint(binary.AppendUvarint(nil, generation), epoch)
	s.saw.Store(&row)
}

// Seen returns what the last beat with it wrote, by whatever process; zero before the
// first.
func (s *Store) Seen() (generation, epoch uint64, err error) {
	if err := s.uses.begin(); err != nil {
		return 0, 0, err
	}
	defer s.uses.end()
	row, closer, err := s.db.Get(rowSeen)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, wrap("read the last view", err)
	}
	generation, n := binary.Uvarint(row)
	epoch, m := binary.Uvarint(row[max(n, 0):])
	if n <= 0 || m <= 0 {
		err = fmt.Errorf("read the last view: %w: %x", ErrCorrupt, row)
	}
	return generation, epoch, errors.Join(err, closer.Close())
}

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
		if row := s.saw.Load(); row != nil {
			if err := batch.Set(rowSeen, *row, nil); err != nil {
				done <- err
				return
			}
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
