// The node as the member that writes, loads and reads run on.

package cluster

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// localMember is this node as the member of writes and loads. It implements
// [member.Member].
type localMember struct {
	*membership
	*isolation
	*peers
}

// readMember is this node as the member of package reads. It has the view, gate and lease of the
// node, or those of [noMajority] while it is set.
type readMember struct {
	localMember
	writes *writes.Writes
}

var (
	_ member.Member = localMember{}
	_ member.Member = readMember{}
	_ reads.Peers   = readMember{}
)

// View implements [member.Member].
func (m readMember) View() *view.View { return m.ReadView() }

// Enter implements [member.Member]. A member without a lease must not answer while its own store
// lacks an operation it has stamped, because the other member may show it already.
func (m readMember) Enter(epoch uint64) (leave func(), err error) {
	leave, err = m.localMember.Enter(epoch)
	if err == nil && m.localMember.Lease() != nil && !m.writes.Stored() {
		leave()
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "machine %s has not written all of its operations to its disk yet", m.self)
	}
	return leave, err
}

// Lease implements [member.Member]. It returns nil also while reads need no lease.
func (m readMember) Lease() error {
	err := m.localMember.Lease()
	if err == nil || !m.NoMajority() {
		return err
	}
	if v := m.View(); v != nil {
		_, _, err = m.answersAlone(v)
	}
	return err
}

// Newer implements [member.Member].
func (m readMember) Newer(ctx context.Context, than *view.View) error {
	return m.awaitView(ctx, than, m.ReadView, func() chan struct{} {
		if m.NoMajority() {
			return nil // it stays isolated: only a change of the view ends the wait
		}
		return m.isolation.begun()
	})
}

// Uncommitted implements [reads.Peers]. Of two members, one that has read alone may have returned rows of the
// other one's operations that are not committed. So readers wait while there are two, and after that for what was
// sent before (see [replica.Store.Undoable]).
func (m readMember) Uncommitted(ctx context.Context, origins []replica.Origin, ticks bool) ([]replica.Origin, error) {
	if v := m.View(); v == nil || len(v.Members) <= 2 {
		return nil, m.WaitCommitted(ctx, origins)
	}
	return m.writes.Uncommitted(ctx, origins, ticks)
}

// Now implements [reads.Peers].
func (m readMember) Now(ctx context.Context) (triple.Stamp, error) { return m.writes.Now(ctx) }

// WaitCommitted implements [reads.Peers]. Without a majority no operation becomes committed:
//
//   - If the other member has stamped an operation, it may be shown once it is durable here.
//     The other one does not show the state before it, because it has its own operations.
//   - If this one has stamped an operation, the other one may lack it. A read fails if it
//     meets it.
func (m readMember) WaitCommitted(ctx context.Context, origins []replica.Origin) error {
	now := m.readsAlone()
	if now == nil {
		return m.writes.WaitCommitted(ctx, origins)
	}
	_, other, _ := now.of.SoleView(m.self, m.incarnation)
	_, lease, err := m.answersAlone(now.of)
	if err != nil {
		return peer.Refuse(peer.CodeUnavailable, now.of.Epoch, "%s", err)
	}
	// 1. Find the batches this process can wait for: its own, and those of machines which have
	// left the cluster.
	var own []replica.Origin
	for _, o := range origins {
		if !now.of.Has(o.Sequencer, o.Incarnation) || o.Sequencer == m.self {
			own = append(own, o)
		}
	}
	if len(own) < len(origins) {
		// 2. The other member's batches must be durable here, and its last lease must be over.
		// Until then it may answer without regard to operations its disk lacks. It got the lease
		// while this member had a leader, because a leader needs the vote of this one. The time
		// must be compared here, because there may have been a leader since reads without a
		// majority began.
		switch led, until := m.agreement().Led(); {
		case led:
			return m.writes.WaitCommitted(ctx, origins)
		case until+lease+leader.Drift(lease) > m.leaseTime():
			return peer.Refuse(peer.CodeUnavailable, now.of.Epoch, "the lease of machine %s may not be over", other)
		}
		if err := m.store.Beats().Beat(ctx); err != nil {
			return err
		}
	}
	if len(own) == 0 {
		return nil
	}
	// 3. Those of this member may be committed already; if not, they stay undecided.
	wait, cancel := context.WithTimeout(ctx, isolationTick)
	defer cancel()
	if err := m.writes.WaitCommitted(wait, own); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %d batches of writes to the requested ranges were under way when machine %s was lost, and are undecided until it is back",
			store.ErrUnavailable, len(own), other)
	}
	return ctx.Err()
}
