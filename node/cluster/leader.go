// The leader's work: proposing views, arranging voters.

package cluster

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// leaderTick is how often the leader looks at how things are without being woken.
const leaderTick = 100 * time.Millisecond

// lead does what the leader has to, while this node is it.
func (n *Node) lead(ctx context.Context) {
	ticker := time.NewTicker(leaderTick)
	defer ticker.Stop()
	for ready := uint64(0); ; { // the term in which it knows what was agreed on before
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.wakeLead:
		}
		ag := n.agreement()
		silent := n.makeWay(ag)
		if !ag.IsLeader() {
			n.grants.resign()
			n.setWaiting("")
			continue
		}
		n.grants.lead(ag.Term(), n.cfg.Clock.Now())
		if silent {
			n.setWaiting(waitsForDisk)
			continue
		}
		// After a start the view is an old one at first. By that it would take the votes of
		// machines that became members later, who may be needed for a majority.
		if term := ag.Term(); ready != term {
			if n.knowsAll(ctx, ag) != nil {
				continue
			}
			ready = term
		}
		if v := ag.View(); v != nil {
			n.proposeNext(ctx, ag, v)
		}
	}
}

// knowsAll waits until the leader's view is no older than any that was agreed on
// before it led.
func (n *Node) knowsAll(ctx context.Context, ag *agreement.Agreement) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	return ag.Verify(ctx)
}

// proposeNext takes the cluster one step on, where there is one to take.
func (n *Node) proposeNext(ctx context.Context, ag *agreement.Agreement, v *view.View) {
	next, reason, wait := n.plan(v)
	n.setWaiting(wait)
	if slices.Contains([]string{waitsForAnother, waitsToHandOn, waitsToAdopt, waitsForRoom}, wait) {
		timed, cancel := context.WithTimeout(ctx, n.cfg.Lease)
		defer cancel()
		if err := ag.TransferLeadership(timed); err != nil && ctx.Err() == nil {
			n.log.Warn("the leadership was not handed on", "error", err)
		}
		return
	}
	if next == nil {
		n.arrangeVoters(ctx, ag, v)
		return
	}
	n.log.Info("proposing a view", "epoch", next.Epoch, "phase", next.Phase, "members", len(next.Members), "reason", reason)
	timed, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	err := ag.Propose(timed, next)
	if err != nil && !errors.Is(err, agreement.ErrUnknown) {
		n.grants.unbar()
	}
	if err != nil && !errors.Is(err, agreement.ErrConflict) && ctx.Err() == nil {
		n.log.Warn("a view was not agreed on", "epoch", next.Epoch, "error", err)
	}
}

// waitsForAnother is what a leader waits for whose disk is damaged.
const waitsForAnother = "another leader, who excludes this one, whose disk is damaged"

// plan asks for the next view. Whoever it excludes gets no lease from here on:
// the decision and the bar are one step under the lock of the grants.
func (n *Node) plan(v *view.View) (next *view.View, reason, wait string) {
	now := n.cfg.Clock.Now()
	peers := n.gossiped()
	open := n.wishes.open(v, now)
	voters := n.voters()
	g := &n.grants
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 || g.forgotten != "" {
		return nil, "", g.forgotten
	}
	reports := make(map[trie.MachineID]view.Report, len(v.Members))
	for _, m := range v.Members {
		r := view.Report{MayHoldLease: g.mayHold(m.ID, now, v.Lease)}
		h, ok := g.heard[m.ID]
		if h.report.Incarnation > m.Incarnation && h.report.Address == m.Address && bindsOnce(m.Address) {
			r.MayHoldLease = false // the process that had the lease is gone
		}
		if ok {
			r.Incarnation, r.Address, r.Minor = h.report.Incarnation, h.report.Address, h.report.Minor
			r.Self = h.report.Self
			r.Epoch, r.Walked, r.Swept, r.Reconciled = h.report.Epoch, h.report.Walked, h.report.Swept, h.report.Reconciled
			r.Ingested, r.Staging = h.report.Ingested, h.report.Staging
			r.Mark, r.Splits, r.Small, r.Damaged = g.marks[m.ID], h.report.Splits, h.report.Small, h.report.Damaged
			r.Followed = h.report.Followed
			r.Accuses, r.Room, r.Full = h.report.Slow, h.report.Store.Spare, h.report.Store.Room != node.RoomForAll
			// What the disk of one that came back must show is known with its second
			// report, and before it may answer again it is held against what all know,
			// who are left when the dead are excluded.
			back := h.report.Incarnation != m.Incarnation
			r.Unproven = back && !h.dueLive || m.Waits && !h.dueAll || !h.report.Shows && (back || m.Waits)
			r.DiskShows, r.Bytes = !r.Unproven && h.diskShows(&m), h.report.Store.Bytes
		}
		p, known := peers[m.ID]
		silent := now - g.lastSign(m.ID, now)
		dead := known && !p.Alive && p.Incarnation >= r.Incarnation
		r.Suspect = m.ID != n.self && (silent > n.cfg.Patience || dead && silent > n.cfg.Lease/2)
		r.Stuck = ok && r.Incarnation == m.Incarnation && g.stuck(m.ID, r.Epoch, v.Epoch, now, n.cfg.stuckAfter())
		reports[m.ID] = r
	}
	options := view.PlanOptions{Self: n.self, Voters: voters, Tolerant: g.tolerant(now, n.cfg.slowRest())}
	if g.damaged = view.Damaged(v, reports, options); g.damaged == n.self {
		return nil, "", waitsForAnother
	}
	if g.denied = view.Slow(v, reports, options); g.denied == n.self {
		return nil, "", waitsToHandOn
	}
	if g.crowded = view.Crowded(v, reports, options); g.crowded == n.self {
		return nil, "", waitsForRoom
	}
	stuck := view.Stuck(v, reports, options)
	if stuck == n.self {
		return nil, "", waitsToAdopt
	}
	var resting, crowded string
	open.Join, resting = g.rested(open.Join, now, n.cfg.slowRest())
	open.Join, crowded = g.withRoom(v, open.Join, n.wishes.room)
	next, reason, wait = view.Plan(v, reports, open, options)
	differ := ""
	if next == nil && wait == "" && v.Phase == recovery.Idle {
		next, reason, differ = n.planLease(v, now)
	}
	if next != nil {
		g.bar(v, next)
		g.excludedSlow(v, next, stuck, now)
	}
	return next, reason, strings.Join(slices.DeleteFunc([]string{wait, resting, crowded, differ}, func(s string) bool { return s == "" }), "; ")
}

