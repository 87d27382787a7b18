package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/triple"
)

// This file is how a node learns that no operation of an earlier epoch can turn up any
// more. Within an epoch a triple has one sequencer, and its stamps are in the order of
// its operations; but what a machine had stamped that is dead is settled by others, with
// its old stamps, some time after.

// methodSettled asks whether all from before an epoch is settled.
const methodSettled = "cluster/settled"

// settledPatience is for how long it is waited for that.
const settledPatience = 10 * time.Second

// Settled waits until every operation that was stamped before some epoch, which is no
// less than the given one, is settled, or never will be, and returns that epoch: it is
// the adopted one. A node alone has nothing to wait for. The error is
// node.ErrUnavailable where a member does not answer.
func (n *Node) Settled(ctx context.Context, epoch uint64) (uint64, error) {
	if n.parts.Load() == nil {
		return epoch, nil
	}
	wait, cancel := context.WithTimeout(ctx, settledPatience)
	defer cancel()
	for pause := firstAsk; ; pause = min(2*pause, lastAsk) {
		v := n.current.Load()
		err := fmt.Errorf("this machine has not adopted epoch %d", epoch)
		if v != nil && v.Epoch >= epoch {
			if _, err = n.askAll(wait, v, methodSettled, nil); err == nil {
				return v.Epoch, nil
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-n.Changed():
			timer.Stop()
		case <-wait.Done():
			timer.Stop()
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			return 0, fmt.Errorf("%w: operations of earlier epochs are not known to be settled: %w", node.ErrUnavailable, err)
		case <-n.ctx.Done():
			timer.Stop()
			return 0, node.ErrClosed
		}
	}
}

// Between two tries to ask all members.
const (
	firstAsk = 2 * time.Millisecond
	lastAsk  = 100 * time.Millisecond
)

func (n *Node) handleSettled(_ context.Context, epoch uint64, _ []byte) ([]byte, error) {
	switch v := n.current.Load(); {
	case v == nil || v.Epoch != epoch:
		return nil, refuse(peer.CodeEpoch, epochOf(v), "the epoch is not %d", epoch)
	case !n.writes.Reconciled():
		return nil, refuse(peer.CodeUnavailable, epoch, "operations of earlier epochs are not settled on machine %s", n.self)
	}
	return nil, nil
}

// Handle makes h answer calls of a method from other members. It panics where the
// method has a handler.
func (n *Node) Handle(method string, h peer.Handler) { n.server.Handle(method, n.member(h)) }

// ReadOwn reads what this machine answers for, see [reads.Reads.ReadOwn].
func (n *Node) ReadOwn(ctx context.Context, epoch uint64, ranges []triple.Range, do func(ctx context.Context, sn *node.Snapshot) error) error {
	n.pace.begin()
	defer n.pace.end()
	return n.reads.ReadOwn(ctx, epoch, ranges, do)
}

// ChangeBucket tells where changes of this machine's rows are counted, see
// [node.Store.ChangeBucket].
func (n *Node) ChangeBucket(key []byte) (uint32, bool) { return n.store.ChangeBucket(key) }

// ChangeCount tells changes of this machine's rows, see [node.Store.ChangeCount].
func (n *Node) ChangeCount(bucket uint32) uint64 { return n.store.ChangeCount(bucket) }
