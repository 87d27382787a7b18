package node

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// sequence gives out stamps, each once, also across crashes: the stored limit is
// raised in the batch that first goes past it.
//
// Invariant: every stamp in the store is less than limit; next <= limit.
type sequence struct {
	epoch uint64
	next  uint64
	limit uint64
}

// reserveStamps is by how much the limit is raised at a time.
const reserveStamps = 1 << 16

// firstEpoch is the epoch of a store that has never been part of a cluster.
const firstEpoch = 1

func (q *sequence) read(s *Store) error {
	*q = sequence{epoch: firstEpoch, next: 1, limit: 1}
	value, err := s.get(rowSequence)
	if err != nil || value == nil {
		return err
	}
	stamp, err := parseStamp(value)
	if err != nil {
		return err
	}
	*q = sequence{epoch: stamp.Epoch, next: stamp.Sequence, limit: stamp.Sequence}
	return nil
}

// outgrow makes the stamps to come greater than those of an epoch, that others
// have given, once for each epoch.
func (q *sequence) outgrow(epoch uint64, batch *pebble.Batch) error {
	if epoch < q.epoch {
		return nil
	}
	*q = sequence{epoch: epoch + 1, next: 1, limit: 1}
	return batch.Set(rowSequence, appendStamp(nil, triple.Stamp{Epoch: q.epoch, Sequence: q.limit}), nil)
}

// take returns the next stamp, for rows of batch.
func (q *sequence) take(batch *pebble.Batch) (triple.Stamp, error) {
	if q.next == q.limit {
		limit := triple.Stamp{Epoch: q.epoch, Sequence: q.limit + reserveStamps}
		if err := batch.Set(rowSequence, appendStamp(nil, limit), nil); err != nil {
			return triple.Stamp{}, err
		}
		q.limit = limit.Sequence
	}
	stamp := triple.Stamp{Epoch: q.epoch, Sequence: q.next}
	q.next++
	return stamp, nil
}