// voters returns the machines that agree on views.
func (n *Node) voters() []trie.MachineID {
	voters, _ := n.agreement().Configuration()
	return slices.Collect(maps.Keys(voters))
}

// bindsOnce reports whether two processes cannot listen at an address at the same time. A
// name may lead to another host by now, where the process that began later runs, while
// the earlier one still answers by its lease.
func bindsOnce(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.IsValid()
}

// maxVoters is how many machines agree on views; the others learn of them. With nine, all
// members of a cluster of ordinary size vote, but for one of an even number: so the side
// of a cut that has most voters has most members, too, or half of them. See failures in
// package view.
const maxVoters = 9

// arrangeVoters makes Raft's members those of the view, so many of them voters.
func (n *Node) arrangeVoters(ctx context.Context, ag *agreement.Agreement, v *view.View) {
	voters, learners := ag.Configuration()
	candidates, known := n.candidates(v, func(id trie.MachineID) bool {
		_, ok := voters[id]
		return ok
	})
	if !known {
		return
	}
	chosen := agreement.ChooseVoters(candidates, slices.Collect(maps.Keys(voters)), n.self, maxVoters)
	wantVoters, wantLearners := map[trie.MachineID]string{}, map[trie.MachineID]string{}
	for _, m := range v.Members {
		if slices.Contains(chosen, m.ID) {
			wantVoters[m.ID] = m.Address
		} else {
			wantLearners[m.ID] = m.Address
		}
	}
	if maps.Equal(voters, wantVoters) && maps.Equal(learners, wantLearners) {
		return
	}
	timed, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	if err := ag.SetMembers(timed, wantVoters, wantLearners); err != nil && ctx.Err() == nil {
		n.log.Debug("the voters are not yet as they should be", "error", err)
	}
}

// candidates says who could vote: who was heard lately and is to stay, and of those
// who do not vote yet, who has the newest view. A voter that has not told yet that
// it has adopted the newest view is well all the same: it must not lose its vote to
// the moment. Of itself the leader knows it without a report. It is not known
// before all others were heard or had the time for it: a new leader would take
// votes from machines that are well, give up its own, and the next one the same.
func (n *Node) candidates(v *view.View, votes func(trie.MachineID) bool) (all []agreement.Candidate, known bool) {
	now := n.cfg.Clock.Now()
	n.grants.mu.Lock()
	defer n.grants.mu.Unlock()
	for _, m := range v.Members {
		h, ok := n.grants.heard[m.ID]
		if !ok && m.ID != n.self && now-n.grants.since < n.cfg.Patience {
			return nil, false
		}
		// If a cut silences a voter and a learner at once, the learner counts as down first.
		// Else it would get a vote, and the voters that are left would be no majority.
		up := m.ID == n.self || ok && (votes(m.ID) && now-h.at < n.cfg.Lease || now-h.at < n.cfg.Lease/2 && h.report.Epoch == v.Epoch)
		all = append(all, agreement.Candidate{ID: m.ID, Up: up && m.State != view.Leaving})
	}
	return all, true
}
