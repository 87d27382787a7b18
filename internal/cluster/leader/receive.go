// Receiving a report: the leader verifies itself, records the report and grants a lease.

package leader

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// Receive takes a member's report and answers it. The leadership must be verified after the
// report has arrived. The lease runs from before it, so it ends before a later leader may exclude
// its holder.
func (l *Leader) Receive(ctx context.Context, r Report) (a Answer, err error) {
	// 1. Verify the leadership.
	ag := l.agreement
	term := ag.Term()
	if err := ag.Verify(ctx); err != nil {
		return a, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead: %s", err)
	}
	if ag.Term() != term {
		return a, peer.Refuse(peer.CodeUnavailable, 0, "the leadership has changed")
	}
	v := ag.View()
	if v == nil {
		return a, peer.Refuse(peer.CodeUnavailable, 0, "no view yet")
	}
	// 2. Reject a machine if it is no member, or must not be served.
	if err := l.remembers(ctx, &r); err != nil {
		return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "%s", err)
	}
	if v.Find(r.ID) == nil && !l.wishes.joining(r.ID) {
		if !v.Descends(r.Generation, r.Seen, r.Digest) {
			return a, peer.Refuse(peer.CodeStranger, 0, "machine %s is not a member, and the view that it has adopted (generation %d, epoch %d) "+
				"is not in the history of this cluster (generation %d, epoch %d), or too old: its data is kept; see \"A machine is not taken back\" in docs/operations/cluster.md",
				r.ID, r.Generation, r.Seen, v.Generation, v.Epoch)
		}
		return a, peer.Refuse(peer.CodeStranger, v.Epoch, "machine %s is not a member", r.ID)
	}
	if r.Minor < v.Minor {
		return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "machine %s: %s", r.ID, Outdated(r.Minor, v.Minor))
	}
	if r.Self != nil {
		if err := r.Self.CheckUnknown(); err != nil {
			return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "%s", err)
		}
	}
	if by, ok := l.grants.superseded(&r, l.options.Now()); ok {
		return a, peer.Refuse(peer.CodeSuperseded, v.Epoch, "machine %s started later at %s", r.ID, by)
	}
	// 3. Record the report and grant a lease.
	ok, news := l.grants.report(v, r, l.options.Now(), l.options.FailureTimeout/2, l.options.Lease)
	if !ok {
		return a, peer.Refuse(peer.CodeUnavailable, v.Epoch, "this node does not lead yet")
	}
	a = Answer{Epoch: v.Epoch, Lease: l.leaseIn(v), Rooms: l.grants.fullDisks(v)}
	a.Granted = l.grants.grant(v, &r, term, a.Lease, l.options.Now())
	a.About, a.Marked = l.grants.wanted(v, r.ID)
	if news {
		l.Wake()
	}
	return a, nil
}

// This file is about voters with disks restored from an older copy. Raft relies on every voter to
// keep its log, and cannot find out if one lost entries. If the leader is down, such a voter and
// one with a shorter log can elect another leader, and an agreed view is lost. But every machine
// that has adopted it still has it.

// remembers returns [ErrForgotten] if a member has adopted a view and this leader lacks it. From
// then on no member gets a lease, and the view must not change.
func (l *Leader) remembers(ctx context.Context, r *Report) error {
	ag := l.agreement
	missing := func() bool {
		v := ag.View()
		return v.Generation == r.Generation && v.Epoch < r.Seen
	}
	if !missing() {
		return nil
	}
	// Other members may know of an agreed view before this node does.
	if err := ag.Barrier(ctx); err != nil || !missing() {
		return err
	}
	err := fmt.Errorf("%w: machine %s has adopted epoch %d, and the newest one here is %d; nothing is answered: see \"A disk is restored\" in docs/operations/cluster.md",
		ErrForgotten, r.ID, r.Seen, ag.View().Epoch)
	l.grants.mu.Lock()
	defer l.grants.mu.Unlock()
	if l.grants.lostView == "" {
		l.options.Logger.Error("nothing is done any more", "error", err)
	}
	l.grants.lostView = err.Error()
	return err
}
