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

// rowSeen holds what was given to Saw: generation, epoch and digest as uvarints. Rows of
// earlier releases have no digest.
var rowSeen = localKey("seen")

// Seen names a view that a machine has adopted.
type Seen struct {
	Generation, Epoch uint64
	// Digest is the view's; 0 if it is not known.
	Digest uint64
}

// Saw has every beat from now on write which view this machine has adopted.
func (s *Store) Saw(v Seen) {
	row := binary.AppendUvarint(binary.AppendUvarint(nil, v.Generation), v.Epoch)
	row = binary.AppendUvarint(row, v.Digest)
	s.saw.Store(&row)
}

// Seen returns what the last beat with it wrote, by whatever process; zero before the
// first.
func (s *Store) Seen() (v Seen, err error) {
	if err := s.uses.begin(); err != nil {
		return v, err
	}
	defer s.uses.end()
	row, closer, err := s.db.Get(rowSeen)
	if errors.Is(err, pebble.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, wrap("read the last view", err)
	}
	rest := row
	for _, to := range []*uint64{&v.Generation, &v.Epoch, &v.Digest} {
		n, size := binary.Uvarint(rest)
		if size <= 0 && (to != &v.Digest || len(rest) > 0) {
			err = fmt.Errorf("read the last view: %w: %x", ErrCorrupt, row)
			break
		}
		*to, rest = n, rest[max(size, 0):]
	}
	return v, errors.Join(err, closer.Close())
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
