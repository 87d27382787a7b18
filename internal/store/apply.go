// Changes of several steps: deletes, then adds, in one commit.

package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// Changes is a change of any size: graphs are cleared, then triples deleted, then triples added.
type Changes struct {
	// ClearAll removes all triples, ClearDefault the triples of the default graph, and ClearGraphs
	// the triples of named graphs. A graph's name must be an IRI or a blank node. It is no error
	// if a graph is missing.
	ClearAll, ClearDefault bool
	ClearGraphs            []triple.Term

	// Delete and Add yield the triples; nil is none. Each is read once, before anything is
	// written, and may read a snapshot. Blank nodes keep their labels.
	Delete, Add iter.Seq[triple.Triple]
	// Err, if set, is called when both have been read. If it returns an error, as of an input
	// file, the change is rejected.
	Err func() error

	// Absent, if set, reports whether triple number of Add (from 0) was absent after sequence
	// AbsentSince of the feed. If its predicate is watched and it cannot have changed since, the
	// store need not look it up. Absent is called while Add is read.
	Absent      func(number int) bool
	AbsentSince uint64

	// MaxBytes limits the keys and values of the change. 0 is 256 MiB; the maximum is 1 GiB.
	// During the write, the change takes about three times as much memory.
	MaxBytes int64
}

// Limits of Changes.MaxBytes.
const (
	defaultChangeBytes = 256 << 20
	maxChangeBytes     = 1 << 30
)

// ApplyResult counts the added triples that were absent, and the removed triples that existed. The
// steps count one after the other. If a triple exists, is deleted and added again, it counts in
// both, and its annotations are gone.
type ApplyResult struct{ Added, Deleted int64 }

// Apply makes a change as a whole, durably when it returns: after a crash all of it is there or
// nothing. Annotations go with their triples. Apply returns [ErrTooLarge] and writes nothing if
// the change is larger than MaxBytes.
//
// Whole ranges are removed by range deletions, in constant time and memory: all triples, the
// default graph if no named graph exists, and a named graph in the order that begins with graphs.
// In the other orders rows are read one by one. If the graph is small, only its rows are read;
// otherwise all rows of the store (some seconds for a million triples). Other writes must wait
// meanwhile.
//
// If ctx ends before the write begins, the change is withdrawn. After [ErrUnknown] it may be done
// or not. [ErrDone] means that it was done before under the key of ctx ([WithRequestKey]). A
// change that only clears and deletes may use half of the reserved disk space.
func (s *Store) Apply(ctx context.Context, changes Changes) (ApplyResult, error) {
	r, err := s.committer.newChange(ctx, changes)
	if err == nil {
		err = s.committer.doChange(ctx, r)
	}
	if err != nil {
		return ApplyResult{}, fault.Wrap("apply changes", err)
	}
	return ApplyResult{r.changed, r.removed}, nil
}

// change is the change of a request of kindApply or kindEdit.
type change struct {
	ctx   context.Context // ends the committer's work before the write
	clear clearing
	parts []*request // of kindDelete, then of kindAdd; the committer removes them from here
	limit int64      // of the batch, in bytes
	token Token      // of the request, if it has a key

	removed int64 // number of cleared or deleted triples
}

// newChange encodes a change.
func (c *Committer) newChange(ctx context.Context, changes Changes) (*request, error) {
	// 1. Reject the change before anything is read.
	if c.db.ReadOnly {
		return nil, ErrReadOnly
	}
	if err := c.member.alone(); err != nil {
		return nil, err
	}
	if changes.MaxBytes < 0 || changes.MaxBytes > maxChangeBytes {
		return nil, fmt.Errorf("%w: MaxBytes is %d, not 0 to %d", ErrInvalid, changes.MaxBytes, maxChangeBytes)
	}
	// 2. Encode the steps in the order of their execution.
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
	// 3. Ask for the error of the input, because the triples may be incomplete.
	if changes.Err != nil {
		if err := changes.Err(); err != nil {
			return nil, err
		}
	}
	// 4. A small change without clears may share a group with others.
	if r.clear.none() && r.size <= maxRequestBytes && r.limit >= defaultChangeBytes {
		r.kind = kindEdit
	}
	return r, nil
}

// encode appends triples to a change. Its error names the first malformed triple.
func (r *request) encode(kind kind, what string, triples iter.Seq[triple.Triple], absent func(int) bool, since uint64) error {
	if triples == nil {
		return nil
	}
	// 1. Fill parts of limited size, because the committer frees each one when it is written.
	var part *request
	var e encoder
	n := 0
	for t := range triples {
		if n%database.CheckMoves == 0 && r.ctx.Err() != nil {
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
	// 2. Sort the parts here, because callers run in parallel and the committer does not.
	for _, part := range r.parts {
		if part.kind == kind {
			part.sort()
		}
	}
	return nil
}

// maxPartBytes is the size of a part of a change. Its memory is freed when it is in the batch.
const maxPartBytes = 4 << 20

// nextPart returns a part as large as the one before. The first part is small.
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

// reserved reports whether a request may use reserved space, because it adds nothing or other
// machines count on it.
func (r *request) reserved() bool {
	switch r.kind {
	case kindDelete:
		return true
	case kindAnnotate:
		return r.data == nil
	case kindJob, kindJobAlone:
		return r.job.Reserved()
	case kindClaim:
		return true
	case kindApply, kindEdit:
		return len(r.parts) == 0 || r.parts[len(r.parts)-1].kind == kindDelete
	}
	return false
}

// doChange makes a change through the committer.
func (c *Committer) doChange(ctx context.Context, r *request) error {
	if r.clear.none() && len(r.parts) == 0 {
		return errors.Join(context.Cause(ctx), c.db.Err())
	}
	return c.do(ctx, r)
}
