// What the leader reports of the members: for the status and for purges.

package leader

import (
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/recovery"
)

// Members describes the members of a view. Only a leader has their reports.
func (l *Leader) Members(v *view.View) []api.Member {
	now := l.options.Now()
	l.grants.mu.Lock()
	defer l.grants.mu.Unlock()
	all := make([]api.Member, len(v.Members))
	for i := range v.Members {
		all[i] = l.grants.member(&v.Members[i], v, now, l.options.FailureTimeout)
	}
	return all
}

// member describes a member. The lock is held.
func (g *grants) member(m *view.Member, v *view.View, now, failureTimeout time.Duration) api.Member {
	s := api.Member{ID: m.ID.String(), Address: m.Address, State: string(m.State), Incarnation: m.Incarnation, Protocol: protocol.Name(m.Minor)}
	if g.term == 0 {
		return s
	}
	h, ok := g.reports[m.ID]
	if ok && now-h.at > failureTimeout || !ok && now-g.since > failureTimeout {
		s.State = "down"
	}
	if !ok {
		return s
	}
	r := &h.report
	s.Version = r.Version
	s.Triples, s.Copies, s.Bytes, s.FreeBytes, s.Error = r.Store.Triples, r.Store.Copies, r.Store.Bytes, r.Store.FreeBytes, r.Store.Error
	if r.Epoch < v.Epoch {
		s.Lag = v.Epoch - r.Epoch
	}
	if l, ok := g.granted[m.ID]; ok {
		s.Lease = max(0, (l.at + l.length - now).Seconds())
	}
	s.Slow, s.Damaged = g.accusers(m.ID), r.Damaged
	if w := r.Walk; w != nil && v.Phase == recovery.Fill && r.Epoch == v.Epoch && !r.Walked {
		s.Walk = &api.Walk{Rows: w.Rows, Repaired: w.Repaired, Left: w.Left, Damaged: w.Damaged, Resumed: w.Resumed, ETA: w.ETA}
	}
	return s
}

// PurgeFacts returns the part of the members' reports a purge depends on.
func (l *Leader) PurgeFacts(v *view.View) upkeep.PurgeFacts {
	g := &l.grants
	f := upkeep.PurgeFacts{Idle: v.Phase == recovery.Idle && len(v.Lost) == 0, Quiet: true}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range v.Members {
		m := &v.Members[i]
		h, ok := g.reports[m.ID]
		r := &h.report
		f.Quiet = f.Quiet && ok && !m.Waits && r.Incarnation == m.Incarnation && r.Epoch == v.Epoch && r.Swept && r.Reconciled
		f.Tombstones += r.Store.Tombstones
		f.Rows += 3 * r.Store.Triples
	}
	return f
}
