package cluster

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/reads"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// This file is the node as its doors see it: a store. While the node is alone it
// is the store of its machine, otherwise the whole cluster.

// Snapshot is what a [Node] reads: a state of the lone store, or a way to read the
// cluster (see [reads.Snapshot] for what it promises).
type Snapshot interface {
	Match(ctx context.Context, p triple.Pattern, o node.ReadOptions) iter.Seq2[node.Row, error]
	Range(ctx context.Context, b triple.Bounds, o node.ReadOptions) iter.Seq2[node.Row, error]
	Count(ctx context.Context, p triple.Pattern) (int64, error)
	Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error)
	Annotation(ctx context.Context, t triple.Triple, applicationID string) ([]byte, error)
	Annotations(ctx context.Context, t triple.Triple) iter.Seq2[node.Annotation, error]
	Source() sparql.Source
	Close() error
}

// onLone calls f while the node is alone and stays so; done is false where it is
// not.
func (n *Node) onLone(f func() error) (done bool, err error) {
	n.alone.RLock()
	defer n.alone.RUnlock()
	if n.parts.Load() != nil {
		return false, nil
	}
	n.pace.begin()
	defer n.pace.end()
	return true, f()
}

// Snapshot returns what there is to read.
func (n *Node) Snapshot() (Snapshot, error) {
	var sn *node.Snapshot
	lone, err := n.onLone(func() (err error) {
		sn, err = n.store.Snapshot()
		return err
	})
	if err != nil {
		return nil, err
	}
	if lone {
		n.pace.begin()
		return &loneRequest{Snapshot: sn, pace: n.pace}, nil
	}
	all, err := n.reads.Snapshot()
	if err != nil {
		return nil, err
	}
	n.pace.begin()
	return &request{Snapshot: all, pace: n.pace}, nil
}

// loneRequest is a client's read of a lone store, which work of quiet times gives way to
// until it is closed.
type loneRequest struct {
	*node.Snapshot
	pace   *pace
	closed atomic.Bool
}

func (r *loneRequest) Close() error {
	if !r.closed.Swap(true) {
		r.pace.end()
	}
	return r.Snapshot.Close()
}

// request is a read of the cluster for a client, which work on copies gives way to
// until it is closed.
type request struct {
	*reads.Snapshot
	pace   *pace
	closed atomic.Bool
}

func (r *request) Close() error {
	if !r.closed.Swap(true) {
		r.pace.end()
	}
	return r.Snapshot.Close()
}

// write sends a client's operations to their sequencers.
func (n *Node) write(ctx context.Context, kind node.OperationKind, triples []triple.Triple) (changed, unchanged int64, err error) {
	n.pace.begin()
	defer n.pace.end()
	return n.writes.Write(ctx, kind, triples)
}

// Add adds triples; durable on all their machines when it returns. In a cluster
// many triples are not one transaction: beside an error the result says how many
// are known to be added.
func (n *Node) Add(ctx context.Context, triples []triple.Triple) (result node.AddResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Add(ctx, triples)
		return err
	})
	if !lone {
		result.Added, result.Existing, err = n.write(ctx, node.OperationAdd, triples)
	}
	return result, err
}

// Delete removes triples; see [Node.Add].
func (n *Node) Delete(ctx context.Context, triples []triple.Triple) (result node.DeleteResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Delete(ctx, triples)
		return err
	})
	if !lone {
		result.Deleted, result.Missing, err = n.write(ctx, node.OperationDelete, triples)
	}
	return result, err
}

// changeBatch is how many triples of a longer change are on their way at a time.
const changeBatch = 5000

// Claim notes durably that the request of ctx begins, unless it has no key. It returns
// [node.ErrBegun] if it began before.
func (n *Node) Claim(ctx context.Context) error {
	lone, err := n.onLone(func() error { return n.store.Claim(ctx) })
	if !lone {
		err = n.writes.Claim(ctx)
	}
	return err
}

// DeleteMatch deletes the triples that match p; where it fails, the result says how
// many are gone. If it has begun before under the key of ctx, it returns [node.ErrBegun].
func (n *Node) DeleteMatch(ctx context.Context, p triple.Pattern) (result node.DeleteResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.DeleteMatch(ctx, p)
		return err
	})
	if lone {
		return result, err
	}
	return n.deleteMatch(node.WithRequestKey(ctx, "", true), p, n.claimOnce(ctx))
}

// claimOnce returns a function that claims the key of the request of ctx. Changes call it
// right before they write, because what was refused before that may be sent again.
func (n *Node) claimOnce(ctx context.Context) func() error {
	return sync.OnceValue(func() error { return n.writes.Claim(ctx) })
}

func (n *Node) deleteMatch(ctx context.Context, p triple.Pattern, claim func() error) (result node.DeleteResult, err error) {
	sn, err := n.reads.Snapshot()
	if err != nil {
		return result, err
	}
	defer sn.Close()
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
	for row, err := range sn.Match(ctx, p, node.ReadOptions{}) {
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

// Apply makes a change. On a node alone it is one batch, all or nothing; in a
// cluster its steps are done one after the other, and where one fails the result
// says what was done before.
func (n *Node) Apply(ctx context.Context, changes node.Changes) (result node.ApplyResult, err error) {
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

// Update makes a change that depends on what is there. In a cluster the updates
// that come through one node take turns, and others do not wait for them.
func (n *Node) Update(ctx context.Context, f func(Snapshot) (node.Changes, error)) (result node.ApplyResult, err error) {
	lone, err := n.onLone(func() (err error) {
		result, err = n.store.Update(ctx, func(sn *node.Snapshot) (node.Changes, error) { return f(sn) })
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
		// What f found may be what an earlier try has left.
		if begun, failed := n.writes.Begun(ctx); failed != nil {
			return result, fmt.Errorf("%w: %w; the change was refused now: %v", node.ErrUnavailable, failed, err)
		} else if begun {
			return result, node.ErrBegun
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
		return fmt.Errorf("%w: a member has but a part of the data, and a backup of it could not be restored; dump the cluster instead", node.ErrMember)
	}
	return n.store.Backup(ctx, w)
}
