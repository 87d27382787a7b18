// The triples of a node: those of its lone store, or those of the whole cluster.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/cluster/changes"
	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/check"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// triples are the reads and writes of a node's clients. While the node is alone they go to its
// store, otherwise to the machines of the cluster.
type triples struct {
	*membership
	writes   *writes.Writes
	reads    *reads.Reads
	loads    *loads.Loads
	changes  *changes.Feed
	upkeep   *upkeep.Upkeep
	throttle *throttle.Throttle
	columns  *memberColumns // nil if there are none
	fenced   atomic.Uint64  // an epoch before which all operations are committed
	maps     store.SegmentMaps

	// lone excludes the change from a node alone to a cluster of one: operations on the lone
	// store hold it for reading.
	lone     sync.RWMutex
	updating chan struct{} // holds a token while an update of the cluster runs
}

var _ store.Triples = (*Node)(nil)

// onLone calls f if the node is alone, and keeps it alone meanwhile. done is false otherwise.
func (t *triples) onLone(f func() error) (done bool, err error) {
	t.lone.RLock()
	defer t.lone.RUnlock()
	if !t.alone() {
		return false, nil
	}
	t.throttle.Begin()
	defer t.throttle.End()
	return true, f()
}

// Reader returns a snapshot of the lone store, or a reader of the cluster (see [reads.Snapshot]
// for its guarantees).
func (t *triples) Reader() (store.Reader, error) {
	var r store.Reader
	lone, err := t.onLone(func() (err error) {
		r, err = t.store.Reader()
		return err
	})
	if !lone {
		if err := t.admission.notJoined(); err != nil {
			return nil, err
		}
		r, err = t.snapshot()
	}
	if err != nil {
		return nil, err
	}
	t.throttle.Begin()
	return &request{Reader: r, throttle: t.throttle}, nil
}

// Lone returns the store of a node that is alone; nil in a cluster. When the node joins one, reads
// and writes of the store return [store.ErrMember].
func (t *triples) Lone() *store.Store {
	if t.alone() {
		return t.store.Store
	}
	return nil
}

// Alone reports whether the node is alone.
func (t *triples) Alone() bool { return t.alone() }

// Annotated reports whether the rows of this machine have annotations.
func (t *triples) Annotated() bool { return t.store.Store.Status().Annotations > 0 }

// snapshot returns a reader of the cluster with its columns.
func (t *triples) snapshot() (*reads.Snapshot, error) {
	sn, err := t.reads.Snapshot()
	if err == nil && t.columns != nil {
		sn.Columns = t.columns.view
	}
	return sn, err
}

// request is a client's read. Work on copies, and of quiet times, gives way until it is closed.
type request struct {
	store.Reader
	throttle *throttle.Throttle
	closed   atomic.Bool
}

func (r *request) Close() error {
	if !r.closed.Swap(true) {
		r.throttle.End()
	}
	return r.Reader.Close()
}

// write sends a client's operations to their sequencers.
func (t *triples) write(ctx context.Context, kind store.OperationKind, triples []triple.Triple) (changed, unchanged int64, err error) {
	t.throttle.Begin()
	defer t.throttle.End()
	return t.writes.Write(ctx, kind, triples)
}

// Add adds triples; durable on all their machines when it returns. In a cluster
// many triples are not one transaction: beside an error the result says how many
// are known to be added.
func (t *triples) Add(ctx context.Context, triples []triple.Triple) (result store.AddResult, err error) {
	lone, err := t.onLone(func() (err error) {
		result, err = t.store.Add(ctx, triples)
		return err
	})
	if !lone {
		result.Added, result.Existing, err = t.write(ctx, store.OperationAdd, triples)
	}
	return result, err
}

// Delete removes triples; see [store.Writer].
func (t *triples) Delete(ctx context.Context, triples []triple.Triple) (result store.DeleteResult, err error) {
	lone, err := t.onLone(func() (err error) {
		result, err = t.store.Delete(ctx, triples)
		return err
	})
	if !lone {
		result.Deleted, result.Missing, err = t.write(ctx, store.OperationDelete, triples)
	}
	return result, err
}

// Annotate sets an application's annotation of a triple. When it returns, the annotation is
// durable on all holders. Nil data removes it. The application id must have 1 to 255 bytes.
// Annotate returns [store.ErrNotFound] if the triple is missing.
func (t *triples) Annotate(ctx context.Context, of triple.Triple, applicationID string, data []byte) error {
	_, err := t.AnnotateIf(ctx, of, applicationID, data, store.Condition{})
	return err
}

// AnnotateIf is Annotate with a condition; see [store.Annotator].
func (t *triples) AnnotateIf(ctx context.Context, of triple.Triple, applicationID string, data []byte, when store.Condition) (version triple.Stamp, err error) {
	lone, err := t.onLone(func() (err error) {
		version, err = t.store.AnnotateIf(ctx, of, applicationID, data, when)
		return err
	})
	if lone {
		return version, err
	}
	t.throttle.Begin()
	defer t.throttle.End()
	sn, err := t.reads.Snapshot()
	if err == nil {
		defer sn.Close()
		note := replica.Note{ApplicationID: applicationID, Removed: data == nil, Data: bytes.Clone(data)}
		version, err = t.writes.Annotate(ctx, of, note, when, func(ctx context.Context, key []byte, applicationID string) (found writes.Found, err error) {
			found.Stamp, found.Version, found.Live, err = sn.Version(ctx, key, applicationID)
			return found, err
		})
	}
	if err != nil {
		return version, fmt.Errorf("annotate: %w", err)
	}
	return version, nil
}

