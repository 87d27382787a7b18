// What the leader remembers of members: reports, leases, exclusions.

package cluster

import (
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// grants is what the leader knows of the members: when it last granted each a
// lease, and what they reported. A new leader knows nothing, and takes it that
// each had a lease granted at the moment when it began.
type grants struct {
	mu      sync.Mutex
	term    uint64 // 0: not the leader
	since   time.Duration
	granted map[trie.MachineID]granted
	heard   map[trie.MachineID]heard
	seen    map[trie.MachineID]time.Duration // when this leader first saw them in a view
	last    time.Duration                    // when any report came
	// barred are members that are being excluded: they get no lease in an epoch up
	// to this one, whether or not the proposal comes through.
	barred map[trie.MachineID]uint64
	// older are processes that report though later ones of their machines are known.
	older map[trie.MachineID]older
	// newly are those of them whom only the last proposal bars.
	newly []trie.MachineID
	// behind tells since when members that are heard have adopted no further view.
	behind map[trie.MachineID]behind
	// damaged is the member whose disk is damaged and that is to be excluded for it, 0
	// for none: it gets no lease as long as it is.
	damaged trie.MachineID
	// forgotten says why nothing is to be done: a view that was agreed on is not known.
	forgotten string
	// denied is the member that is too slow, 0 for none: it gets no lease as long as it
	// is.
	denied trie.MachineID
	// crowded is the member that has no room for its backfill, likewise.
	crowded trie.MachineID
	// slow tells when members were excluded for that, by address: they come back as
	// other machines.
	slow map[string]time.Duration
	// marks is how many fills of each machine it itself and others count on.
	marks map[trie.MachineID]uint64
	// back are members that were coming back when they were heard last, short those whose
	// disks had not room for everything. Who is neither any more may be in them, too.
	back, short map[trie.MachineID]struct{}
}

// granted is the last lease of a member: when it was granted, and for how long.
type granted struct{ at, length time.Duration }

// heard is a member's last report and when it came.
type heard struct {
	report report
	at     time.Duration
	// known is what was known when it came that the member has answered, and due
	// what was known before it was made: when the one before it came. due is nil
	// with a process's first report to this leader. What a disk shows is held
	// against due, since the report may be older than what others say.
	known, due map[stream]uint64
	// knownAll and dueAll tell whether all members had said by then what they know of it,
	// in the newest view; knownLive and dueLive, whether all had that were heard of late.
	knownAll, dueAll, knownLive, dueLive bool
	// answered is what the report says of the answers of machines, by machine.
	answered map[trie.MachineID][]answered
}

// stream is what a sequencer sends in one incarnation.
type stream struct {
	sequencer   trie.MachineID
	incarnation uint64
}

// lead makes this node the leader of a term, from now on.
// figures returns what members have reported of their disks.
func (g *grants) figures() map[trie.MachineID]view.Report {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make(map[trie.MachineID]view.Report, len(g.heard))
	for id, h := range g.heard {
		all[id] = view.Report{Room: h.report.Store.Spare, Bytes: h.report.Store.Bytes}
	}
	return all
}

func (g *grants) lead(term uint64, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == term {
		return
	}
	g.term, g.since, g.last = term, now, now
	g.granted = map[trie.MachineID]granted{}
	g.heard = map[trie.MachineID]heard{}
	g.seen = map[trie.MachineID]time.Duration{}
	g.barred = map[trie.MachineID]uint64{}
	g.older = map[trie.MachineID]older{}
	g.behind = map[trie.MachineID]behind{}
	g.newly, g.damaged = nil, 0
	g.forgotten = ""
	g.denied, g.crowded, g.slow = 0, 0, map[string]time.Duration{}
	g.marks = map[trie.MachineID]uint64{}
	g.back, g.short = map[trie.MachineID]struct{}{}, map[trie.MachineID]struct{}{}
}

// resign: the node leads no more.
func (g *grants) resign() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term = 0
}

