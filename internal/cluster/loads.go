// The member's part in bulk loads.

package cluster

import (
	"context"
	"encoding/json"

	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/rdfload"
)

// loadLeader implements [loads.Leader]: it sends the wishes of a node's loads to the leader.
type loadLeader struct{ node *Node }

// Wish implements [loads.Leader].
func (l loadLeader) Wish(ctx context.Context, w view.Wishes) error {
	if l.node.agreement().IsLeader() {
		l.node.leader().Load(w)
		return nil
	}
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.node.cfg.Lease)
	defer cancel()
	_, err = l.node.callLeader(ctx, methodWish, body)
	return err
}

// Bytes implements [loads.Leader].
func (l loadLeader) Bytes(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.node.cfg.Lease)
	defer cancel()
	s, err := l.node.leadersStatus(ctx)
	return s.Bytes, err
}

func (n *Node) handleWish(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var w view.Wishes
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if !n.agreement().IsLeader() {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	n.leader().Load(w)
	return nil, nil
}

// newLoads returns the node's part in bulk loads.
func (n *Node) newLoads() *loads.Loads {
	return loads.New(n.store, n, loadLeader{n}, n.process(), loads.Options{
		Dir: n.cfg.LoadDir, MinSegmentBytes: n.cfg.MinSegmentBytes, MaxSegmentBytes: n.cfg.MaxSegmentBytes, Logger: n.log,
	})
}

// Sink returns the target of bulk loads: the lone store, or the cluster.
func (n *Node) Sink() rdfload.Sink {
	if n.parts.Load() == nil {
		return n.store.Sink()
	}
	return n.loads.Sink()
}

// ingested reports whether the tables of v's load are ingested. The view suffices, because a
// view in phase ingest is adopted only after its tables are ingested.
func (n *Node) ingested(v *view.View) bool { return v.Ingesting() != nil }
