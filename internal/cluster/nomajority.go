// Reads of one of two members while it does not reach the other one.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
)

// noMajority is set while this member, one of two, has no leader and answers reads by itself. It
// needs no lease because of three facts:
//
//   - Both members vote. So each view needs the vote of this one, and every agreed view is in
//     its log.
//   - Every write under these views needs the answer of this one. So it has all writes the
//     other one has acknowledged.
//   - A leader gives votes only to members of the newest agreed view. While there are two of
//     them both keep their votes, because otherwise the leader could go on alone.
//
// The last holds by [agreement.ChooseVoters]. The log must be read after each snapshot of the
// store (see reads). So answers are linearizable even if both members run and the network between
// them fails. Clocks matter as they do for leases, and only for operations in flight which the
// other member has stamped (see WaitSettled).
type noMajority struct {
	mu  sync.Mutex // held while now is changed
	now atomic.Pointer[readsAlone]
}

// readsAlone is how reads are answered without a majority.
type readsAlone struct {
	of   *view.View // the adopted view
	view *view.View // of, without the other member: see [view.View.Alone]
}

// answersAlone returns the view for reads without a lease, and the greatest length of a lease of
// the other member. If this member must not answer, the error is the reason.
func (n *Node) answersAlone(v *view.View) (*view.View, time.Duration, error) {
	alone, other, ok := v.Alone(n.self, n.incarnation)
	switch {
	case !v.Has(n.self, n.incarnation):
		return nil, 0, n.startedAgain()
	case !ok:
		return nil, 0, errors.New("that needs a cluster of two members that both have all triples, with no change under way")
	case n.apart.since(n.lease.end() - n.cfg.Lease):
		return nil, 0, errors.New("a later generation of the cluster runs: see \"Two generations\" in OPERATIONS.md")
	}
	views, err := n.agreement().WithoutMajority(other)
	if err != nil {
		return nil, 0, err
	}
	lease := v.Lease
	for _, next := range views {
		if !next.NeedsAnswer(n.self, n.incarnation) {
			return nil, 0, fmt.Errorf("the other machine may go on without this one from epoch %d", next.Epoch)
		}
		lease = max(lease, next.Lease)
	}
	return alone, lease, nil
}

// setNoMajority lets this member answer reads without a majority if it is isolated and
// answersAlone allows it. Otherwise it ends them.
func (n *Node) setNoMajority(off bool) {
	n.noMajority.mu.Lock()
	defer n.noMajority.mu.Unlock()
	was, v := n.noMajority.now.Load(), n.View()
	var now *readsAlone
	if off && v != nil {
		alone, _, err := n.answersAlone(v)
		switch {
		case err != nil:
		case was != nil && was.of == v:
			now = was
		default:
			now = &readsAlone{of: v, view: alone}
		}
	}
	if now == was {
		return
	}
	n.noMajority.now.Store(now)
	n.log.Warn("reads without a majority of the members have begun or ended", "answered", now != nil)
	n.gate.Announce()
}

// readsAlone returns how this member answers reads without a majority; nil if it does not.
func (n *Node) readsAlone() *readsAlone {
	if now := n.noMajority.now.Load(); now != nil && now.of == n.View() {
		return now
	}
	return nil
}

// NoMajority reports whether this member is one of two, does not reach the other one and
// answers reads all the same.
func (n *Node) NoMajority() bool { return n.readsAlone() != nil }

// readMember is the node as the member of package reads. It has the view, gate and lease of the
// node, or those of [noMajority] while it is set.
type readMember struct{ *Node }

var (
	_ member.Member = readMember{}
	_ reads.Peers   = readMember{}
)

// View implements [member.Member].
func (m readMember) View() *view.View { return m.ReadView() }

// ReadView returns the view for reads: the adopted one or, without a majority, the adopted one
// without the other member.
func (n *Node) ReadView() *view.View {
	if now := n.readsAlone(); now != nil {
		return now.view
	}
	return n.View()
}

// Enter implements [member.Member]. A member without a lease must not answer while its own store
// lacks an operation it has stamped, because the other member may show it already.
func (m readMember) Enter(epoch uint64) (leave func(), err error) {
	leave, err = m.Node.Enter(epoch)
	if err == nil && m.Node.Lease() != nil && !m.writes.Stored() {
		leave()
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "machine %s has not written all of its operations to its disk yet", m.self)
	}
	return leave, err
}

// Lease implements [member.Member]. It returns nil also while reads need no lease.
func (m readMember) Lease() error {
	err := m.Node.Lease()
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
		return m.cut.done()
	})
}

// unreached returns the error of requests to this member while it is cut off.
func (n *Node) unreached() error {
	err := fmt.Errorf("%w: machine %s reaches no leader of the cluster: it is cut off, or most of the machines that vote are down", store.ErrUnavailable, n.self)
	why := error(nil)
	if v := n.View(); v == nil {
		if voters, _ := n.agreement().Configuration(); len(voters) == 2 {
			why = n.startedAgain()
		}
	} else if len(v.Members) == 2 {
		_, _, why = n.answersAlone(v)
	}
	if why != nil {
		err = fmt.Errorf("%w; it does not answer reads by itself: %w", err, why)
	}
	return err
}

// startedAgain returns why a member must not answer if it has had no lease since its start: an
// operator may have made the other one go on alone meanwhile.
func (n *Node) startedAgain() error {
	return fmt.Errorf("machine %s was started again and has reached no leader since: the other one may have gone on without it; "+
		"start that one, or if it is gone for good see \"Most voters are gone for good\" in OPERATIONS.md", n.self)
}

// WaitSettled implements [reads.Peers]. Without a majority no operation becomes committed:
//
//   - If the other member has stamped an operation, it may be shown once it is durable here.
//     The other one does not show the state before it, because it has its own operations.
//   - If this one has stamped an operation, the other one may lack it. A read fails if it
//     meets it.
func (m readMember) WaitSettled(ctx context.Context, origins []replica.Origin) error {
	now := m.readsAlone()
	if now == nil {
		return m.writes.WaitSettled(ctx, origins)
	}
	_, other, _ := now.of.Alone(m.self, m.incarnation)
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
			return m.writes.WaitSettled(ctx, origins)
		case until+lease+leader.Drift(lease) > m.cfg.Clock.Now():
			return peer.Refuse(peer.CodeUnavailable, now.of.Epoch, "the lease of machine %s may not be over", other)
		}
		if err := m.store.Beat(ctx); err != nil {
			return err
		}
	}
	if len(own) == 0 {
		return nil
	}
	// 3. Those of this member may be committed already; if not, they stay undecided.
	wait, cancel := context.WithTimeout(ctx, isolationTick)
	defer cancel()
	if err := m.writes.WaitSettled(wait, own); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %d batches of writes to the requested ranges were under way when machine %s was lost, and are undecided until it is back",
			store.ErrUnavailable, len(own), other)
	}
	return ctx.Err()
}
