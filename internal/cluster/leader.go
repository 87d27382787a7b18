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

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// leaderTick is the interval at which the leader checks the members if nothing wakes it.
const leaderTick = 100 * time.Millisecond

// lead does the leader's work while this node leads.
func (n *Node) lead(ctx context.Context) {
	ticker := time.NewTicker(leaderTick)
	defer ticker.Stop()
	for ready := uint64(0); ; { // the term in which it has all agreed views
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
		// After a start the view is an old one at first. By it the leader would take votes from
		// later members, although a majority may need them.
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

// knowsAll waits until the leader has every view agreed on before it led.
func (n *Node) knowsAll(ctx context.Context, ag *agreement.Agreement) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	return ag.Verify(ctx)
}

// proposeNext proposes the next view if there is one, and arranges the voters otherwise.
func (n *Node) proposeNext(ctx context.Context, ag *agreement.Agreement, v *view.View) {
	// 1. Plan. If this leader itself is the obstacle, hand the leadership on.
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
	// 2. If no view is due, check the voters.
	if next == nil {
		n.arrangeVoters(ctx, ag, v)
		return
	}
	// 3. Propose. The bars must stay if the result is unknown, because the view may still come.
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

// waitsForAnother is why a leader waits if its disk is damaged.
const waitsForAnother = "another leader, who excludes this one, whose disk is damaged"

// plan decides on the next view. An excluded member gets no lease from here on, because the
// decision and the bar are one step under the lock of the grants.
func (n *Node) plan(v *view.View) (next *view.View, reason, wait string) {
	// 1. Collect the wishes, the members' reports and the state of gossip.
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
			r.Accuses, r.Room, r.Full = h.report.Slow, h.report.Store.Spare, h.report.Store.Room != store.RoomForAll
			// If a machine came back, the proof its disk owes is known with its second report.
			// Before it may answer again, the disk must be compared with the records of all
			// members which remain when the dead are excluded.
			back := h.report.Incarnation != m.Incarnation
			r.Unproven = back && !h.dueLive || m.Waits && !h.dueAll || !h.report.Shows && (back || m.Waits)
			r.DiskShows, r.Bytes = !r.Unproven && h.diskShows(&m), h.report.Store.Bytes
		}
		p, known := peers[m.ID]
		silent := now - g.lastSign(m.ID, now)
		dead := known && !p.Alive && p.Incarnation >= r.Incarnation
		r.Suspect = m.ID != n.self && (silent > n.cfg.FailureTimeout || dead && silent > n.cfg.Lease/2)
		r.Stuck = ok && r.Incarnation == m.Incarnation && g.stuck(m.ID, r.Epoch, v.Epoch, now, n.cfg.stuckAfter())
		reports[m.ID] = r
	}
	// 2. If this node itself must be excluded, another leader has to do it.
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
	// 3. Decide, and bar the members missing in the next view.
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

// voters returns the voters of Raft.
func (n *Node) voters() []trie.MachineID {
	voters, _ := n.agreement().Configuration()
	return slices.Collect(maps.Keys(voters))
}

// bindsOnce reports whether only one process at a time can listen at an address. A name may not,
// because it may lead to another host by now. The later process runs there while the earlier one
// still answers by its lease.
func bindsOnce(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.IsValid()
}

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
	// 1. Choose the voters; all other members become learners.
	chosen := agreement.ChooseVoters(candidates, slices.Collect(maps.Keys(voters)), n.self, agreement.MaxVoters)
	wantVoters, wantLearners := map[trie.MachineID]string{}, map[trie.MachineID]string{}
	for _, m := range v.Members {
		if slices.Contains(chosen, m.ID) {
			wantVoters[m.ID] = m.Address
		} else {
			wantLearners[m.ID] = m.Address
		}
	}
	// 2. Change Raft's members only if they differ, because every change is an entry of the log.
	if maps.Equal(voters, wantVoters) && maps.Equal(learners, wantLearners) {
		return
	}
	timed, cancel := context.WithTimeout(ctx, n.cfg.Lease)
	defer cancel()
	if err := ag.SetMembers(timed, wantVoters, wantLearners); err != nil && ctx.Err() == nil {
		n.log.Debug("the voters are not yet as they should be", "error", err)
	}
}

// candidates returns the members and whether each could vote: it must have reported lately and
// must not be leaving. If a member has no vote, it must also have adopted the newest view. A
// voter need not, because it must not lose its vote just while a view is adopted. The leader
// needs no report of itself.
//
// known is false until all others have reported or had the time for it. Otherwise a new leader
// would take votes from healthy machines and resign, and so would the next one.
func (n *Node) candidates(v *view.View, votes func(trie.MachineID) bool) (all []agreement.Candidate, known bool) {
	now := n.cfg.Clock.Now()
	n.grants.mu.Lock()
	defer n.grants.mu.Unlock()
	for _, m := range v.Members {
		h, ok := n.grants.heard[m.ID]
		if !ok && m.ID != n.self && now-n.grants.since < n.cfg.FailureTimeout {
			return nil, false
		}
		// If a failure silences a voter and a learner at once, the learner must count as down
		// first. Otherwise it would get a vote, and the remaining voters would be no majority.
		up := m.ID == n.self || ok && (votes(m.ID) && now-h.at < n.cfg.Lease || now-h.at < n.cfg.Lease/2 && h.report.Epoch == v.Epoch)
		all = append(all, agreement.Candidate{ID: m.ID, Up: up && m.State != view.Leaving})
	}
	return all, true
}

// leadership is the leader as package upkeep needs it.
type leadership struct {
	node *Node
	*agreement.Agreement
}

// PurgeFacts implements upkeep.Leader.
func (l leadership) PurgeFacts(v *view.View) upkeep.PurgeFacts { return l.node.grants.purgeFacts(v) }

// purgeFacts returns the part of the members' reports a purge depends on.
func (g *grants) purgeFacts(v *view.View) upkeep.PurgeFacts {
	f := upkeep.PurgeFacts{Idle: v.Phase == recovery.Idle && len(v.Lost) == 0, Quiet: true}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range v.Members {
		m := &v.Members[i]
		h, ok := g.heard[m.ID]
		r := &h.report
		f.Quiet = f.Quiet && ok && !m.Waits && r.Incarnation == m.Incarnation && r.Epoch == v.Epoch && r.Swept && r.Reconciled
		f.Tombstones += r.Store.Tombstones
		f.Rows += 3 * r.Store.Triples
	}
	return f
}
