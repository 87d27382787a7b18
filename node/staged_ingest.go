package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// TakenIn reports whether this machine has taken in a load, by its number.
func (s *Store) TakenIn(number uint64) (bool, error) {
	value, err := s.get(takenKey(number))
	return value != nil, wrap("look up a load", err)
}

// takenKey returns the row of local state that says that a load is taken in.
func takenKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(localKey(loadTaken), number)
}

// TakeIn makes the sealed tables of a load part of the store, all at once and
// durably, and counts them as a fill in the mark; where that was done already it
// does nothing. The rows lie over those that are there: it must come after
// everything of earlier epochs, and before anything of the epoch in which the load
// is taken in, which [Store.SetLoads] has told. It is [ErrInvalid] where the load
// is not sealed here for that place; place "" is any.
func (s *Store) TakeIn(ctx context.Context, load string, number uint64, place string) error {
	if err := s.takeIn(ctx, load, number, place); err != nil {
		return wrap(fmt.Sprintf("take in load %q", load), err)
	}
	s.wrote(0)
	s.kick()
	return nil
}

func (s *Store) takeIn(ctx context.Context, load string, number uint64, place string) error {
	if err := s.uses.begin(); err != nil {
		return err
	}
	defer s.uses.end()
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.health.err(); err != nil {
		return err
	}
	if taken, err := s.TakenIn(number); err != nil || taken {
		return err
	}
	seal, err := s.readSeal(load)
	if err != nil {
		return err
	}
	if seal == nil || seal.Number != number || place != "" && seal.Place != place {
		return fmt.Errorf("%w: its tables are not here", ErrInvalid)
	}
	after, mark := s.counted, s.mark.Load()+1
	var paths []string
	annotated := false
	for _, f := range seal.Files {
		paths = append(paths, s.path(stagedName, load, seal.Place, f.Name+".sst"))
		after.triples += f.New
		after.annotations += f.NewAnnotations
		annotated = annotated || f.Annotated
	}
	path, err := s.writeTaken(number, after, mark, annotated)
	if err != nil {
		return err
	}
	defer s.BreakJournal()()
	if err := s.db.Ingest(ctx, append(paths, path)); err != nil {
		return errors.Join(err, s.health.err())
	}
	s.changes.any()
	if err := s.health.err(); err != nil {
		return err
	}
	s.metrics.loaded.Add(after.triples - s.counted.triples)
	s.counted = after
	s.annotated = s.annotated || annotated
	s.mark.Store(mark)
	return nil
}

// writeTaken writes the table that says that a load is taken in, and returns its
// path.
func (s *Store) writeTaken(number uint64, after counters, mark uint64, annotated bool) (string, error) {
	path := s.path(tmpName, fmt.Sprintf("record-%d.sst", s.copies.Add(1)))
	w, err := s.tableWriter(path)
	if err != nil {
		return "", err
	}
	// In the order of the keys.
	if annotated {
		err = w.Set(rowAnnotated, []byte{})
	}
	err = errors.Join(err,
		w.Set(rowCounters, after.append(nil)),
		w.Set(takenKey(number), []byte{}),
		w.Set(rowMark, binary.AppendUvarint(nil, mark)),
		w.Close())
	return path, err
}
