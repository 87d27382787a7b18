// Bulk loads: what they request of the leader.

package cluster

import (
	"context"
	"encoding/json"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// loadLeader implements [loads.Leader]: it sends the wishes of a node's loads to the leader.
type loadLeader struct {
	*membership
	peers  *peers
	status *status
}

// Wish implements [loads.Leader].
func (l *loadLeader) Wish(ctx context.Context, w view.Wishes) error {
	if l.agreement().IsLeader() {
		l.leader().Load(w)
		return nil
	}
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Lease)
	defer cancel()
	_, err = l.peers.callLeader(ctx, methodWish, body)
	return err
}

// Bytes implements [loads.Leader].
func (l *loadLeader) Bytes(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Lease)
	defer cancel()
	s, err := l.status.ofLeader(ctx)
	return s.Bytes, err
}

// answer takes the wish of another node as the leader.
func (l *loadLeader) answer(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var w view.Wishes
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if !l.agreement().IsLeader() {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	l.leader().Load(w)
	return nil, nil
}
