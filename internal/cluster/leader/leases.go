// Leases that the leader grants or refuses.

package leader

import (
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// grant gives a member a lease in view v, if it may have one. The leadership was
// verified in term after the request had come.
func (g *grants) grant(v *view.View, r *Report, term uint64, length, now time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lostView != "" || g.term == 0 || g.term != term || r.Epoch != v.Epoch || !v.Has(r.ID, r.Incarnation) || v.Find(r.ID).Waits {
		return false
	}
	if epoch, ok := g.barred[r.ID]; ok && v.Epoch <= epoch || r.ID == g.slowest || r.ID == g.crowded || r.ID == g.damaged || g.reports[r.ID].report.Incarnation > r.Incarnation {
		return false
	}
	g.granted[r.ID] = granted{now, length}
	return true
}

// bar records a proposal of the view after v. If a member is missing in it, it gets no lease. The
// lock must be held.
func (g *grants) bar(v, next *view.View) {
	g.newlyBarred = nil
	for _, m := range v.Members {
		if next.Find(m.ID) != nil {
			continue
		}
		if epoch, ok := g.barred[m.ID]; !ok || epoch < v.Epoch {
			g.newlyBarred = append(g.newlyBarred, m.ID)
		}
		g.barred[m.ID] = v.Epoch
	}
}

// unbar undoes the bars of the last proposal. It must be called only if the proposal surely
// failed and will not be agreed on later. A barred member may go on when it reports again.
func (g *grants) unbar() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, id := range g.newlyBarred {
		delete(g.barred, id)
	}
	g.newlyBarred = nil
}

// Drift bounds the disagreement of two clocks on the length of a lease: a tenth, far more than
// clocks differ.
func Drift(lease time.Duration) time.Duration { return lease / 10 }

// mayHold reports whether a member may hold a lease now. This leader may have granted it, or an
// earlier one, whose leases are at most longest. The lock must be held.
func (g *grants) mayHold(id trie.MachineID, now, longest time.Duration) bool {
	l := g.granted[id]
	return now < max(g.since+longest+Drift(longest), l.at+l.length+Drift(l.length))
}
