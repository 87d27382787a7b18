// Beats: small durable writes, which prove that the disk works.

package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// rowBeat is written by every beat. Its value has no meaning.
var rowBeat = keyspace.LocalKey("beat")

// rowSeen holds the argument of SetView: generation, epoch and digest as uvarints. Rows of earlier
// releases have no digest.
var rowSeen = keyspace.LocalKey("seen")

// Beats writes the beats of a machine. It is safe for concurrent use.
type Beats struct {
	db      *database.Database
	beating chan struct{}          // holds a token while a beat is written
	adopted atomic.Pointer[[]byte] // the value of rowSeen that beats write
}

// SetView makes every later beat write the view that this machine has adopted.
func (b *Beats) SetView(v store.AdoptedView) {
	row := binary.AppendUvarint(binary.AppendUvarint(nil, v.Generation), v.Epoch)
	row = binary.AppendUvarint(row, v.Digest)
	b.adopted.Store(&row)
}

// LastView returns the view that the last beat wrote, in this process or an earlier one. It is zero if
// no beat wrote one.
func (b *Beats) LastView() (v store.AdoptedView, err error) {
	if err := b.db.Begin(); err != nil {
		return v, err
	}
	defer b.db.End()
	row, closer, err := b.db.Get(rowSeen)
	if errors.Is(err, pebble.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return v, fault.Wrap("read the last view", err)
	}
	rest := row
	for _, to := range []*uint64{&v.Generation, &v.Epoch, &v.Digest} {
		n, size := binary.Uvarint(rest)
		if size <= 0 && (to != &v.Digest || len(rest) > 0) {
			err = fmt.Errorf("read the last view: %w: %x", store.ErrCorrupt, row)
			break
		}
		*to, rest = n, rest[max(size, 0):]
	}
	return v, errors.Join(err, closer.Close())
}

// Beat writes a row durably and returns when the disk has it. So it proves that the disk still
// writes. If ctx ends first, it returns [store.ErrBusy]. The write may then still be running, and the
// next beat waits for it.
func (b *Beats) Beat(ctx context.Context) error {
	if err := b.db.Begin(); err != nil {
		return err
	}
	// 1. Wait for the beat before, because only one may run.
	select {
	case b.beating <- struct{}{}:
	case <-ctx.Done():
		b.db.End()
		return fmt.Errorf("%w: %w", store.ErrBusy, context.Cause(ctx))
	}
	done := make(chan error, 1)
	go func() { // a write cannot be interrupted
		defer b.db.End()
		defer func() { <-b.beating }()
		batch := b.db.NewBatch()
		defer batch.Close()
		if err := batch.Set(rowBeat, nil, nil); err != nil {
			done <- err
			return
		}
		if row := b.adopted.Load(); row != nil {
			if err := batch.Set(rowSeen, *row, nil); err != nil {
				done <- err
				return
			}
		}
		done <- b.db.Commit(batch, true)
	}()
	// 2. Wait for the write or for ctx. The goroutine ends by itself and frees the place in
	// beating.
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", store.ErrBusy, context.Cause(ctx))
	}
}
