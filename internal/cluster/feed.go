// The change feed of a node: its lone store's, then the cluster's.

package cluster

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/store"
)

// Feed returns the change feed of the lone store or, in a cluster, that of all its machines.
// Positions in the first stay valid in the second.
func (t *triples) Feed() feed.Source { return nodeFeed{t} }

// ReadPosition returns a position that covers every change that was acknowledged before the call;
// see [changes.Feed.ReadPosition]. A member that answers without a majority has all operations that
// can be committed. If the machines do not answer for [readtimeout.Idle], it returns [store.ErrUnavailable].
func (n *Node) ReadPosition(ctx context.Context) (p feed.Position, err error) {
	ctx, cancel := readtimeout.Bound(ctx)
	defer cancel()
	lone, err := n.onLone(func() (err error) {
		p, err = n.triples.store.Feed().Position(ctx)
		return err
	})
	switch {
	case lone:
	case n.NoMajority():
		p, err = n.triples.changes.DurablePosition()
	default:
		// A member that has started again has no view at first. If it cannot get one, the error says why.
		if n.View() == nil {
			if err := n.triples.changes.Await(ctx); err != nil {
				return p, err
			}
		}
		p, err = n.triples.changes.ReadPosition(ctx)
	}
	return p, err
}

// nodeFeed is the feed of a node.
type nodeFeed struct{ *triples }

// Position implements [feed.Source].
func (n nodeFeed) Position(ctx context.Context) (p feed.Position, err error) {
	lone, err := n.onLone(func() (err error) {
		p, err = n.store.Feed().Position(ctx)
		return err
	})
	if !lone {
		p, err = n.changes.Position(ctx)
	}
	return p, err
}

// Changes implements [feed.Source].
func (n nodeFeed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		// 1. The lone store's feed ends with ErrMember if the node becomes a part of a cluster.
		if n.isAlone() {
			for b, err := range n.store.Feed().Changes(ctx, r) {
				if errors.Is(err, store.ErrMember) {
					break
				}
				if !yield(b, err) || err != nil {
					return
				}
				r.Since = b.Position
			}
			if !r.Follow || ctx.Err() != nil {
				return
			}
			// It has begun to form the cluster, and the first view comes soon.
			if err := n.changes.Await(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
		// 2. The cluster's feed continues at the same position.
		for b, err := range n.changes.Changes(ctx, r) {
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
