// Plans for bulk loads.

package view

import (
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// LoadBegin requests the number of a load.
type LoadBegin struct {
	ID          string         `json:"id"`
	Coordinator trie.MachineID `json:"coordinator"`
	Incarnation uint64         `json:"incarnation"`
}

// LoadPublish requests that a load is published when all its tables are staged. It holds for
// the view of one epoch only. So when there is a newer view, the load was published, or never
// will be by this request.
type LoadPublish struct {
	ID     string `json:"id"`
	Epoch  uint64 `json:"epoch"`
	Place  string `json:"place"`
	Tables string `json:"tables"`

	Read     int64 `json:"read"`
	New      int64 `json:"new"`
	Rejected int64 `json:"rejected"`

	Time       int64            `json:"time,omitempty"`      // of the request, in Unix ms
	Predicates map[string]int64 `json:"predicates,omitzero"` // see [Load]
}

// marks are the numbers of batches of fills and tables, by the members' reports.
func (p *planner) marks() map[trie.MachineID]uint64 {
	marks := map[trie.MachineID]uint64{}
	for id, r := range p.reports {
		marks[id] = r.Mark
	}
	return marks
}

// allIngested reports whether all members but some have taken the load in.
func (p *planner) allIngested(but []trie.MachineID) bool {
	for i := range p.Members {
		m := &p.Members[i]
		if !slices.Contains(but, m.ID) && !(p.adopted(m) && p.reports[m.ID].Ingested) {
			return false
		}
	}
	return true
}

// show ends the phase ingest.
func (p *planner) show() {
	if missing := p.missing(func(r Report) bool { return r.Ingested }); missing != "" {
		p.stop("the bulk load to be taken in by %s", missing)
		return
	}
	next, err := p.ToShown(p.marks())
	p.propose(next, err, "load %s is published", p.Ingesting().ID)
	p.halt = true
}

// publish begins to take in a load.
func (p *planner) publish() {
	for _, w := range p.wishes.Publish {
		if l := p.Load(w.ID); w.Epoch == p.Epoch && w.Place == p.Place() && l != nil && l.Epoch == 0 {
			next, err := p.ToIngest(w)
			p.propose(next, err, "load %s is taken in", w.ID)
			return
		}
	}
}

// beginLoads gives loads their numbers.
func (p *planner) beginLoads() {
	for _, w := range p.wishes.Begin {
		l := p.Load(w.ID)
		if l == nil && len(p.Loads) >= MaxLoads {
			continue // who asks sees it, too
		}
		if p.Has(w.Coordinator, w.Incarnation) && (l == nil || l.Epoch == 0 && l.begun() != w) {
			next, err := p.BeginLoad(w)
			p.propose(next, err, "load %s begins", w.ID)
			return
		}
	}
}

func (l *Load) begun() LoadBegin { return LoadBegin{l.ID, l.Coordinator, l.Incarnation} }

// dropLoads ends loads if they are given up, or if their coordinator is no member.
func (p *planner) dropLoads() {
	var out []string
	for i := range p.Loads {
		if l := &p.Loads[i]; l.Epoch == 0 && (p.Find(l.Coordinator) == nil || slices.Contains(p.wishes.Drop, l.ID)) {
			out = append(out, l.ID)
		}
	}
	if len(out) > 0 {
		next, err := p.DropLoads(out...)
		p.propose(next, err, "loads are given up: %d", len(out))
	}
}

// staging reports whether tables are being made for the placement as it is.
func (p *planner) staging() bool {
	return p.Phase == recovery.Idle && slices.ContainsFunc(p.Loads, func(l Load) bool {
		return l.Epoch == 0 && p.Has(l.Coordinator, l.Incarnation) && slices.Contains(p.reports[l.Coordinator].Staging, l.ID)
	})
}