// report notes what a member said; ok is false where this node does not lead. There is news
// if the leader may have something to do for it. Where it has
// heard nobody, itself included, for longer than standstill, it was not they who were
// silent: the machine was suspended, or its disk has held up the agreement. The first
// who are heard then must not exclude those who would have been the next.
func (g *grants) report(v *view.View, r report, now, standstill, late time.Duration) (ok, news bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 {
		return false, false
	}
	if now-g.last > standstill {
		for _, m := range v.Members {
			g.seen[m.ID] = now
		}
		clear(g.behind)
	}
	g.last = now
	// A disk that was made an older one is told from a directory that was copied by
	// who else is heard: see superseded.
	m := v.Find(r.ID)
	if m != nil && r.Incarnation < m.Incarnation && now-g.since < 2*standstill {
		return true, true
	}
	old, known := g.heard[r.ID]
	if known && (old.report.Incarnation > r.Incarnation || old.report.Incarnation == r.Incarnation && old.report.Number >= r.Number) {
		return true, false
	}
	same := known && old.report.Incarnation == r.Incarnation
	g.mark(&old.report, &r, same)
	h := heard{report: r, at: now}
	if len(r.Answered) > 0 {
		h.answered = map[trie.MachineID][]answered{}
		for _, a := range r.Answered {
			h.answered[a.Holder] = append(h.answered[a.Holder], a)
		}
	}
	back := m != nil && comesBack(m, &r)
	put(g.back, r.ID, back)
	put(g.short, r.ID, r.Store.Room != node.RoomForAll)
	if back {
		h.known = g.answered(r.ID)
		h.knownLive, h.knownAll = g.toldOf(v, r.ID, now-late)
	}
	if same {
		h.due, h.dueAll, h.dueLive = old.known, old.knownAll, old.knownLive
	}
	g.heard[r.ID] = h
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

// comesBack reports whether a member has to show what its disk has: it started again, and
// was not given its place back, or waits for its first lease since.
func comesBack(m *view.Member, r *report) bool {
	return r.Incarnation > m.Incarnation || m.Waits && r.Incarnation == m.Incarnation
}

// asks returns the members that are coming back, about which all others are asked, and the
// epoch of the marks that are known of one, 0 for none.
func (g *grants) asks(v *view.View, id trie.MachineID) (about []trie.MachineID, marked uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.back {
		h := g.heard[other]
		if m := v.Find(other); m != nil && other != id && comesBack(m, &h.report) {
			about = append(about, other)
		}
	}
	slices.Sort(about)
	if r := g.heard[id].report; r.Marked {
		marked = r.Epoch
	}
	return about, marked
}

// toldOf reports whether the others have said what they know of the answers of a member: all
// that were heard since a moment, and all, in the newest view. The lock is held.
func (g *grants) toldOf(v *view.View, id trie.MachineID, since time.Duration) (live, all bool) {
	live, all = true, true
	for i := range v.Members {
		m := v.Members[i].ID
		if m == id {
			continue
		}
		h, ok := g.heard[m]
		told := ok && slices.Contains(h.report.About, id)
		all = all && told && h.report.Epoch == v.Epoch
		live = live && (told || !ok || h.at < since)
	}
	return live, all
}

// mark counts on the fills that a report names. A member has walked when they are known:
// it names them until this leader has them. The lock is held.
func (g *grants) mark(old, r *report, same bool) {
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

// differs reports whether a report says something else than the one before it on which the
// next view may depend. What only passes with time the leader sees by itself.
func differs(old, r *report) bool {
	return old.Epoch != r.Epoch || old.Walked != r.Walked || old.Swept != r.Swept || old.Reconciled != r.Reconciled || old.Ingested != r.Ingested ||
		old.Damaged != r.Damaged || old.Store.Room != r.Store.Room || old.Lease != r.Lease || old.Address != r.Address || len(old.Splits) != len(r.Splits) ||
		!slices.Equal(old.Slow, r.Slow) || !slices.Equal(old.Staging, r.Staging)
}

// answered returns up to where a holder has answered, as others say. The lock is
// held.
func (g *grants) answered(holder trie.MachineID) map[stream]uint64 {
	known := map[stream]uint64{}
	for other, h := range g.heard {
		if other == holder {
			continue
		}
		for _, a := range h.answered[holder] {
			s := stream{a.Sequencer, a.Incarnation}
			known[s] = max(known[s], a.Batch)
		}
	}
	return known
}

// diskShows reports whether a member's disk has all that it is known to have had:
// the fills that it was counted on for, and of every sequencer what it has
// answered.
func (h *heard) diskShows(m *view.Member) bool {
	if h.report.Mark < m.Mark {
		return false
	}
	has := make(map[stream]uint64, len(h.report.Heard))
	for _, o := range h.report.Heard {
		has[stream{o.Sequencer, o.Incarnation}] = o.Last
	}
	for s, batch := range h.due {
		if has[s] < batch && !h.forgot(s) {
			return false
		}
	}
	return true
}

// forgot reports whether the machine need not know of a stream any more: it knows of so
// many later ones of the sequencer.
func (h *heard) forgot(s stream) bool {
	later := 0
	for _, o := range h.report.Heard {
		if o.Sequencer != s.sequencer {
			continue
		}
		if o.Incarnation == s.incarnation {
			return false
		}
		if o.Incarnation > s.incarnation {
			later++
		}
	}
	return later >= node.KeptIncarnations
}

// grant gives a member a lease in view v, if it may have one. The leadership was
// verified in term after the request had come.
func (g *grants) grant(v *view.View, r *report, term uint64, length, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.forgotten != "" || g.term == 0 || g.term != term || r.Epoch != v.Epoch || !v.Has(r.ID, r.Incarnation) || v.Find(r.ID).Waits {
		return false
	}
	if epoch, ok := g.barred[r.ID]; ok && v.Epoch <= epoch || r.ID == g.denied || r.ID == g.crowded || r.ID == g.damaged || g.heard[r.ID].report.Incarnation > r.Incarnation {
		return false
	}
	g.granted[r.ID] = granted{now, length}
	return true
}

// bar notes that a view that follows on v is proposed: who is no member of it gets no
// lease. The lock is held.
func (g *grants) bar(v, next *view.View) {
	g.newly = nil
	for _, m := range v.Members {
		if next.Find(m.ID) != nil {
			continue
		}
		if epoch, ok := g.barred[m.ID]; !ok || epoch < v.Epoch {
			g.newly = append(g.newly, m.ID)
		}
		g.barred[m.ID] = v.Epoch
	}
}

// unbar takes back what the last proposal has barred, which surely was not agreed on
// and will not be: who is heard again may go on.
func (g *grants) unbar() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.newly {
		delete(g.barred, id)
	}
	g.newly = nil
}

// lastSign returns when a member was last heard, or else first expected to be: a
// machine that has just joined was given no time yet to say anything. The lock is
// held.
func (g *grants) lastSign(id trie.MachineID, now time.Duration) time.Duration {
	if _, ok := g.seen[id]; !ok {
		g.seen[id] = now
	}
	return max(g.seen[id], g.heard[id].at)
}
