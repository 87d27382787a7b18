// Adding, deleting and annotating triples.

package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// AddResult counts the triples of an Add. Of equal triples, one counts as added if the store did
// not hold it, all others as existing.
type AddResult struct{ Added, Existing int64 }

// DeleteResult counts the triples of a delete.
type DeleteResult struct{ Deleted, Missing int64 }

// MaxAnnotationBytes is the maximum size of the data of one annotation.
const MaxAnnotationBytes = triple.MaxAnnotationBytes

// Add adds triples, durably when it returns. Labels of blank nodes are kept. A list of up to 8 MiB
// is added as a whole, all or nothing. For a longer list, the result counts the part that was
// added, even with an error. The store keeps nothing of triples.
//
// If ctx ends before the write begins, the write is withdrawn. After [ErrUnknown] it may be done
// or not. If a part was done before under the key of ctx ([WithRequestKey]), it is not repeated
// and counts as existing.
func (s *Store) Add(ctx context.Context, triples []triple.Triple) (AddResult, error) {
	changed, unchanged, err := s.write(ctx, kindAdd, triples)
	if err != nil {
		err = fault.Wrap("add", err)
	}
	return AddResult{changed, unchanged}, err
}

// Delete removes triples with their annotations, durably when it returns; see [Store.Add]. If a
// triple has no graph, it is of the default graph.
func (s *Store) Delete(ctx context.Context, triples []triple.Triple) (DeleteResult, error) {
	changed, unchanged, err := s.write(ctx, kindDelete, triples)
	if err != nil {
		err = fault.Wrap("delete", err)
	}
	return DeleteResult{changed, unchanged}, err
}

func (s *Store) write(ctx context.Context, kind kind, triples []triple.Triple) (changed, unchanged int64, err error) {
	if s.options.ReadOnly {
		return 0, 0, ErrReadOnly
	}
	if err := s.member.alone(); err != nil {
		return 0, 0, err
	}
	requests, err := newRequests(kind, triples, RequestKeyOf(ctx))
	if err != nil {
		return 0, 0, err
	}
	for _, r := range requests {
		if err := s.committer.do(ctx, r); err != nil {
			return changed, unchanged, err
		}
		changed += r.changed
		unchanged += r.unchanged
	}
	return changed, unchanged, nil
}

// deleteBatch is the number of triples in one batch of DeleteMatch.
const deleteBatch = 10_000

type keptGraph struct{}

// WithKept returns a context in which [Writer].DeleteMatch leaves the triples of a graph.
func WithKept(ctx context.Context, graph triple.Term) context.Context {
	return context.WithValue(ctx, keptGraph{}, graph)
}

// IsKept reports whether a triple is of the graph that ctx keeps.
func IsKept(ctx context.Context, t triple.Triple) bool {
	graph, ok := ctx.Value(keptGraph{}).(triple.Term)
	return ok && t.Graph == graph
}

// DeleteMatch deletes the triples that match p at the call, in batches, except those of a kept graph
// ([WithKept]). If it fails, the result
// counts the deleted ones. If it began before under the key of ctx ([WithRequestKey]), it returns
// [ErrBegun].
func (s *Store) DeleteMatch(ctx context.Context, p triple.Pattern) (DeleteResult, error) {
	var total DeleteResult
	if s.options.ReadOnly {
		return total, fmt.Errorf("delete matches: %w", ErrReadOnly)
	}
	if err := s.member.alone(); err != nil {
		return total, fault.Wrap("delete matches", err)
	}
	// 1. Read a snapshot, because triples that come later must stay.
	sn, err := s.Snapshot()
	if err != nil {
		return total, err
	}
	defer sn.Close()
	// 2. Delete in batches. The first batch claims the request's key.
	batch := make([]triple.Triple, 0, deleteBatch)
	claim := sync.OnceValue(func() error { return s.Claim(ctx) })
	flush := func() error {
		if err := claim(); err != nil { // late, because an earlier failed delete may then be repeated
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
			return total, fault.Wrap("delete matches", err)
		}
		if IsKept(ctx, t) {
			continue
		}
		if batch = append(batch, t); len(batch) == deleteBatch {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

// Annotate sets an application's annotation of a triple, durably when it returns. If data is nil,
// it removes the annotation. The application ID is 1 to 255 bytes. It returns [ErrNotFound] if the
// triple is missing.
func (s *Store) Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	_, err := s.AnnotateIf(ctx, t, applicationID, data, Condition{})
	return err
}

// AnnotateIf sets or removes an annotation if a condition holds; see [Annotator].
func (s *Store) AnnotateIf(ctx context.Context, t triple.Triple, applicationID string, data []byte, when Condition) (triple.Stamp, error) {
	var none triple.Stamp
	if s.options.ReadOnly {
		return none, fmt.Errorf("annotate: %w", ErrReadOnly)
	}
	// 1. Check the arguments, because the committer takes them as they are.
	err := CheckAnnotation(applicationID, data)
	if err == nil {
		err = when.Check()
	}
	if err == nil {
		err = s.member.alone()
	}
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return none, fmt.Errorf("annotate: %w", err)
	}
	// 2. Commit.
	r := newRequest(kindAnnotate, 1)
	r.add(new(encoder), t)
	r.applicationID, r.when = applicationID, when
	if key := RequestKeyOf(ctx); key != nil {
		r.tokens = []Token{key.Token(OperationAnnotate, triple.AppendAnnotationKey(nil, r.key(&r.items[0], 0)[1:], applicationID))}
	}
	if data != nil {
		r.data = append([]byte{}, data...)
		r.size += int64(3 * len(data))
	}
	if err := s.committer.do(ctx, r); err != nil {
		return none, fault.Wrap("annotate", err)
	}
	return r.version, nil
}

// CheckAnnotation returns an error if an annotation cannot be stored.
func CheckAnnotation(applicationID string, data []byte) error {
	switch {
	case len(applicationID) == 0 || len(applicationID) > triple.MaxApplicationID:
		return fmt.Errorf("%w: the application id has %d bytes, not 1 to %d", ErrInvalid, len(applicationID), triple.MaxApplicationID)
	case len(data) > MaxAnnotationBytes:
		return fmt.Errorf("%w: %d bytes of data, at most %d", ErrInvalid, len(data), MaxAnnotationBytes)
	}
	return nil
}
