// Changes of several steps in one commit, and updates: changes that depend on the current triples.

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// Limits of Steps.MaxBytes.
const (
	defaultChangeBytes = 256 << 20
	maxChangeBytes     = 1 << 30
)

// apply makes a change as a whole.
//
// Whole ranges are removed by range deletions, in constant time and memory: all triples, the
// default graph if no named graph exists, and a named graph in the order that begins with graphs.
// In the other orders rows are read one by one. If the graph is small, only its rows are read;
// otherwise all rows of the store (some seconds for a million triples). Other writes must wait
// meanwhile.
func (s *Store) apply(ctx context.Context, steps Steps) (Result, error) {
	r, err := s.committer.newChange(ctx, steps)
	if err == nil {
		err = s.committer.doChange(ctx, r)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Added: r.changed, Deleted: r.removed}, nil
}

// change is the change of a request of KindApply or kindEdit.
type change struct {
	ctx   context.Context // ends the committer's work before the write
	clear clearing
	parts []*request // of KindDelete, then of KindAdd; the committer removes them from here
	limit int64      // of the batch, in bytes
	token Token      // of the request, if it has a key

	removed int64 // number of cleared or deleted triples
}

// newChange encodes a change.
func (c *Committer) newChange(ctx context.Context, changes Steps) (*request, error) {
	// 1. Reject the change before anything is read.
	if err := c.member.checkAlone(); err != nil {
		return nil, err
	}
	if changes.MaxBytes < 0 || changes.MaxBytes > maxChangeBytes {
		return nil, fmt.Errorf("%w: MaxBytes is %d, not 0 to %d", ErrInvalid, changes.MaxBytes, maxChangeBytes)
	}
	// 2. Encode the steps in the order of their execution.
	r := newRequest(KindApply, 0)
	r.change = &change{ctx: ctx, limit: changes.MaxBytes, token: RequestKeyOf(ctx).Claim()}
	if r.limit == 0 {
		r.limit = defaultChangeBytes
	}
	var err error
	if r.clear, err = newClearing(changes); err != nil {
		return nil, err
	}
	if err := r.encode(KindDelete, "triple to delete", changes.Delete, nil, 0); err != nil {
		return nil, err
	}
	if err := r.encode(KindAdd, "triple to add", changes.Add, changes.Absent, changes.AbsentSince); err != nil {
		return nil, err
	}
	// 3. Read the error of the input, because the triples may be incomplete.
	if changes.Err != nil {
		if err := changes.Err(); err != nil {
			return nil, err
		}
	}
	// 4. A small change without clears may share a group with others.
	if r.clear.isEmpty() && r.size <= maxRequestBytes && r.limit >= defaultChangeBytes {
		r.kind = kindEdit
	}
	return r, nil
}

// encode appends triples to a change. Its error names the first malformed triple.
func (r *request) encode(kind Kind, what string, triples iter.Seq[triple.Triple], absent func(int) bool, since uint64) error {
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
func nextPart(kind Kind, before *request) *request {
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
	case KindDelete:
		return true
	case KindAnnotate:
		return r.data == nil
	case kindJob, kindJobAlone:
		return r.job.Reserved()
	case KindClaim:
		return true
	case KindApply, kindEdit:
		return len(r.parts) == 0 || r.parts[len(r.parts)-1].kind == KindDelete
	}
	return false
}

// doChange makes a change through the committer.
func (c *Committer) doChange(ctx context.Context, r *request) error {
	if r.clear.isEmpty() && len(r.parts) == 0 {
		return errors.Join(context.Cause(ctx), c.db.Err())
	}
	return c.do(ctx, r)
}

// updates runs one Update at a time.
type updates struct {
	turn chan struct{} // holds a token if no update runs
	// last is closed when the change of the update before is done or rejected. It is needed
	// because an update may return with an unknown outcome. It is nil if none is outstanding.
	last <-chan struct{}
}

func (u *updates) init() {
	u.turn = make(chan struct{}, 1)
	u.turn <- struct{}{}
}

// update lets one update run at a time, on the result of the one before, so that none is lost; see [Update].
func (s *Store) update(ctx context.Context, f func(Reader) (Steps, error)) (Result, error) {
	// 1. Wait for the turn. Only one update may run, because each must see the one before.
	if err := s.updates.begin(ctx, s.db, s.options.WriteTimeout); err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	defer func() { s.updates.turn <- struct{}{} }()
	// 2. If an earlier try has made the change, the snapshot of f may show it, so f must not run.
	if done, err := s.HasTokens([]Token{RequestKeyOf(ctx).Claim()}); err != nil || done[0] {
		return Result{}, fault.Wrap("update", cmp.Or(err, ErrDone))
	}
	// 3. Let f read a snapshot, and encode its change. The snapshot keeps files, so it is closed
	// before the commit.
	sn, err := s.Snapshot()
	if err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	defer sn.Close()
	changes, err := f(sn)
	if err != nil {
		return Result{}, err
	}
	r, err := s.committer.newChange(ctx, changes)
	if err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	if err := sn.Close(); err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	// 4. Commit. If the outcome is unknown, the next update must wait for it.
	err = s.committer.doChange(ctx, r)
	if r.state.Load() == stateTaken {
		s.updates.last = r.done
	}
	if err != nil {
		return Result{}, fault.Wrap("update", err)
	}
	return Result{Added: r.changed, Deleted: r.removed}, nil
}

// begin waits until no other update runs.
func (u *updates) begin(ctx context.Context, db *database.Database, timeout time.Duration) error {
	select {
	case <-u.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.Stopping():
		return ErrClosed
	}
	if err := u.waitLast(ctx, db, timeout); err != nil {
		u.turn <- struct{}{}
		return err
	}
	return nil
}

// waitLast waits until the outcome of the update before is known.
func (u *updates) waitLast(ctx context.Context, db *database.Database, timeout time.Duration) error {
	if u.last == nil {
		return nil
	}
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	select {
	case <-u.last:
		u.last = nil
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.Failed():
		return db.Err()
	case <-db.Stopping():
		return ErrClosed
	case <-limit.C:
		return fmt.Errorf("%w: the update before this one has not ended", ErrBusy)
	}
}
