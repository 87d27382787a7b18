// Planning: the leader's decision on the next view.

package leader

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// waitsForAnother is why a leader waits if its disk is damaged.
const waitsForAnother = "another leader, who excludes this one, whose disk is damaged"

// plan decides on the next view. An excluded member gets no lease from here on, because the
// decision and the bar are one step under the lock of the grants.
func (l *Leader) plan(v *view.View) (next *view.View, reason, wait string) {
	// 1. Collect the wishes, the members' reports and the state of gossip.
	now := l.options.Now()
	peers := l.options.Gossip()
	open := l.wishes.open(v, now)
	voters := l.voters()
	g := &l.grants
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
		r.Suspect = m.ID != l.options.Self && (silent > l.options.FailureTimeout || dead && silent > l.options.Lease/2)
		r.Stuck = ok && r.Incarnation == m.Incarnation && g.stuck(m.ID, r.Epoch, v.Epoch, now, stuckAfter(l.options.Lease))
		reports[m.ID] = r
	}
	// 2. If this node itself must be excluded, another leader has to do it.
	options := view.PlanOptions{Self: l.options.Self, Voters: voters, Tolerant: g.tolerant(now, slowRest(l.options.Lease))}
	if g.damaged = view.Damaged(v, reports, options); g.damaged == l.options.Self {
		return nil, "", waitsForAnother
	}
	if g.denied = view.Slow(v, reports, options); g.denied == l.options.Self {
		return nil, "", waitsToHandOn
	}
	if g.crowded = view.Crowded(v, reports, options); g.crowded == l.options.Self {
		return nil, "", waitsForRoom
	}
	stuck := view.Stuck(v, reports, options)
	if stuck == l.options.Self {
		return nil, "", waitsToAdopt
	}
	// 3. Decide, and bar the members missing in the next view.
	var resting, crowded string
	open.Join, resting = g.rested(open.Join, now, slowRest(l.options.Lease))
	open.Join, crowded = g.withRoom(v, open.Join, l.wishes.room)
	next, reason, wait = view.Plan(v, reports, open, options)
	differ := ""
	if next == nil && wait == "" && v.Phase == recovery.Idle {
		next, reason, differ = l.planLease(v, now)
	}
	if next != nil {
		g.bar(v, next)
		g.excludedSlow(v, next, stuck, now)
	}
	return next, reason, strings.Join(slices.DeleteFunc([]string{wait, resting, crowded, differ}, func(s string) bool { return s == "" }), "; ")
}

// bindsOnce reports whether only one process at a time can listen at an address. A name may not,
// because it may lead to another host by now. The later process runs there while the earlier one
// still answers by its lease.
func bindsOnce(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.IsValid()
}
