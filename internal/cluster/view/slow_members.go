// Slow members: the others wait for them, so they must be excluded.

package view

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Slow returns the member to exclude because the others wait for it, 0 if there is none. The
// member runs, so it must get no lease from then on. If the waits end before its lease is over,
// it stays. The leader may be the one; it does not exclude itself.
//
// Slow chooses the member with the most accusers, and only if without it no member accuses
// another. If its exclusion would not help, as when all disks are slow, it chooses none. If two
// accuse each other, the leader stays, then the one with more rows. If the member has data, it is
// excluded in idle, or in a backfill, because a backfill waits for all members and would not end.
// All others must be there, at least two of them, with room for its rows, and the live ones must
// have all of them.
func Slow(v *View, reports map[trie.MachineID]Report, o PlanOptions) trie.MachineID {
	return (&planner{View: v, reports: reports, options: o}).slow()
}

func (p *planner) slow() trie.MachineID {
	return memoize(&p.slowest, func() trie.MachineID {
		id := p.accused()
		if id != 0 && p.keeps(id) != "" {
			id = 0
		}
		return id
	})
}

// explainSlow returns why a member stays although the others wait for it.
func (p *planner) explainSlow() {
	if id := p.accused(); id != 0 {
		if why := p.keeps(id); why != "" {
			p.wait("machine %s to answer the others; it is not excluded, because %s", id, why)
		}
		return
	}
	var ids []trie.MachineID
	for i := range p.Members {
		for _, id := range p.reports[p.Members[i].ID].Accuses {
			if p.Find(id) != nil && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if slices.Sort(ids); len(ids) > 0 {
		p.wait("machines %s to answer the others; none is excluded, because one fewer would not be enough", names(ids))
	}
}

// accused returns the member that all accusations are about, once it is gone.
func (p *planner) accused() (most trie.MachineID) {
	by := map[trie.MachineID]int{}
	for i := range p.Members {
		for _, id := range p.reports[p.Members[i].ID].Accuses {
			if p.Find(id) != nil {
				by[id]++
			}
		}
	}
	for id, n := range by {
		if most == 0 || n > by[most] || n == by[most] && p.isExcludedBefore(id, most) {
			most = id
		}
	}
	for i := range p.Members {
		m := &p.Members[i]
		if m.ID == most {
			continue
		}
		for _, id := range p.reports[m.ID].Accuses {
			if id != most && p.Find(id) != nil {
				return 0
			}
		}
	}
	return most
}

// isExcludedBefore reports which of two members with equal accusers is excluded.
func (p *planner) isExcludedBefore(a, b trie.MachineID) bool {
	self := p.options.Self
	if a == self || b == self {
		return b == self
	}
	if x, y := p.reports[a].Bytes, p.reports[b].Bytes; x != y {
		return x < y
	}
	return a > b
}

// keeps returns why a member must stay although the others wait for it. It returns "" if they
// have all its rows and the room for them, and no change under way relies on it.
func (p *planner) keeps(id trie.MachineID) string {
	// 1. Count the members that would stay, and their room.
	stay, room, spare := 0, int64(0), int64(-1)
	for i := range p.Members {
		m := &p.Members[i]
		if m.ID == id {
			continue
		}
		// All others must be there, because their reports must be up to date.
		if p.suspect(m) || !p.adopted(m) {
			return fmt.Sprintf("machine %s is not there in epoch %d", m.ID, p.Epoch)
		}
		r := p.reports[m.ID]
		switch {
		case m.State == Up:
			stay++
			room += max(0, min(r.Room, 1<<60/int64(len(p.Members))))
		case m.State == Spare && spare < 0: // it takes the place, see replace
			stay++
			spare = max(0, r.Room)
		}
	}
	if spare >= 0 {
		room = spare
	}
	// 2. Compare with the rows of the member.
	has := p.reports[id].Bytes
	switch counts := p.Base.Placement.Machines().Contains(id); {
	case p.Phase != recovery.Idle && p.Phase != recovery.Fill:
		return fmt.Sprintf("the phase %s ends first", p.Phase)
	case !counts:
		return ""
	case !p.spares(id):
		return "it may have the only copy of some triples"
	case p.options.Tolerant:
		return "another one was excluded for that some minutes ago"
	case stay < 2:
		return "only one machine would be left"
	case room < has:
		return fmt.Sprintf("it has %d MiB, and the others have room for %d", has>>20, room>>20)
	}
	return ""
}
