package cluster

import (
	"context"
	"encoding/json"

	"github.com/trefoildb/trefoil/node/loads"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/trie"
)

// clusterOfLoads is the node as package loads needs it.
type clusterOfLoads struct{ *Node }

func (c clusterOfLoads) Self() trie.MachineID { return c.self }
func (c clusterOfLoads) Incarnation() uint64  { return c.incarnation }

// Wish tells the leader what is asked for.
func (c clusterOfLoads) Wish(ctx context.Context, w view.Wishes) error {
	if c.agreement().IsLeader() {
		c.wish(w)
		return nil
	}
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Lease)
	defer cancel()
	_, err = c.callLeader(ctx, methodWish, body)
	return err
}

// Bytes returns about how much all members hold.
func (c clusterOfLoads) Bytes(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Lease)
	defer cancel()
	s, err := c.leadersStatus(ctx)
	return s.Bytes, err
}

// wish notes what loads need of the leader.
func (n *Node) wish(w view.Wishes) {
	n.wishes.wantLoads(w)
	n.wakeLeader()
}

func (n *Node) handleWish(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var w view.Wishes
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if !n.agreement().IsLeader() {
		return nil, refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	n.wish(w)
	return nil, nil
}

// newLoads returns the node's part in bulk loads.
func (n *Node) newLoads() *loads.Loads {
	return loads.New(n.store, clusterOfLoads{n}, loads.Options{
		Dir: n.cfg.LoadDir, MinSegmentBytes: n.cfg.MinSegmentBytes, MaxSegmentBytes: n.cfg.MaxSegmentBytes, Logger: n.log,
	})
}

// Sink returns what bulk loads write to: the lone store, or the cluster.
func (n *Node) Sink() rdfload.Sink {
	if n.parts.Load() == nil {
		return n.store.Sink()
	}
	return n.loads.Sink()
}

// ingested reports whether the load of a view in phase ingest is taken in: a view is
// adopted only after that.
func (n *Node) ingested(v *view.View) bool { return v.Ingesting() != nil }
