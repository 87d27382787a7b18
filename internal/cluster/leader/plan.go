// Planning: the leader's decision on the next view.

package leader

import (
	"net/netip"
	"slices"
	"strings"
	"time"

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
	if g.term == 0 || g.lostView != "" {
		return nil, "", g.lostView
	}
	reports := make(map[trie.MachineID]view.Report, len(v.Members))
	for i := range v.Members {
		m := &v.Members[i]
		r := g.viewReport(v, m, now)
		p, known := peers[m.ID]
		silent := now - g.lastSign(m.ID, now)
		dead := known && !p.Alive && p.Incarnation >= r.Incarnation
		r.Suspect = m.ID != l.options.Self && (silent > l.options.FailureTimeout || dead && silent > l.options.Lease/2)
		_, ok := g.reports[m.ID]
		r.Stuck = ok && r.Incarnation == m.Incarnation && g.stuck(m.ID, r.Epoch, v.Epoch, now, stuckAfter(l.options.Lease))
		reports[m.ID] = r
	}
	// 2. If this node itself must be excluded, another leader has to do it.
	options := view.PlanOptions{Self: l.options.Self, Voters: voters, Tolerant: g.tolerant(now, slowRest(l.options.Lease))}
	if g.damaged = view.Damaged(v, reports, options); g.damaged == l.options.Self {
		return nil, "", waitsForAnother
	}
	if g.slowest = view.Slow(v, reports, options); g.slowest == l.options.Self {
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
	open.Join, resting = g.afterRest(open.Join, now, slowRest(l.options.Lease))
	open.Join, crowded = g.withRoom(v, open.Join, l.wishes.room)
	next, reason, wait = view.Plan(v, reports, open, options)
	differ := ""
	if next == nil && wait == "" && v.Phase == recovery.Idle {
		next, reason, differ = l.planLease(v, now)
	}
	if next != nil {
		g.bar(v, next)
		g.recordSlow(v, next, stuck, now)
	}
	return next, reason, strings.Join(slices.DeleteFunc([]string{wait, resting, crowded, differ}, func(s string) bool { return s == "" }), "; ")
}

// viewReport returns a member's last report as package view needs it. The lock must be held.
func (g *grants) viewReport(v *view.View, m *view.Member, now time.Duration) view.Report {
	r := view.Report{MayHoldLease: g.mayHold(m.ID, now, v.Lease)}
	last, ok := g.reports[m.ID]
	from := &last.report
	if from.Incarnation > m.Incarnation && from.Address == m.Address && bindsOnce(m.Address) {
		r.MayHoldLease = false // the process that had the lease is gone
	}
	if !ok {
		return r
	}
	r.Incarnation, r.Address, r.Minor, r.Self = from.Incarnation, from.Address, from.Minor, from.Self
	r.Epoch, r.Walked, r.Swept, r.Reconciled = from.Epoch, from.Walked, from.Swept, from.Reconciled
	r.Ingested, r.Staging, r.Followed = from.Ingested, from.Staging, from.Followed
	r.Mark, r.Splits, r.Small, r.Damaged = g.marks[m.ID], from.Splits, from.Small, from.Damaged
	r.Accuses, r.Room, r.Full = from.Slow, from.Store.Spare, from.Store.Room != store.RoomForAll
	// If a machine came back, the proof its disk owes is known with its second report. Before it may
	// answer again, the disk must be compared with the records of all members which remain when the
	// dead are excluded. For its place, the live ones are enough, also if it waited before: if all
	// lost power while they waited, none is in the newest view, and each would wait for the others.
	back := from.Incarnation != m.Incarnation
	r.Unproven = back && !last.dueLive || !back && m.Waits && !last.dueAll || !from.Shows && (back || m.Waits)
	r.DiskShows, r.Bytes = !r.Unproven && last.diskShows(m), from.Store.Bytes
	return r
}

// bindsOnce reports whether only one process at a time can listen at an address. A name may not,
// because it may lead to another host by now. The later process runs there while the earlier one
// still answers by its lease.
func bindsOnce(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && at.IsValid()
}
