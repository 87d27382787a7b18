// Changes that are made as a whole: deletes, then adds, in one commit.

package node

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Changes are a change of any size: graphs are cleared, then triples deleted,
// then triples added.
type Changes struct {
	// ClearAll removes all triples, ClearDefault those of the default graph, and
	// ClearGraphs those of named graphs, which are IRIs or blank nodes; a graph
	// that is not there is no error.
	ClearAll, ClearDefault bool
	ClearGraphs            []triple.Term

	// Delete and Add yield the triples; nil is none. Each is read once, before
	// anything is written, and may read a snapshot. Blank nodes are taken by their
	// labels.
	Delete, Add iter.Seq[triple.Triple]
	// Err, where set, is called when both have been read; its error, as of a file
	// that they were read from, refuses the change.
	Err func() error

	// Absent, where set, tells of the triples of Add by their number, from 0, which the
	// caller knows not to have been there after entry AbsentSince of the feed. What it
	// says of triples with a watched predicate saves a look at the store, unless it may
	// have changed since. It is called as Add is read.
	Absent      func(number int) bool
	AbsentSince uint64

	// MaxBytes bounds the keys and values of the change; 0 is 256 MiB, and 1 GiB
	// the greatest. While it is written it takes about three times as much memory.
	MaxBytes int64
}

// Limits of Changes.MaxBytes.
const (
	defaultChangeBytes = 256 << 20
	maxChangeBytes     = 1 << 30
)

// ApplyResult says what a change did: how many triples it added that were not
// there, and how many it removed that were. Its steps count one after the
// other: a triple that is there, is deleted and added again counts in both, and
// its annotations are gone.
type ApplyResult struct{ Added, Deleted int64 }

// Apply makes a change as one, durably when it returns: after a crash all of it
// is there or nothing. Annotations go with their triples. [ErrTooLarge] says
// that it would be larger than MaxBytes: then nothing is written.
//
// Whole ranges go by range deletions, in a time and memory that does not depend
// on their size: all there is, the default graph where there is no named one,
// and a named graph in the order that begins with graphs. In the orders that mix
// graphs rows are looked at one by one, those of the graph where it is small and
// of all of the store otherwise (some seconds for a million triples); other
// writes wait meanwhile.
//
// A context that ends before writing begins takes the change back; [ErrUnknown]
// leaves open whether it was done, [ErrDone] says that it was done before under the
// key of ctx ([WithRequestKey]). A change that only clears and deletes may
// use half of the disk space that is kept free.
func (s *Store) Apply(ctx context.Context, changes Changes) (ApplyResult, error) {
	r, err := s.newChange(ctx, changes)
	if err == nil {
		err = s.doChange(ctx, r)
	}
	if err != nil {
		return ApplyResult{}, wrap("apply changes", err)
	}
	return ApplyResult{r.changed, r.removed}, nil
}

// change is what a request of kindApply or kindEdit asks for.
type change struct {
	ctx   context.Context // ends what the committer does before it writes
	clear clearing
	parts []*request // of kindDelete, then of kindAdd; the committer takes them from here
	limit int64      // of the batch, in bytes
	token Token      // of the request, if it has a key

	removed int64 // how many triples were cleared or deleted
}

// newChange encodes a change.
func (s *Store) newChange(ctx context.Context, changes Changes) (*request, error) {
	if s.options.ReadOnly {
		return nil, ErrReadOnly
	}
	if err := s.alone(); err != nil {
		return nil, err
	}
	if changes.MaxBytes < 0 || changes.MaxBytes > maxChangeBytes {
		return nil, fmt.Errorf("%w: MaxBytes is %d, not 0 to %d", ErrInvalid, changes.MaxBytes, maxChangeBytes)
	}
	r := newRequest(kindApply, 0)
	r.change = &change{ctx: ctx, limit: changes.MaxBytes, token: RequestKeyOf(ctx).Claim()}
	if r.limit == 0 {
		r.limit = defaultChangeBytes
	}
	var err error
	if r.clear, err = newClearing(changes); err != nil {
		return nil, err
	}
	if err := r.encode(kindDelete, "triple to delete", changes.Delete, nil, 0); err != nil {
		return nil, err
	}
	if err := r.encode(kindAdd, "triple to add", changes.Add, changes.Absent, changes.AbsentSince); err != nil {
		return nil, err
	}
	if changes.Err != nil {
		if err := changes.Err(); err != nil {
			return nil, err
		}
	}
	if r.clear.none() && r.size <= maxRequestBytes && r.limit >= defaultChangeBytes {
		r.kind = kindEdit
	}
	return r, nil
}

// encode appends triples to a change. An error names the first that is not
// well-formed.
func (r *request) encode(kind kind, what string, triples iter.Seq[triple.Triple], absent func(int) bool, since uint64) error {
	if triples == nil {
		return nil
	}
	var part *request
	var e encoder
	n := 0
	for t := range triples {
		if n%checkMoves == 0 && r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if err := e.check(&t); err != nil {
			return fmt.Errorf("%s, number %d: %w", what, n, err)
		}
		if part == nil || part.size >= maxPartBytes {
			part = nextPart(kind, part)
			r.parts = append(r.parts, part)
		}
		before := part.size
		part.add(&e, t)
		if absent != nil && absent(n) {
			part.absentSince, part.items[len(part.items)-1].absent = since, true
		}
		if r.size += part.size - before; r.size > r.limit {
			return tooLarge(r.limit)
		}
		n++
	}
	for _, part := range r.parts {
		if part.kind == kind {
			part.sort()
		}
	}
	return nil
}

// maxPartBytes is the size of a part of a change: its memory is free as soon as
// it is in the batch.
const maxPartBytes = 4 << 20

// nextPart returns a part as large as the one before, the first one small.
func nextPart(kind kind, before *request) *request {
	if before == nil {
		return newRequest(kind, 4)
	}
	part := newRequest(kind, 0)
	part.arena = make([]byte, 0, maxPartBytes+maxPartBytes/64)
	part.items = make([]item, 0, len(before.items)+len(before.items)/16)
	return part
}

func tooLarge(limit int64) error {
	return fmt.Errorf("%w: it takes more than %d bytes, the limit for one change", ErrTooLarge, limit)
}

// reserved tells that a request may use space that is kept free: it adds nothing, or
// other machines count on it.
func (r *request) reserved() bool {
	switch r.kind {
	case kindDelete:
		return true
	case kindAnnotate:
		return r.data == nil
	case kindStamped:
		return !r.stamped.adds || r.delivery != (Origin{})
	case kindSweep, kindPurge, kindClaim:
		return true
	case kindApply, kindEdit:
		return len(r.parts) == 0 || r.parts[len(r.parts)-1].kind == kindDelete
	}
	return false
}

// doChange has the committer make a change.
func (s *Store) doChange(ctx context.Context, r *request) error {
	if r.clear.none() && len(r.parts) == 0 {
		return errors.Join(context.Cause(ctx), s.health.err())
	}
	return s.queue.do(ctx, r, &s.health, s.options.WriteTimeout)
}
