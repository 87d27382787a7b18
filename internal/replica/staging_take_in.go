// Taking in a bulk load: sealed tables become part of the store.

package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// Taken reports whether this machine has taken in a load, by its number.
func (s Staging) Taken(number uint64) (bool, error) {
	value, err := s.store.db.Value(takenKey(number))
	return value != nil, fault.Wrap("look up a load", err)
}

// takenKey returns the key of the row that records that a load is taken in.
func takenKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(keyspace.LocalKey(loadTaken), number)
}

// TakeIn ingests the sealed tables of a load, all at once and durably, and counts them as a fill
// in the mark. If the load is taken in already, it does nothing. The new rows lie over the held
// ones. Therefore it must come after all operations of earlier epochs, and before any of the
// load's own epoch. [Store.SetLoads] must have set that epoch. TakeIn returns [store.ErrInvalid] if the
// load is not sealed here for that place; place "" is any.
func (s Staging) TakeIn(ctx context.Context, load string, number uint64, place string) error {
	if err := s.takeIn(ctx, load, number, place); err != nil {
		return fault.Wrap(fmt.Sprintf("take in load %q", load), err)
	}
	s.store.Segments().Measure()
	return nil
}

func (s Staging) takeIn(ctx context.Context, load string, number uint64, place string) error {
	if err := s.store.db.Begin(); err != nil {
		return err
	}
	defer s.store.db.End()
	return s.store.Committer().Exclusive(func(to *store.Commit) error { return s.ingest(ctx, to, load, number, place) })
}

// ingest is takeIn under the commit lock: no commit may run.
func (s Staging) ingest(ctx context.Context, to *store.Commit, load string, number uint64, place string) error {
	if err := s.store.db.Err(); err != nil {
		return err
	}
	// 1. If the load is taken in, the record says so; a repetition must do nothing.
	if taken, err := s.Taken(number); err != nil || taken {
		return err
	}
	seal, err := s.readSeal(load)
	if err != nil {
		return err
	}
	if seal == nil || seal.Number != number || place != "" && seal.Place != place {
		return fmt.Errorf("%w: its tables are not here", store.ErrInvalid)
	}
	// 2. Sum the counts, because counters and mark must change in the same ingest.
	after, mark := to.Counters(), s.store.mark.Load()+1
	var paths []string
	annotated := false
	for _, f := range seal.Files {
		paths = append(paths, s.store.db.Path(stagedName, load, seal.Place, f.Name+".sst"))
		after.Triples += f.New
		after.Annotations += f.NewAnnotations
		annotated = annotated || f.Annotated
	}
	if after.Links, err = to.LinksWith(paths); err != nil {
		return err
	}
	// 3. Ingest the tables with the record in one step, so a crash leaves all or nothing. What is in flight may
	// have overwritten rows that are not those of the load.
	s.store.inFlight.forgetOverwritten()
	path, err := s.writeTaken(number, after, mark, annotated)
	if err != nil {
		return err
	}
	if err := to.Ingest(ctx, append(paths, path), after); err != nil {
		return err
	}
	s.store.annotated = s.store.annotated || annotated
	s.store.mark.Store(mark)
	return nil
}

// writeTaken writes the table with the record that a load is taken in. It returns its path.
func (s Staging) writeTaken(number uint64, after keyspace.Counters, mark uint64, annotated bool) (string, error) {
	path := s.store.db.RecordPath()
	w, err := s.store.db.NewTable(path, true)
	if err != nil {
		return "", err
	}
	// Keys must ascend in a table.
	if annotated {
		err = w.Set(rowAnnotated, []byte{})
	}
	err = errors.Join(err,
		w.Set(keyspace.RowCounters, after.Append(nil)),
		w.Set(takenKey(number), []byte{}),
		w.Set(rowMark, binary.AppendUvarint(nil, mark)),
		w.Close())
	return path, err
}
