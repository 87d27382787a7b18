package node

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// AddResult says what an Add did. Of triples that are equal one counts as added
// where the store did not hold it, all others as existing.
type AddResult struct{ Added, Existing int64 }

// DeleteResult says what a delete did.
type DeleteResult struct{ Deleted, Missing int64 }

// MaxAnnotationBytes is the greatest size of the data of one annotation.
const MaxAnnotationBytes = triple.MaxAnnotationBytes

// Add adds triples, durably when it returns. Labels of blank nodes are taken as
// they are. A list of up to 8 MiB is added as one, all or nothing; of a longer
// one the result says how much was, also beside an error. The store keeps
// nothing of triples.
//
// A context that ends before the write has begun takes it back; the error
// [ErrUnknown] leaves open whether it was done. What was done before under the key of
// ctx ([WithRequestKey]) is not done again, and counts as existing.
func (s *Store) Add(ctx context.Context, triples []triple.Triple) (AddResult, error) {
	changed, unchanged, err := s.write(ctx, kindAdd, triples)
	if err != nil {
		err = wrap("add", err)
	}
	return AddResult{changed, unchanged}, err
}

// Delete removes triples with their annotations, durably when it returns; see
// [Store.Add]. A triple without a graph is one of the default graph.
func (s *Store) Delete(ctx context.Context, triples []triple.Triple) (DeleteResult, error) {
	changed, unchanged, err := s.write(ctx, kindDelete, triples)
	if err != nil {
		err = wrap("delete", err)
	}
	return DeleteResult{changed, unchanged}, err
}

func (s *Store) write(ctx context.Context, kind kind, triples []triple.Triple) (changed, unchanged int64, err error) {
	if s.options.ReadOnly {
		return 0, 0, ErrReadOnly
	}
	if err := s.alone(); err != nil {
		return 0, 0, err
	}
	requests, err := newRequests(kind, triples, RequestKeyOf(ctx))
	if err != nil {
		return 0, 0, err
	}
	for _, r := range requests {
		if err := s.queue.do(ctx, r, &s.health, s.options.WriteTimeout); err != nil {
			return changed, unchanged, err
		}
		changed += r.changed
		unchanged += r.unchanged
	}
	return changed, unchanged, nil
}

// deleteBatch is how many triples DeleteMatch deletes at a time.
const deleteBatch = 10_000

// DeleteMatch deletes the triples that match p and are there when it is called,
// in batches: where it fails, the result says how many are gone. If it has begun before
// under the key of ctx ([WithRequestKey]), it returns [ErrBegun].
func (s *Store) DeleteMatch(ctx context.Context, p triple.Pattern) (DeleteResult, error) {
	var total DeleteResult
	if s.options.ReadOnly {
		return total, fmt.Errorf("delete matches: %w", ErrReadOnly)
	}
	if err := s.alone(); err != nil {
		return total, wrap("delete matches", err)
	}
	sn, err := s.Snapshot()
	if err != nil {
		return total, err
	}
	defer sn.Close()
	batch := make([]triple.Triple, 0, deleteBatch)
	claim := sync.OnceValue(func() error { return s.Claim(ctx) })
	flush := func() error {
		if err := claim(); err != nil { // right before it writes
			return err
		}
		r, err := s.Delete(WithRequestKey(ctx, "", true), batch)
		total.Deleted += r.Deleted
		total.Missing += r.Missing
		batch = batch[:0]
		return err
	}
	for row, err := range sn.Match(ctx, p, ReadOptions{}) {
		if err != nil {
			return total, err
		}
		t, err := row.Triple()
		if err != nil {
			return total, wrap("delete matches", err)
		}
		if batch = append(batch, t); len(batch) == deleteBatch {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

// Annotate sets what an application notes on a triple, durably when it returns;
// nil data removes it. The application id is 1 to 255 bytes. [ErrNotFound] says
// that the triple is not there.
func (s *Store) Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	if s.options.ReadOnly {
		return fmt.Errorf("annotate: %w", ErrReadOnly)
	}
	err := (&Note{ApplicationID: applicationID, Data: data}).Check()
	if err == nil {
		err = s.alone()
	}
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	r := newRequest(kindAnnotate, 1)
	r.add(new(encoder), t)
	r.applicationID = applicationID
	if data != nil {
		r.data = append([]byte{}, data...)
		r.size += int64(3 * len(data))
	}
	if err := s.queue.do(ctx, r, &s.health, s.options.WriteTimeout); err != nil {
		return wrap("annotate", err)
	}
	return nil
}
