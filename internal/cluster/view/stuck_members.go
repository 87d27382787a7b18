// Members that do not adopt the newest view.

package view

import "github.com/trefoildb/trefoil/trie"

// Stuck returns the member to exclude because it does not adopt the newest view, 0 if there is
// none. The leader may be the one; it does not exclude itself.
//
// It returns one at a time, and only if most members have adopted the view and others have all
// its rows. If no member can adopt the view, none is excluded for it.
func Stuck(v *View, reports map[trie.MachineID]Report, o PlanOptions) trie.MachineID {
	return (&planner{View: v, reports: reports, options: o}).stuck()
}

func (p *planner) stuck() trie.MachineID { return memoize(&p.stuckest, p.findStuck) }

func (p *planner) findStuck() (id trie.MachineID) {
	adopted := 0
	for i := range p.Members {
		m := &p.Members[i]
		if p.suspect(m) {
			continue
		}
		if p.adopted(m) {
			adopted++
			continue
		}
		r := p.reports[m.ID]
		if !r.Stuck || r.Incarnation != m.Incarnation || p.Base.Placement.Machines().Contains(m.ID) && !p.spares(m.ID) {
			continue
		}
		if id == 0 || m.ID == p.options.Self {
			id = m.ID
		}
	}
	if 2*adopted <= len(p.Members) {
		return 0
	}
	return id
}
