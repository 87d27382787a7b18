// Stamps of rows of bulk loads into a cluster.

package replica

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Rows of a bulk load are written before the epoch of its publication is known. Therefore they
// carry epoch 0, which nothing else uses, and the number of the load. The view names the epoch in
// which the load was taken in. The rows are compared by the first stamp of that epoch, (epoch, 0).
// So they are newer than all of earlier epochs, and older than the operations of their own epoch.
// Rows keep epoch 0 even when a backfill sends them.

// loadEpochs are the epochs in which bulk loads were taken in, by their numbers.
type loadEpochs struct {
	db     *database.Database
	epochs atomic.Pointer[map[uint64]uint64] // replaced only when no commit runs
}

// LoadStamp returns the stamp in the rows of a load.
func LoadStamp(number uint64) triple.Stamp { return triple.Stamp{Sequence: number} }

// SetLoads records the epochs in which loads were taken in, by their numbers. They are durable
// when it returns. A load must be recorded before a row of it is compared with any other. So a
// member calls SetLoads when it adopts a view with a load, before it applies anything of that
// view. Earlier records stay.
func (s *Store) SetLoads(epochs map[uint64]uint64) error {
	return s.Committer().Exclusive(func(*store.Commit) error { return s.loadEpochs.set(epochs) })
}

// set implements SetLoads. No commit may run.
func (l *loadEpochs) set(epochs map[uint64]uint64) error {
	known := *l.epochs.Load()
	all := maps.Clone(known)
	for number, epoch := range epochs {
		if number == 0 || epoch == 0 {
			return fmt.Errorf("set loads: %w: load %d in epoch %d", store.ErrInvalid, number, epoch)
		}
		all[number] = epoch
	}
	if maps.Equal(all, known) {
		return nil
	}
	if err := l.db.SetLocal(rowLoads, appendLoads(nil, all)); err != nil {
		return fault.Wrap("set loads", err)
	}
	l.epochs.Store(&all)
	return nil
}

// appendLoads appends the row of local state: for each load, by number, the uvarints of number and
// epoch.
func appendLoads(dst []byte, epochs map[uint64]uint64) []byte {
	for _, number := range slices.Sorted(maps.Keys(epochs)) {
		dst = binary.AppendUvarint(dst, number)
		dst = binary.AppendUvarint(dst, epochs[number])
	}
	return dst
}

// read reads the row of SetLoads.
func (l *loadEpochs) read() error {
	value, err := l.db.Value(rowLoads)
	if err != nil {
		return err
	}
	epochs := map[uint64]uint64{}
	for rest := value; len(rest) > 0; {
		number, n := binary.Uvarint(rest)
		epoch, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 {
			return keyspace.LocalError(value)
		}
		epochs[number] = epoch
		rest = rest[n+m:]
	}
	l.epochs.Store(&epochs)
	return nil
}

// stampOf returns the stamp by which the value of a row or an annotation is compared.
func (l *loadEpochs) stampOf(value []byte) (triple.Stamp, error) {
	stamp, err := rowStamp(value)
	if err != nil {
		return stamp, err
	}
	return l.resolve(stamp)
}

// annotationOf decodes an annotation, with the stamps for comparison.
func (l *loadEpochs) annotationOf(value []byte) (a triple.Annotation, err error) {
	if a, err = triple.DecodeAnnotation(value); err != nil {
		return a, err
	}
	if a.Stamp, err = l.resolve(a.Stamp); err == nil {
		a.On, err = l.resolve(a.On)
	}
	return a, err
}

// resolve returns the stamp for comparison: it differs from the row's stamp if the row is of a
// bulk load.
func (l *loadEpochs) resolve(stamp triple.Stamp) (triple.Stamp, error) {
	if stamp.Epoch != 0 || stamp.Sequence == 0 {
		return stamp, nil
	}
	epoch, ok := (*l.epochs.Load())[stamp.Sequence]
	if !ok {
		return stamp, fmt.Errorf("%w: a row of bulk load %d, of which this machine has not heard", store.ErrCorrupt, stamp.Sequence)
	}
	return triple.Stamp{Epoch: epoch}, nil
}
