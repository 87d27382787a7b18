package cluster

import (
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
	// knownAll and dueAll tell whether all members had been heard by then, in the
	// newest view.
	knownAll, dueAll bool
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
}

// resign: the node leads no more.
func (g *grants) resign() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term = 0
}

// report notes what a member said; false where this node does not lead. Where it has
// heard nobody, itself included, for longer than standstill, it was not they who were
// silent: the machine was suspended, or its disk has held up the agreement. The first
// who are heard then must not exclude those who would have been the next.
func (g *grants) report(v *view.View, r report, now, standstill time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 {
		return false
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
	if m := v.Find(r.ID); m != nil && r.Incarnation < m.Incarnation && now-g.since < 2*standstill {
		return true
	}
	old, ok := g.heard[r.ID]
	if ok && (old.report.Incarnation > r.Incarnation || old.report.Incarnation == r.Incarnation && old.report.Number >= r.Number) {
		return true
	}
	h := heard{report: r, at: now, known: g.answered(r.ID), knownAll: true}
	for _, m := range v.Members {
		h.knownAll = h.knownAll && (m.ID == r.ID || g.heard[m.ID].report.Epoch == v.Epoch)
	}
	if ok && old.report.Incarnation == r.Incarnation {
		h.due, h.dueAll = old.known, old.knownAll
	}
	g.heard[r.ID] = h
	return true
}

// answered returns up to where a holder has answered, as others say. The lock is
// held.
func (g *grants) answered(holder trie.MachineID) map[stream]uint64 {
	known := map[stream]uint64{}
	for other, h := range g.heard {
		if other == holder {
			continue
		}
		for _, a := range h.report.Answered {
			if s := (stream{a.Sequencer, a.Incarnation}); a.Holder == holder {
				known[s] = max(known[s], a.Batch)
			}
		}
	}
	return known
}

// diskShows tells whether a member's disk has all that it is known to have had:
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

// forgot tells whether the machine need not know of a stream any more: it knows of so
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
