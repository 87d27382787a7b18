// The leader's record of members: their reports, leases and exclusions.

package leader

import (
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// grants is the leader's record of the members: their reports, and when each last got a lease. A
// new leader has no record. It must assume a lease for each, granted at the moment when it began.
type grants struct {
	mu      sync.Mutex
	term    uint64 // 0: not the leader
	since   time.Duration
	granted map[trie.MachineID]granted
	reports map[trie.MachineID]memberReport
	seen    map[trie.MachineID]time.Duration // when this leader first saw them in a view
	last    time.Duration                    // when any report came
	// barred are members under exclusion. They get no lease in an epoch up to this one, even if
	// the proposal fails.
	barred map[trie.MachineID]uint64
	// olderProcesses are processes which report although a later one of their machine is known.
	olderProcesses map[trie.MachineID]olderProcess
	// newlyBarred are the barred members of the last proposal only.
	newlyBarred []trie.MachineID
	// lagging is when members that report have stopped adopting views.
	lagging map[trie.MachineID]lag
	// damaged is the member to exclude because its disk is damaged; 0 if there is none. It must
	// get no lease meanwhile.
	damaged trie.MachineID
	// lostView is why nothing may be done: an agreed view is missing. It is "" otherwise.
	lostView string
	// slowest is the member to exclude because it is too slow; 0 if there is none. It must get no
	// lease meanwhile.
	slowest trie.MachineID
	// crowded is the member without room for its backfill, likewise.
	crowded trie.MachineID
	// slow is when members were excluded because they were slow. It is by address, because they
	// return as other machines.
	slow map[string]time.Duration
	// marks is how many fills of each machine it itself and others count on.
	marks map[trie.MachineID]uint64
	// back are members whose last report shows that they come back; short are those whose disks
	// lack room. Former ones may remain in both.
	back, short map[trie.MachineID]struct{}
}

// granted is the last lease of a member: when it was granted, and for how long.
type granted struct{ at, length time.Duration }

// memberReport is a member's last report and when it came.
type memberReport struct {
	report Report
	at     time.Duration
	// known are the answers of the member, as others reported them when this report came. due is
	// known of the report before, so it is older than this report; it is nil if this is the first
	// report of a process to this leader. A disk must be compared with due, because its report
	// may be older than the others'.
	known, due map[stream]uint64
	// knownAll and dueAll: all members had by then reported their record of the member's answers,
	// in the newest view. knownLive and dueLive: all members heard from lately had.
	knownAll, dueAll, knownLive, dueLive bool
	// answered are the answers in the report, by the machine that gave them.
	answered map[trie.MachineID][]Answered
}

// stream identifies the batches of a sequencer in one incarnation.
type stream struct {
	sequencer   trie.MachineID
	incarnation uint64
}

// figures returns the disk figures of the members' reports.
func (g *grants) figures() map[trie.MachineID]view.Report {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make(map[trie.MachineID]view.Report, len(g.reports))
	for id, h := range g.reports {
		all[id] = view.Report{Room: h.report.Store.Spare, Bytes: h.report.Store.Bytes}
	}
	return all
}

// lead makes this node the leader of a term, from now on.
func (g *grants) lead(term uint64, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == term {
		return
	}
	g.term, g.since, g.last = term, now, now
	g.granted = map[trie.MachineID]granted{}
	g.reports = map[trie.MachineID]memberReport{}
	g.seen = map[trie.MachineID]time.Duration{}
	g.barred = map[trie.MachineID]uint64{}
	g.olderProcesses = map[trie.MachineID]olderProcess{}
	g.lagging = map[trie.MachineID]lag{}
	g.newlyBarred, g.damaged = nil, 0
	g.lostView = ""
	g.slowest, g.crowded, g.slow = 0, 0, map[string]time.Duration{}
	g.marks = map[trie.MachineID]uint64{}
	g.back, g.short = map[trie.MachineID]struct{}{}, map[trie.MachineID]struct{}{}
}

// resign: the node leads no more.
func (g *grants) resign() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term = 0
}

