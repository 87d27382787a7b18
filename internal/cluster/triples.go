// The triples of a node: those of its lone store, or those of the whole cluster.

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/cluster/changes"
	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/lock"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
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
	lone  sync.RWMutex
	lock  *lock.Lock   // of the updates of the cluster
	start func(func()) // starts a task, for which Close waits
}

var _ store.Triples = (*Node)(nil)

// onLone calls f if the node is alone, and keeps it alone meanwhile. done is false otherwise.
func (t *triples) onLone(f func() error) (done bool, err error) {
	t.lone.RLock()
	defer t.lone.RUnlock()
	if !t.isAlone() {
		return false, nil
	}
	t.throttle.Begin()
	defer t.throttle.End()
	return true, f()
}

// Reader returns a snapshot of the lone store, or a reader of the cluster (see [reads.Snapshot]
// for its guarantees).
func (t *triples) Reader() (store.Reader, error) {
	return t.reader(func(sn *reads.Snapshot) *reads.Snapshot { return sn })
}

// StateReader is Reader, but the rows of a cluster's are all of one state, too (see [reads.Snapshot.OneState]).
func (t *triples) StateReader() (r store.Reader, release func(), err error) {
	release = func() {}
	r, err = t.reader(func(sn *reads.Snapshot) (one *reads.Snapshot) {
		one, release = sn.OneState()
		return one
	})
	return r, release, err
}

// reader returns a snapshot of the lone store, or the one that of returns of the cluster's.
func (t *triples) reader(of func(*reads.Snapshot) *reads.Snapshot) (store.Reader, error) {
	var r store.Reader
	lone, err := t.onLone(func() (err error) {
		r, err = t.store.Reader()
		return err
	})
	if !lone {
		if err := t.admission.notJoined(); err != nil {
			return nil, err
		}
		var sn *reads.Snapshot
		if sn, err = t.snapshot(); err == nil {
			r = of(sn)
		}
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
	if t.isAlone() {
		return t.store.Store
	}
	return nil
}

// IsAlone reports whether the node is alone.
func (t *triples) IsAlone() bool { return t.isAlone() }

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

// changeBatch is how many triples of a longer change are on their way at a time.
const changeBatch = 5000

// Write makes a change on all machines of its triples; see [store.Writer]. If the node is alone, it is a
// change of its store.
func (t *triples) Write(ctx context.Context, c store.Change) (r store.Result, err error) {
	lone, err := t.onLone(func() (err error) {
		r, err = t.store.Write(ctx, c)
		return err
	})
	if lone {
		return r, err
	}
	// Only updates take turns; see their method.
	switch c.Kind {
	case store.KindAdd:
		n, failed := t.transact(ctx, nil, c.Triples)
		r.Added, r.Existing, err = n.Changed, n.Unchanged, failed
	case store.KindDelete:
		n, failed := t.transact(ctx, c.Triples, nil)
		r.Deleted, r.Missing, err = n.Changed, n.Unchanged, failed
	case store.KindDeleteMatch:
		r, err = t.deleteMatch(ctx, c, func() error { return t.writes.Claim(ctx) })
	case store.KindAnnotate:
		r.Version, err = t.annotate(ctx, c)
	case store.KindApply:
		r, err = t.apply(ctx, c.Steps)
	case store.KindUpdate:
		r, err = t.update(ctx, c.Update)
	case store.KindClaim:
		err = t.writes.Claim(ctx)
	}
	return r, err
}

// transact sends a client's operations to their sequencers.
func (t *triples) transact(ctx context.Context, deletes, adds []triple.Triple) (writes.Counts, error) {
	t.throttle.Begin()
	defer t.throttle.End()
	return t.writes.Transact(ctx, deletes, adds)
}

// annotate lets the owner of the triple compare and set the annotation.
func (t *triples) annotate(ctx context.Context, c store.Change) (version triple.Stamp, err error) {
	t.throttle.Begin()
	defer t.throttle.End()
	sn, err := t.reads.Snapshot()
	if err == nil {
		defer sn.Close()
		data := c.Annotation.Data
		annotation := replica.Annotation{ApplicationID: c.Annotation.ApplicationID, Removed: data == nil, Data: bytes.Clone(data)}
		version, err = t.writes.Annotate(ctx, c.Triples[0], annotation, c.When, func(ctx context.Context, key []byte, applicationID string) (found writes.Found, err error) {
			found.Stamp, found.Version, found.Live, err = sn.Version(ctx, key, applicationID)
			return found, err
		})
	}
	if err != nil {
		return version, fmt.Errorf("annotate: %w", err)
	}
	return version, nil
}

// deleteMatch deletes what one snapshot has.
func (t *triples) deleteMatch(ctx context.Context, c store.Change, claim func() error) (result store.Result, err error) {
	sn, err := t.reads.Snapshot()
	if err != nil {
		return result, err
	}
	defer sn.Close()
	return store.DeleteRows(ctx, t, sn.Waiting(), c, changeBatch, claim)
}

// apply makes the steps of a change; see applyAll.
func (t *triples) apply(ctx context.Context, steps store.Steps) (result store.Result, err error) {
	c, err := readChange(steps)
	if err != nil {
		return result, err
	}
	return t.applyAll(ctx, c)
}

// update lets the updates of the cluster take turns; other changes do not wait for them.
func (t *triples) update(ctx context.Context, f func(store.Reader) (store.Steps, error)) (store.Result, error) {
	release, err := t.lock.Acquire(ctx)
	if err != nil {
		return store.Result{}, err
	}
	c, err := t.planUpdate(ctx, f)
	if err != nil {
		release()
		return store.Result{}, err
	}
	// The turn ends when the writes have ended. If the client goes away before, it does not know their outcome.
	type outcome struct {
		result store.Result
		err    error
	}
	done := make(chan outcome, 1)
	t.start(func() {
		defer release()
		result, err := t.applyAll(context.WithoutCancel(ctx), c)
		done <- outcome{result, err}
	})
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		if len(done) > 0 {
			o := <-done
			return o.result, o.err
		}
		return store.Result{}, fmt.Errorf("update: %w: %w", store.ErrUnknown, context.Cause(ctx))
	}
}

