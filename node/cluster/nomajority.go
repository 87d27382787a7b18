// Reads of one of two members while it does not reach the other one.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
)

// noMajority is set while this member, one of two, has no leader and answers reads by
// itself. No lease is needed for that:
//
//   - Two members both vote. So nothing is agreed on without the vote of this one, and what
//     may be agreed on is in its log.
//   - While every view there needs its answer to each write, the other one has acknowledged
//     nothing that this one lacks.
//   - A leader gives votes only to members of the newest view that is agreed on, and takes
//     none from such a member while there are two. Without that the leader could go on alone.
//
// The last holds by [agreement.ChooseVoters], and what is in the log is looked up after each
// snapshot of the store (see reads). So answers are linearizable also if both run and a
// cut is between them. Clocks matter only as they do for leases, and only to what the
// other one had stamped and not settled (see WaitSettled).
type noMajority struct {
	mu  sync.Mutex // held while now is changed
	now atomic.Pointer[readsAlone]
}

// readsAlone is how reads are answered without a majority.
type readsAlone struct {
	of, view *view.View // the adopted view, and what is left of it
}

// answersAlone returns the view under which this member may answer reads without a lease,
// and for how long a lease of the other member lasts at most, or an error that says why it
// may not.
func (n *Node) answersAlone(v *view.View) (*view.View, time.Duration, error) {
	alone, other, ok := v.Alone(n.self, n.incarnation)
	switch {
	case !v.Has(n.self, n.incarnation):
		return nil, 0, n.startedAgain()
	case !ok:
		return nil, 0, errors.New("the cluster is not one of two members that both have all triples, with no change under way")
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

// setNoMajority begins to answer without a majority if that is possible and this member is
// cut off, and ends it otherwise.
func (n *Node) setNoMajority(off bool) {
	n.noMajority.mu.Lock()
	defer n.noMajority.mu.Unlock()
	was, v := n.noMajority.now.Load(), n.current.Load()
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
	n.mu.Lock()
	close(n.changed)
	n.changed = make(chan struct{})
	n.mu.Unlock()
}

// readsAlone returns how this member, one of two, answers reads though it does not reach the
// other one; nil if it does not.
func (n *Node) readsAlone() *readsAlone {
	if now := n.noMajority.now.Load(); now != nil && now.of == n.current.Load() {
		return now
	}
	return nil
}

// NoMajority reports whether this member, one of two, answers reads though it does not
// reach the other one.
func (n *Node) NoMajority() bool { return n.readsAlone() != nil }

// View implements reads.Cluster.
func (c clusterOfReads) View() *view.View { return c.ReadView() }

// ReadView returns the view that reads go by: the adopted one, or if the other one of two
// members is not reached, what is left of it.
func (n *Node) ReadView() *view.View {
	if now := n.readsAlone(); now != nil {
		return now.view
	}
	return n.current.Load()
}

// Enter implements reads.Cluster. A member without a lease answers nothing while an operation
// that it has stamped is not in its own store: the other member may show it already.
func (c clusterOfReads) Enter(epoch uint64) (leave func(), err error) {
	leave, err = c.Node.Enter(epoch)
	if err == nil && c.Node.Lease() != nil && !c.writes.Stored() {
		leave()
		return nil, refuse(peer.CodeUnavailable, epoch, "machine %s waits for its disk", c.self)
	}
	return leave, err
}

// Lease implements reads.Cluster: it returns nil also while reads need none.
func (c clusterOfReads) Lease() error {
	err := c.Node.Lease()
	if err == nil || !c.NoMajority() {
		return err
	}
	if v := c.current.Load(); v != nil {
		_, _, err = c.answersAlone(v)
	}
	return err
}

// Newer implements reads.Cluster.
func (c clusterOfReads) Newer(ctx context.Context, than *view.View) error {
	for {
		changed, cut := c.Changed(), c.cut.done()
		if c.ReadView() != than {
			return nil
		}
		if c.NoMajority() {
			cut = nil // the only view that there is for now
		}
		select {
		case <-changed:
		case <-cut:
			switch off := c.lookForLeader(); {
			case c.ReadView() != than:
				return nil
			case off:
				return c.unreached()
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.ctx.Done():
			return node.ErrClosed
		}
	}
}

// unreached says why this member, which is cut off, answers nothing.
func (n *Node) unreached() error {
	err := fmt.Errorf("%w: machine %s hears of no leader of the cluster: it is cut off, or most of the machines that vote are down", node.ErrUnavailable, n.self)
	why := error(nil)
	if v := n.current.Load(); v == nil {
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

// startedAgain is why a member without a lease since its start answers nothing: it cannot
// know what an operator has had the other one do meanwhile.
func (n *Node) startedAgain() error {
	return fmt.Errorf("machine %s was started again and has heard of no leader since: the other one may have gone on without it", n.self)
}

// WaitSettled implements reads.Cluster. Without a majority nothing is settled any more:
//
//   - What the other member has stamped is shown if it is durable here. The other one does
//     not show what was there before, because it knows of its own operations.
//   - What this one has stamped may not have reached the other one. It is not answered.
func (c clusterOfReads) WaitSettled(ctx context.Context, origins []node.Origin) error {
	now := c.readsAlone()
	if now == nil {
		return c.writes.WaitSettled(ctx, origins)
	}
	_, other, _ := now.of.Alone(c.self, c.incarnation)
	_, lease, err := c.answersAlone(now.of)
	if err != nil {
		return refuse(peer.CodeUnavailable, now.of.Epoch, "%s", err)
	}
	var own []node.Origin
	for _, o := range origins {
		if !now.of.Has(o.Sequencer, o.Incarnation) || o.Sequencer == c.self {
			own = append(own, o)
		}
	}
	if len(own) < len(origins) {
		// Until its last lease is over the other one may answer without looking for what
		// its disk has not written. It got that lease while this one knew a leader, because
		// a leader needs the vote of this one. The two are compared now, not when reads
		// without a majority began: there may have been a leader since.
		switch led, until := c.agreement().Led(); {
		case led:
			return c.writes.WaitSettled(ctx, origins)
		case until+lease+drift(lease) > c.cfg.Clock.Now():
			return refuse(peer.CodeUnavailable, now.of.Epoch, "the lease of machine %s may not be over", other)
		}
		if err := c.store.Beat(ctx); err != nil {
			return err
		}
	}
	if len(own) == 0 {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, leaderTick)
	defer cancel()
	if err := c.writes.WaitSettled(wait, own); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %d batches of writes to what is asked for were under way when machine %s was lost, and are undecided until it is back",
			node.ErrUnavailable, len(own), other)
	}
	return ctx.Err()
}
