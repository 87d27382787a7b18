package view

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// This file is about holders that others wait for: a write is settled when all have
// it, so that one of them holds up all.

// Slow returns the member that is to be excluded because the others wait for it, 0
// where there is none. It runs, so that it is to get no lease from then on; if it is
// waited for no more before its lease is over, it stays. The leader, who may be the
// one, does not exclude itself.
//
// It is the one that most members accuse, and only if without it nobody accuses
// anybody: where that would not help, as when all disks are slow, nobody is excluded.
// Of two that accuse each other, the leader stays, then who has more. One that has
// data is excluded in idle, or in a backfill, which waits for all members and so would
// not end. All others must be there, two of them at least, with room for what it has,
// and the live ones must have all of it.
func Slow(v *View, reports map[trie.MachineID]Report, o PlanOptions) trie.MachineID {
	return (&planner{View: v, reports: reports, options: o}).slow()
}

func (p *planner) slow() trie.MachineID {
	return once(&p.slowest, func() trie.MachineID {
		id := p.accused()
		if id != 0 && p.keeps(id) != "" {
			id = 0
		}
		return id
	})
}

// explainSlow says why a member stays that the others wait for.
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
		if most == 0 || n > by[most] || n == by[most] && p.sooner(id, most) {
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

// sooner tells which of two members that are accused alike is excluded.
func (p *planner) sooner(a, b trie.MachineID) bool {
	self := p.options.Self
	if a == self || b == self {
		return b == self
	}
	if x, y := p.reports[a].Bytes, p.reports[b].Bytes; x != y {
		return x < y
	}
	return a > b
}

// keeps says why a member is not excluded that the others wait for, "" if they can do
// without it and nothing is under way that counts on it.
func (p *planner) keeps(id trie.MachineID) string {
	stay, room, spare := 0, int64(0), int64(-1)
	for i := range p.Members {
		m := &p.Members[i]
		if m.ID == id {
			continue
		}
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