// report records a member's report. ok is false if this node does not lead. news is true if the
// leader may have to act on it.
//
// If no report came for longer than standstill, not even this node's own, the members were not
// silent. The machine was suspended, or its disk has blocked the agreement. Then all members get
// a new start, because the first to report must not exclude those after them.
func (g *grants) report(v *view.View, r Report, now, standstill, late time.Duration) (ok, news bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 {
		return false, false
	}
	// 1. If all were silent, time starts anew for each member.
	if now-g.last > standstill {
		for _, m := range v.Members {
			g.seen[m.ID] = now
		}
		clear(g.lagging)
	}
	g.last = now
	// superseded distinguishes a restored disk from a copied directory, because it sees which other
	// processes report.
	m := v.Find(r.ID)
	if m != nil && r.Incarnation < m.Incarnation && now-g.since < 2*standstill {
		return true, true
	}
	// 2. Reject a report if it was overtaken by a newer one.
	old, known := g.reports[r.ID]
	if known && (old.report.Incarnation > r.Incarnation || old.report.Incarnation == r.Incarnation && old.report.Number >= r.Number) {
		return true, false
	}
	same := known && old.report.Incarnation == r.Incarnation
	g.mark(&old.report, &r, same)
	h := memberReport{report: r, at: now}
	if len(r.Answered) > 0 {
		h.answered = map[trie.MachineID][]Answered{}
		for _, a := range r.Answered {
			h.answered[a.Holder] = append(h.answered[a.Holder], a)
		}
	}
	back := m != nil && comesBack(m, &r)
	put(g.back, r.ID, back)
	put(g.short, r.ID, r.Store.Room != store.RoomForAll)
	// 3. Keep what was known before this report, because a disk must be compared with that.
	if back {
		h.known = g.answered(r.ID)
		h.knownLive, h.knownAll = g.reportedOn(v, r.ID, now-late)
	}
	if same {
		h.due, h.dueAll, h.dueLive = old.known, old.knownAll, old.knownLive
	}
	g.reports[r.ID] = h
	return true, back || !same || differs(&old.report, &r)
}

// put makes id an element of a set, or makes it none.
func put(set map[trie.MachineID]struct{}, id trie.MachineID, in bool) {
	if in {
		set[id] = struct{}{}
	} else {
		delete(set, id)
	}
}

// comesBack reports whether a member must prove its disk: it started again and has not got its
// place back, or it waits for its first lease since.
func comesBack(m *view.Member, r *Report) bool {
	return r.Incarnation > m.Incarnation || m.Waits && r.Incarnation == m.Incarnation
}

// wanted returns the members which come back, because all others must report on them. marked is the
// epoch of the known marks of member id; 0 if there are none.
func (g *grants) wanted(v *view.View, id trie.MachineID) (about []trie.MachineID, marked uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.back {
		h := g.reports[other]
		if m := v.Find(other); m != nil && other != id && comesBack(m, &h.report) {
			about = append(about, other)
		}
	}
	slices.Sort(about)
	if r := g.reports[id].report; r.Marked {
		marked = r.Epoch
	}
	return about, marked
}

// reportedOn returns live if every other member with a report since a moment has reported on the
// answers of a member. all is true if every other member has, in the newest view. The lock must
// be held.
func (g *grants) reportedOn(v *view.View, id trie.MachineID, since time.Duration) (live, all bool) {
	live, all = true, true
	for i := range v.Members {
		m := v.Members[i].ID
		if m == id {
			continue
		}
		h, ok := g.reports[m]
		reported := ok && slices.Contains(h.report.About, id)
		all = all && reported && h.report.Epoch == v.Epoch
		live = live && (reported || !ok || h.at < since)
	}
	return live, all
}

// mark counts the fills named by a report. A member has filled only when the leader has its
// marks, so it repeats them until then. The lock must be held.
func (g *grants) mark(old, r *Report, same bool) {
	if r.Walked && !r.Marked {
		r.Marked = same && old.Marked && old.Epoch == r.Epoch
		r.Walked = r.Marked
	}
	g.marks[r.ID] = max(g.marks[r.ID], r.Mark)
	for id, mark := range r.Marks {
		g.marks[id] = max(g.marks[id], mark)
	}
	r.Marks = nil
}

// differs reports whether a report differs from the one before in a field the next view may
// depend on. The leader itself sees changes that come only with time.
func differs(old, r *Report) bool {
	return old.Epoch != r.Epoch || old.Walked != r.Walked || old.Swept != r.Swept || old.Reconciled != r.Reconciled || old.Ingested != r.Ingested ||
		old.Damaged != r.Damaged || old.Store.Room != r.Store.Room || old.Lease != r.Lease || old.Address != r.Address || len(old.Splits) != len(r.Splits) ||
		!slices.Equal(old.Slow, r.Slow) || !slices.Equal(old.Staging, r.Staging)
}

// lastSign returns when a member last reported or, if later, was first expected to. A machine
// that has just joined needs time for its first report. The lock must be held.
func (g *grants) lastSign(id trie.MachineID, now time.Duration) time.Duration {
	if _, ok := g.seen[id]; !ok {
		g.seen[id] = now
	}
	return max(g.seen[id], g.reports[id].at)
}
