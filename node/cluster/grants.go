package cluster

import (
	"sync"
	"time"

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
	granted map[trie.MachineID]time.Duration
	heard   map[trie.MachineID]heard
	// barred are members that are being excluded: they get no lease in an epoch up
	// to this one, whether or not the proposal comes through.
	barred map[trie.MachineID]uint64
}

// heard is a member's last report and when it came.
type heard struct {
	report report
	at     time.Duration
}

// lead makes this node the leader of a term, from now on.
func (g *grants) lead(term uint64, now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == term {
		return
	}
	g.term, g.since = term, now
	g.granted = map[trie.MachineID]time.Duration{}
	g.heard = map[trie.MachineID]heard{}
	g.barred = map[trie.MachineID]uint64{}
}

// resign: the node leads no more.
func (g *grants) resign() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term = 0
}

// report notes what a member said; false where this node does not lead.
func (g *grants) report(r report, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 {
		return false
	}
	if old, ok := g.heard[r.ID]; !ok || old.report.Incarnation <= r.Incarnation {
		g.heard[r.ID] = heard{r, now}
	}
	return true
}

// grant gives a member a lease in view v, if it may have one. The leadership was
// verified in term after the request had come.
func (g *grants) grant(v *view.View, r *report, term uint64, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.term == 0 || g.term != term || r.Epoch != v.Epoch || !v.Has(r.ID, r.Incarnation) || v.Find(r.ID).Waits {
		return false
	}
	if epoch, ok := g.barred[r.ID]; ok && v.Epoch <= epoch {
		return false
	}
	g.granted[r.ID] = now
	return true
}

// mayHold tells whether a member may hold a lease now, granted by this leader or
// by one before it. The lock is held.
func (g *grants) mayHold(id trie.MachineID, now, atMost time.Duration) bool {
	at, ok := g.granted[id]
	if !ok {
		at = g.since
	}
	return now < at+atMost
}
