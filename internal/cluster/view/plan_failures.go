// Plans for members that fail and come back.

package view

import (
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// overrule marks ranges as possibly lost if a kept machine was further than the origin view of
// the generation. It must come before the machine may count.
func (p *planner) overrule() {
	if p.Parent == nil {
		return
	}
	for _, m := range p.Members {
		if epoch := p.reports[m.ID].Followed; epoch > p.Parent.Newest {
			next, err := p.Overrule(epoch)
			p.propose(next, err, "machine %s had adopted epoch %d of generation %d, and this generation began from epoch %d: all ranges are lost",
				m.ID, epoch, p.Parent.Generation, p.Parent.Epoch)
			return
		}
	}
}

// failures excludes all dead members at once, because each exclusion begins a backfill. No
// member may be excluded while its lease may last. Most members must run, with any disk. Or
// most voters must run, and the others must have all rows of the dead. Members that the
// operator gave up need neither.
func (p *planner) failures() {
	// 1. Find the members to exclude: dead ones, and those that the operator gave up.
	var gone, given []trie.MachineID
	reasons := map[trie.MachineID]string{} // of gone
	there := 0
	for i := range p.Members {
		m := &p.Members[i]
		byWish := p.givenUp(m)
		why := p.failure(m)
		if !p.suspect(m) && (p.reports[m.ID].Incarnation != 0 || m.ID == p.options.Self) {
			there++
		}
		switch {
		case why == "" && !byWish:
		case p.reports[m.ID].MayHoldLease && why == "":
			p.wait("machine %s, to be removed, is alive: stop it, or let it leave", m.ID)
		case p.reports[m.ID].MayHoldLease:
			p.wait("the lease of machine %s to end, %s", m.ID, why)
		case byWish:
			given = append(given, m.ID)
		default:
			gone = append(gone, m.ID)
			reasons[m.ID] = why
		}
	}
	// 2. Keep the dead if that could lose rows.
	if len(gone) > 0 && 2*there <= len(p.Members) && !(p.quorum() && p.spares(gone...)) {
		p.wait("most members to run, before %s can be excluded: %d of %d run, and the others may have the only copies of some triples. "+
			"Start them, or give them up (trefoil cluster remove)", names(gone), there, len(p.Members))
		gone = nil
	}
	p.explainSlow()
	// 3. Propose. In phase ingest the load must be complete on all others first. Those that started
	// again can ingest it only when they are back, so the later steps must go on.
	out := append(gone, given...)
	switch {
	case len(out) == 0:
	case p.Phase == recovery.Ingest && !p.allIngested(out):
		p.wait("the bulk load to be taken in, before %s can be excluded", names(out))
	case p.Phase == recovery.Ingest:
		next, err := p.exclude(out, reasons, p.marks())
		p.propose(next, err, "load %s is published; excluded: %s", p.Ingesting().ID, names(out))
	default:
		next, err := p.exclude(out, reasons, nil)
		p.propose(next, err, "excluded: %s", names(out))
	}
}

// quorum reports whether most voters run.
func (p *planner) quorum() bool {
	there := 0
	for _, id := range p.options.Voters {
		m := p.Find(id)
		if m != nil && !p.suspect(m) && (p.reports[id].Incarnation != 0 || id == p.options.Self) {
			there++
		}
	}
	return 2*there > len(p.options.Voters)
}

// givenUp reports whether the operator wants a member removed although it may hold data. If it
// holds none, it is removed in idle.
func (p *planner) givenUp(m *Member) bool {
	return slices.Contains(p.wishes.Remove, m.ID) && (p.holds(m.ID) || p.suspect(m))
}

// failure returns why a member must be excluded, "" if it must not.
func (p *planner) failure(m *Member) string {
	r := p.reports[m.ID]
	back := r.Incarnation > m.Incarnation || m.Waits && r.Incarnation == m.Incarnation
	switch {
	case p.suspect(m):
		return "which is not heard of"
	case back && !r.DiskShows && !r.Unproven:
		return "which came back without all that its disk had"
	case r.Incarnation != 0 && r.Incarnation < m.Incarnation:
		return "which came back with an older disk"
	case m.ID == p.stuck() && m.ID != p.options.Self:
		return "which does not adopt the view"
	case m.ID == p.slow() && m.ID != p.options.Self:
		return "which the others wait for"
	case m.ID == p.crowded() && m.ID != p.options.Self:
		return "whose disk has no room for its backfill"
	case m.ID == p.damaged() && m.ID != p.options.Self:
		return "whose disk is damaged"
	}
	return ""
}

// Damaged returns the member to exclude because its disk is damaged, 0 if there is none. The
// member runs, so it must get no lease from then on. The leader may be the one; it does not
// exclude itself.
func Damaged(v *View, reports map[trie.MachineID]Report, o PlanOptions) trie.MachineID {
	return (&planner{View: v, reports: reports, options: o}).damaged()
}

// damaged returns the member to exclude because its disk is damaged, or 0. It returns one
// only in idle and in fill, if all members are heard and have adopted the view, and if
// others have all that it has.
func (p *planner) damaged() trie.MachineID { return memoize(&p.worst, p.findDamaged) }

func (p *planner) findDamaged() (id trie.MachineID) {
	if p.Phase != recovery.Idle && p.Phase != recovery.Fill || p.slow() != 0 {
		return 0
	}
	for i := range p.Members {
		m := &p.Members[i]
		if p.suspect(m) || !p.adopted(m) {
			return 0
		}
		if id == 0 && p.reports[m.ID].Damaged && p.spares(m.ID) {
			id = m.ID
		}
	}
	return id
}

// spares reports whether all that some members have is on others too, as far as base
// goes.
func (p *planner) spares(ids ...trie.MachineID) bool {
	if len(p.Members) <= len(ids) {
		return false
	}
	dead, live := p.deadOfBase(), p.baseLive()
	for _, id := range ids {
		if live.Contains(id) {
			dead++
		}
	}
	return dead < p.Base.Required()
}

// Crowded returns the member that is to be excluded because its disk has no room for
// its backfill, 0 if there is none. The leader does not exclude itself.
func Crowded(v *View, reports map[trie.MachineID]Report, o PlanOptions) trie.MachineID {
	return (&planner{View: v, reports: reports, options: o}).crowded()
}

// crowded returns a member with a full disk and without data in base. While it stays, the
// backfill does not end, and its adds are refused, too. It may join again when there is room.
func (p *planner) crowded() trie.MachineID { return memoize(&p.fullest, p.findCrowded) }

func (p *planner) findCrowded() trie.MachineID {
	if p.Phase != recovery.Fill {
		return 0
	}
	for i := range p.Members {
		m := &p.Members[i]
		r := p.reports[m.ID]
		if r.Full && r.Incarnation == m.Incarnation && p.Target.Placement.Machines().Contains(m.ID) && !p.Base.Placement.Machines().Contains(m.ID) {
			return m.ID
		}
	}
	return 0
}

// returns gives a member that started again its place back.
func (p *planner) returns() {
	for i := range p.Members {
		m := &p.Members[i]
		r := p.reports[m.ID]
		if r.Incarnation <= m.Incarnation || !r.DiskShows || p.suspect(m) {
			continue
		}
		if r.MayHoldLease { // its directory may be a copy, and the process that had the lease run
			p.wait("the lease of machine %s to end, which started at another address", m.ID)
			continue
		}
		var back Member
		if r.Self != nil {
			back = *r.Self
		}
		back.ID, back.Incarnation, back.Address, back.Minor = m.ID, r.Incarnation, r.Address, r.Minor
		if back.Address == "" {
			back.Address = m.Address
		}
		next, err := p.Readmit(back)
		p.propose(next, err, "machine %s is back", m.ID)
		return
	}
}

// reconcile lets machines have leases after they came back. All members must be there, all
// operations of former incarnations must be committed, and the proof of every disk must be known.
func (p *planner) reconcile() {
	if !p.waiting() {
		return
	}
	var back []trie.MachineID
	for _, m := range p.Members {
		if m.Waits {
			back = append(back, m.ID)
			if !p.reports[m.ID].DiskShows {
				p.wait("the disk of %s to show what it had", m.ID)
				return
			}
		}
	}
	if missing := p.missing(func(r Report) bool { return r.Reconciled }); missing != "" {
		p.wait("the reconciliation of %s, for the return of %s", missing, names(back))
		return
	}
	next, err := p.Unwait(back...)
	p.propose(next, err, "reconciled: %s may have leases", names(back))
}