// changeBatch is how many triples of a longer change are on their way at a time.
const changeBatch = 5000

// Claim records durably that the request of ctx begins. It does nothing if the request has no
// key. It returns [store.ErrBegun] if the request began before.
func (t *triples) Claim(ctx context.Context) error {
	lone, err := t.onLone(func() error { return t.store.Claim(ctx) })
	if !lone {
		err = t.writes.Claim(ctx)
	}
	return err
}

// DeleteMatch deletes the triples of pattern p. If it fails, the result has the number of deleted
// ones. It returns [store.ErrBegun] if it began before under the key of ctx.
func (t *triples) DeleteMatch(ctx context.Context, p triple.Pattern) (result store.DeleteResult, err error) {
	lone, err := t.onLone(func() (err error) {
		result, err = t.store.DeleteMatch(ctx, p)
		return err
	})
	if lone {
		return result, err
	}
	return t.deleteMatch(store.WithRequestKey(ctx, "", true), p, t.claimOnce(ctx))
}

// claimOnce returns a function to claim the key of the request of ctx, once. A change must call
// it right before its first write, because a request may be repeated if it fails earlier.
func (t *triples) claimOnce(ctx context.Context) func() error {
	return sync.OnceValue(func() error { return t.writes.Claim(ctx) })
}

func (t *triples) deleteMatch(ctx context.Context, p triple.Pattern, claim func() error) (result store.DeleteResult, err error) {
	sn, err := t.reads.Snapshot()
	if err != nil {
		return result, err
	}
	defer sn.Close()
	// 1. Delete a batch when it is full. The key must be claimed right before the first one,
	// because a request may be repeated if it fails earlier.
	var batch []triple.Triple
	flush := func() error {
		if err := claim(); err != nil {
			return err
		}
		r, err := t.Delete(ctx, batch)
		result.Deleted += r.Deleted
		result.Missing += r.Missing
		batch = batch[:0]
		return err
	}
	// 2. Read all matches from one snapshot, and delete them.
	for row, err := range sn.Match(ctx, p, store.ReadOptions{}) {
		if err != nil {
			return result, err
		}
		next, err := row.Triple()
		if err != nil {
			return result, err
		}
		if store.IsKept(ctx, next) {
			continue
		}
		if batch = append(batch, next); len(batch) == changeBatch {
			if err := flush(); err != nil {
				return result, err
			}
		}
	}
	return result, flush()
}

// Apply makes a change. If the node is alone, the change is one batch, all or nothing. In a
// cluster its steps follow one another. If one fails, the result has the counts of the steps
// before.
func (t *triples) Apply(ctx context.Context, changes store.Changes) (result store.ApplyResult, err error) {
	lone, err := t.onLone(func() (err error) {
		result, err = t.store.Apply(ctx, changes)
		return err
	})
	if lone {
		return result, err
	}
	c, err := readChange(changes)
	if err != nil {
		return result, err
	}
	return t.applyAll(ctx, c)
}

// Update makes a change computed by f from the present state. In a cluster the updates through
// one node take turns; others do not wait for them.
func (t *triples) Update(ctx context.Context, f func(store.Reader) (store.Changes, error)) (result store.ApplyResult, err error) {
	lone, err := t.onLone(func() (err error) {
		result, err = t.store.Update(ctx, f)
		return err
	})
	if lone {
		return result, err
	}
	select {
	case t.updating <- struct{}{}:
		defer func() { <-t.updating }()
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
	sn, err := t.reads.Snapshot()
	if err != nil {
		return result, err
	}
	defer sn.Close()
	changes, err := f(sn)
	if err != nil {
		// f may have failed because an earlier try of the request has written already.
		if begun, failed := t.writes.Begun(ctx); failed != nil {
			return result, fmt.Errorf("%w: %w; the change was refused now: %v", store.ErrUnavailable, failed, err)
		} else if begun {
			return result, store.ErrBegun
		}
		return result, err
	}
	c, err := readChange(changes)
	if err != nil {
		return result, err
	}
	return t.applyAll(ctx, c)
}

// Backup writes a full backup: the files of the lone store, or the rows of the cluster.
func (t *triples) Backup(ctx context.Context, w io.Writer) error {
	if !t.alone() {
		return backup.Full(ctx, t, t.store.Status().Version, w)
	}
	return t.store.Backup(ctx, w)
}

// Check verifies all copies of all triples, see [upkeep.Upkeep.Check]. If the node is alone, it
// verifies its store.
func (t *triples) Check(ctx context.Context) (check.Report, error) {
	if t.alone() {
		return t.store.Check(ctx)
	}
	return t.upkeep.Check(ctx)
}

// Fence waits until all operations of epochs before the given one are committed, and returns a
// context whose adds and deletes are stamped in this epoch, or refused (see [writes.WithFence]). A
// node alone has nothing to wait for.
func (t *triples) Fence(ctx context.Context, epoch uint64) (context.Context, error) {
	if t.alone() {
		return ctx, nil
	}
	if done := t.fenced.Load(); done != epoch {
		if _, err := t.upkeep.Settled(ctx, epoch); err != nil {
			return nil, err
		}
		t.fenced.Store(epoch)
	}
	return writes.WithFence(ctx, epoch), nil
}

// Sink returns the target of bulk loads: the lone store, or the cluster.
func (t *triples) Sink() rdfload.Sink {
	if t.alone() {
		return t.store.Sink()
	}
	return t.loads.Sink()
}

// Isolation returns the present isolation: if a node is alone, it is the isolation of its store.
func (t *triples) Isolation() store.Isolation {
	if t.alone() {
		return t.store.Isolation()
	}
	return store.IsolationTriple
}