// planUpdate returns the change of an update, as it is on a snapshot of its turn.
func (t *triples) planUpdate(ctx context.Context, f func(store.Reader) (store.Steps, error)) (c change, err error) {
	// 1. What machines that died have left must be in the snapshot.
	if v := t.View(); v != nil {
		if err := t.waitEarlier(ctx, v.Epoch); err != nil {
			return c, err
		}
	}
	sn, err := t.reads.Snapshot()
	if err != nil {
		return c, err
	}
	defer sn.Close()
	// 2. f may have failed because an earlier try of the request has written already.
	steps, err := f(sn.Waiting())
	if err == nil {
		return readChange(steps)
	}
	if begun, failed := t.writes.Begun(ctx); failed != nil {
		return c, fmt.Errorf("%w: %w; the change was refused now: %v", store.ErrUnavailable, failed, err)
	} else if begun {
		return c, store.ErrBegun
	}
	return c, err
}

// Backup writes a full backup: the files of the lone store, or the rows of the cluster.
func (t *triples) Backup(ctx context.Context, w io.Writer) error {
	if !t.isAlone() {
		return backup.Full(ctx, t, t.store.Status().Version, w)
	}
	return t.store.Backup(ctx, w)
}

// Check verifies all copies of all triples, see [upkeep.Upkeep.Check]. If the node is alone, it
// verifies its store.
func (t *triples) Check(ctx context.Context) (api.CheckReport, error) {
	if t.isAlone() {
		return t.store.Check(ctx)
	}
	return t.upkeep.Check(ctx)
}

// Fence waits until all operations of epochs before the given one are committed, and returns a
// context whose adds and deletes are stamped in this epoch, or refused (see [writes.WithFence]). A
// node alone has nothing to wait for.
func (t *triples) Fence(ctx context.Context, epoch uint64) (context.Context, error) {
	if t.isAlone() {
		return ctx, nil
	}
	if err := t.waitEarlier(ctx, epoch); err != nil {
		return nil, err
	}
	return writes.WithFence(ctx, epoch), nil
}

// waitEarlier waits until all operations of epochs before the given one are committed.
func (t *triples) waitEarlier(ctx context.Context, epoch uint64) error {
	if t.fenced.Load() != epoch {
		if _, err := t.upkeep.WaitCommitted(ctx, epoch); err != nil {
			return err
		}
		t.fenced.Store(epoch)
	}
	return nil
}

// Sink returns the target of bulk loads: the lone store, or the cluster.
func (t *triples) Sink() rdfload.Sink {
	if t.isAlone() {
		return t.store.Sink()
	}
	return t.loads.Sink()
}

// Isolation returns the present isolation: if a node is alone, it is the isolation of its store.
func (t *triples) Isolation() store.Isolation {
	if t.isAlone() {
		return t.store.Isolation()
	}
	return store.IsolationTriple
}
