// Writes: single triples, patterns and annotations.

package store

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// MaxAnnotationBytes is the maximum size of the data of one annotation.
const MaxAnnotationBytes = triple.MaxAnnotationBytes

// Write makes a change; see [Writer].
func (s *Store) Write(ctx context.Context, c Change) (r Result, err error) {
	// 1. A store that is read-only, or a member's, rejects all kinds.
	if c.Kind == KindClaim && RequestKeyOf(ctx) == nil {
		return r, nil
	}
	if s.options.ReadOnly {
		return r, fault.Wrap(c.Kind.String(), ErrReadOnly)
	}
	if err := s.member.alone(); err != nil {
		return r, fault.Wrap(c.Kind.String(), err)
	}
	// 2. Errors say once what was done. A delete of matches is made of deletes, and an update returns the errors
	// of its caller unchanged.
	switch c.Kind {
	case KindAdd:
		r.Added, r.Existing, err = s.writeTriples(ctx, c)
	case KindDelete:
		r.Deleted, r.Missing, err = s.writeTriples(ctx, c)
	case KindDeleteMatch:
		return s.deleteMatch(ctx, c)
	case KindAnnotate:
		r.Version, err = s.annotate(ctx, c)
	case KindApply:
		r, err = s.apply(ctx, c.Steps)
	case KindUpdate:
		return s.update(ctx, c.Update)
	case KindClaim:
		err = s.claim(ctx)
	}
	return r, fault.Wrap(c.Kind.String(), err)
}

func (s *Store) writeTriples(ctx context.Context, c Change) (changed, unchanged int64, err error) {
	requests, err := newRequests(c.Kind, c.Triples, RequestKeyOf(ctx))
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

// deleteBatch is the number of triples in one batch of deleteMatch.
const deleteBatch = 10_000

// deleteMatch deletes what a snapshot has, because triples that come later must stay.
func (s *Store) deleteMatch(ctx context.Context, c Change) (Result, error) {
	sn, err := s.Snapshot()
	if err != nil {
		return Result{}, err
	}
	defer sn.Close()
	return DeleteRows(ctx, s, sn, c, deleteBatch, func() error { return Claim(ctx, s) })
}

// DeleteRows deletes the rows of a reader that a change of [KindDeleteMatch] deletes, in batches. It calls
// claim right before the first one, because the request may be repeated if it fails earlier.
func DeleteRows(ctx context.Context, from Writer, r Reader, c Change, batchSize int, claim func() error) (total Result, err error) {
	// 1. Batches bound the memory, and the size of a commit.
	var batch []triple.Triple
	claim = sync.OnceValue(claim)
	flush := func() error {
		if err := claim(); err != nil {
			return err
		}
		r, err := Delete(WithRequestKey(ctx, "", true), from, batch)
		total.Deleted += r.Deleted
		total.Missing += r.Missing
		batch = batch[:0]
		return err
	}
	// 2. All are of one reader, because triples that come later must stay.
	for row, err := range r.Match(ctx, c.Pattern, ReadOptions{}) {
		if err != nil {
			return total, err
		}
		t, err := row.Triple()
		if err != nil {
			return total, fault.Wrap(c.Kind.String(), err)
		}
		if !c.Keep.IsZero() && t.Graph == c.Keep {
			continue
		}
		if batch = append(batch, t); len(batch) == batchSize {
			if err := flush(); err != nil {
				return total, err
			}
		}
	}
	return total, flush()
}

func (s *Store) annotate(ctx context.Context, c Change) (triple.Stamp, error) {
	// 1. Check the arguments, because the committer takes them as they are.
	t, applicationID, data := c.Triples[0], c.Annotation.ApplicationID, c.Annotation.Data
	if err := cmp.Or(CheckAnnotation(applicationID, data), c.When.Check(), t.Check()); err != nil {
		return triple.Stamp{}, err
	}
	// 2. Commit.
	r := newRequest(KindAnnotate, 1)
	r.add(new(encoder), t)
	r.applicationID, r.when = applicationID, c.When
	if key := RequestKeyOf(ctx); key != nil {
		r.tokens = []Token{key.Token(OperationAnnotate, triple.AppendAnnotationKey(nil, r.key(&r.items[0], 0)[1:], applicationID))}
	}
	if data != nil {
		r.data = append([]byte{}, data...)
		r.size += int64(3 * len(data))
	}
	if err := s.committer.do(ctx, r); err != nil {
		return triple.Stamp{}, err // r may still be written
	}
	return r.version, nil
}

// claim records the token of the request of ctx, if it has a key.
func (s *Store) claim(ctx context.Context) error {
	key := RequestKeyOf(ctx)
	if key == nil {
		return nil
	}
	r := newRequest(KindClaim, 0)
	r.tokens, r.size = []Token{key.Claim()}, itemBytes
	err := s.committer.do(ctx, r)
	if err == nil && r.unchanged > 0 {
		err = ErrBegun
	}
	return err
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
