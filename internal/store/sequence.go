// The stamps of a lone store.

package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// rowSequence holds a stamp that is greater than all in use.
var rowSequence = keyspace.LocalKey("sequence")

// sequence returns stamps, each once, even across crashes. If a stamp passes the stored limit, its
// batch must raise the limit.
//
// Invariant: every stamp in the store is less than limit, and next <= limit.
type sequence struct {
	epoch uint64
	next  uint64
	limit uint64
}

// reserveStamps is the step by which the limit is raised.
const reserveStamps = 1 << 16

// firstEpoch is the epoch of a store that was never part of a cluster.
const firstEpoch = 1

func (q *sequence) read(db *database.Database) error {
	*q = sequence{epoch: firstEpoch, next: 1, limit: 1}
	value, err := db.Value(rowSequence)
	if err != nil || value == nil {
		return err
	}
	stamp, err := keyspace.ParseStamp(value)
	if err != nil {
		return err
	}
	*q = sequence{epoch: stamp.Epoch, next: stamp.Sequence, limit: stamp.Sequence}
	return nil
}

// outgrow makes later stamps greater than all stamps of an epoch. Other machines made those, so
// this is needed once for each epoch.
func (q *sequence) outgrow(epoch uint64, batch *pebble.Batch) error {
	if epoch < q.epoch {
		return nil
	}
	*q = sequence{epoch: epoch + 1, next: 1, limit: 1}
	return batch.Set(rowSequence, keyspace.AppendStamp(nil, triple.Stamp{Epoch: q.epoch, Sequence: q.limit}), nil)
}

// last returns a stamp that no stamp in use exceeds.
func (q *sequence) last() triple.Stamp { return triple.Stamp{Epoch: q.epoch, Sequence: q.next - 1} }

// take returns the next stamp for rows of batch.
func (q *sequence) take(batch *pebble.Batch) (triple.Stamp, error) {
	stamp, row := q.takeRow()
	if row == nil {
		return stamp, nil
	}
	return stamp, batch.Set(rowSequence, row, nil)
}

// takeRow returns the next stamp. If row is not nil, it must become the row of rowSequence together
// with the rows of the stamp.
func (q *sequence) takeRow() (stamp triple.Stamp, row []byte) {
	if q.next == q.limit {
		q.limit += reserveStamps
		row = keyspace.AppendStamp(nil, triple.Stamp{Epoch: q.epoch, Sequence: q.limit})
	}
	stamp = triple.Stamp{Epoch: q.epoch, Sequence: q.next}
	q.next++
	return stamp, row
}
