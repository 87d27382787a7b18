// The node as a store, for endpoints.

package cluster

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// While the node is alone it is the store of its machine, otherwise the whole cluster.

// onLone calls f if the node is alone, and keeps it alone meanwhile. done is false otherwise.
func (n *Node) onLone(f func() error) (done bool, err error) {
	n.alone.RLock()
	defer n.alone.RUnlock()
	if n.parts.Load() != nil {
		return false, nil
	}
	n.throttle.Begin()
	defer n.throttle.End()
	return true, f()
}

var _ store.Triples = (*Node)(nil)

// Reader returns a snapshot of the lone store, or a reader of the cluster (see [reads.Snapshot]
// for its guarantees).
func (n *Node) Reader() (store.Reader, error) {
	var sn *store.Snapshot
	lone, err := n.onLone(func() (err error) {
		sn, err = n.store.Store.Snapshot()
		return err
	})
	if err != nil {
		return nil, err
	}
	if lone {
		n.throttle.Begin()
		return &loneRequest{Snapshot: sn, throttle: n.throttle}, nil
	}
	all, err := n.reads.Snapshot()
	if err != nil {
		return nil, err
	}
	n.throttle.Begin()
	return &request{Snapshot: all, throttle: n.throttle}, nil
}

// loneRequest is a client's read of a lone store. Work of quiet times gives way until it is
// closed.
type loneRequest struct {
	*store.Snapshot
	throttle *throttle.Throttle
	closed   atomic.Bool
}

func (r *loneRequest) Close() error {
	if !r.closed.Swap(true) {
		r.throttle.End()
	}
	return r.Snapshot.Close()
}

// request is a client's read of the cluster. Work on copies gives way until it is closed.
type request struct {
	*reads.Snapshot
	throttle *throttle.Throttle
	closed   atomic.Bool
}

func (r *request) Close() error {
	if !r.closed.Swap(true) {
		r.throttle.End()
	}
	return r.Snapshot.Close()
}

// write sends a client's operations to their sequencers.
func (n *Node) write(ctx context.Context, kind store.OperationKind, triples []triple.Triple) (changed, unchanged int64, err error) {
	n.throttle.Begin()
	defer n.throttle.End()
	return n.writes.Write(ctx, kind, triples)
}

// Add adds triples; durable on all their machines when it returns. In a cluster
// many triples are not one transaction: beside an error the result says how many
// are known to be added.
func (n *Node) Add(ctx context.Context, triples []triple.Triple) (result store.AddResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Add(ctx, triples)
		return err
	})
	if !lone {
		result.Added, result.Existing, err = n.write(ctx, store.OperationAdd, triples)
	}
	return result, err
}

// Delete removes triples; see [Node.Add].
func (n *Node) Delete(ctx context.Context, triples []triple.Triple) (result store.DeleteResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Delete(ctx, triples)
		return err
	})
	if !lone {
		result.Deleted, result.Missing, err = n.write(ctx, store.OperationDelete, triples)
	}
	return result, err
}

// changeBatch is how many triples of a longer change are on their way at a time.
const changeBatch = 5000

// Claim records durably that the request of ctx begins. It does nothing if the request has no
// key. It returns [store.ErrBegun] if the request began before.
func (n *Node) Claim(ctx context.Context) error {
	lone, err := n.onLone(func() error { return n.store.Claim(ctx) })
	if !lone {
		err = n.writes.Claim(ctx)
	}
	return err
}

// DeleteMatch deletes the triples of pattern p. If it fails, the result has the number of deleted
// ones. It returns [store.ErrBegun] if it began before under the key of ctx.
func (n *Node) DeleteMatch(ctx context.Context, p triple.Pattern) (result store.DeleteResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.DeleteMatch(ctx, p)
		return err
	})
	if lone {
		return result, err
	}
	return n.deleteMatch(store.WithRequestKey(ctx, "", true), p, n.claimOnce(ctx))
}

// claimOnce returns a function to claim the key of the request of ctx, once. A change must call
// it right before its first write, because a request may be repeated if it fails earlier.
func (n *Node) claimOnce(ctx context.Context) func() error {
	return sync.OnceValue(func() error { return n.writes.Claim(ctx) })
}

func (n *Node) deleteMatch(ctx context.Context, p triple.Pattern, claim func() error) (result store.DeleteResult, err error) {
	sn, err := n.reads.Snapshot()
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
		r, err := n.Delete(ctx, batch)
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
		t, err := row.Triple()
		if err != nil {
			return result, err
		}
		if batch = append(batch, t); len(batch) == changeBatch {
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
func (n *Node) Apply(ctx context.Context, changes store.Changes) (result store.ApplyResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Apply(ctx, changes)
		return err
	})
	if lone {
		return result, err
	}
	c, err := readChange(changes)
	if err != nil {
		return result, err
	}
	return n.applyAll(ctx, c)
}

// Update makes a change computed by f from the present state. In a cluster the updates through
// one node take turns; others do not wait for them.
func (n *Node) Update(ctx context.Context, f func(store.Reader) (store.Changes, error)) (result store.ApplyResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Update(ctx, f)
		return err
	})
	if lone {
		return result, err
	}
	select {
	case n.updating <- struct{}{}:
		defer func() { <-n.updating }()
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
	sn, err := n.reads.Snapshot()
	if err != nil {
		return result, err
	}
	defer sn.Close()
	changes, err := f(sn)
	if err != nil {
		// f may have failed because an earlier try of the request has written already.
		if begun, failed := n.writes.Begun(ctx); failed != nil {
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
	return n.applyAll(ctx, c)
}

// Backup writes a backup of the lone store.
func (n *Node) Backup(ctx context.Context, w io.Writer) error {
	if n.parts.Load() != nil {
		return fmt.Errorf("%w: a member has but a part of the data, and a backup of it could not be restored; dump the cluster instead", store.ErrMember)
	}
	return n.store.Backup(ctx, w)
}

// Check verifies all copies of all triples, see [upkeep.Upkeep.Check]. If the node is alone, it
// verifies its store.
func (n *Node) Check(ctx context.Context) (store.CheckReport, error) {
	if n.parts.Load() == nil {
		return n.store.Check(ctx)
	}
	return n.upkeep.Check(ctx)
}

// Upkeep returns the purges and scrubs of this member.
func (n *Node) Upkeep() *upkeep.Upkeep { return n.upkeep }

// Settled waits until all operations of earlier epochs are committed, see
// [upkeep.Upkeep.Settled]. A node alone has nothing to wait for.
func (n *Node) Settled(ctx context.Context, epoch uint64) (uint64, error) {
	if n.parts.Load() == nil {
		return epoch, nil
	}
	return n.upkeep.Settled(ctx, epoch)
}

// ReadOwn reads the local ranges of this machine, see [reads.Reads.ReadOwn].
func (n *Node) ReadOwn(ctx context.Context, epoch uint64, ranges []triple.Range, do func(ctx context.Context, sn *store.Snapshot) error) error {
	n.throttle.Begin()
	defer n.throttle.End()
	return n.reads.ReadOwn(ctx, epoch, ranges, do)
}

// ChangeBucket returns the bucket that counts changes of a local row, see
// [replica.Store.ChangeBucket].
func (n *Node) ChangeBucket(key []byte) (uint32, bool) { return n.store.Database().ChangeBucket(key) }

// ChangeCount returns the count of a bucket, see [replica.Store.ChangeCount].
func (n *Node) ChangeCount(bucket uint32) uint64 { return n.store.Database().ChangeCount(bucket) }
