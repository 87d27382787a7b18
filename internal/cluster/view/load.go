// Bulk loads in a view.

package view

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// This file is bulk loads. A load is begun, and gets its number; its tables are
// staged on the machines of base while the cluster goes on; in phase ingest every
// member takes its tables in, and the view after that shows them. Once a load is
// taken in it is never taken back.

// Load is a bulk load.
type Load struct {
	// Number is what its rows carry instead of a stamp; no two loads have one.
	Number uint64 `json:"number"`
	ID     string `json:"id"`
	// Coordinator is the machine whose process, in that incarnation, makes the
	// load's tables.
	Coordinator trie.MachineID `json:"coordinator"`
	Incarnation uint64         `json:"incarnation"`
	// Epoch is the one in which it was, or is, taken in: its rows are as old as the
	// first stamp of it. 0: it is being staged.
	Epoch uint64 `json:"epoch,omitempty"`
	// Place is that for which its tables were made (see [View.Place]), and Tables
	// names them on the members.
	Place  string `json:"place,omitempty"`
	Tables string `json:"tables,omitempty"`
	// The load's own figures.
	Read     int64 `json:"read,omitempty"`
	New      int64 `json:"new,omitempty"`
	Rejected int64 `json:"rejected,omitempty"`
	// Time is when its coordinator requested to publish it, in Unix ms.
	Time int64 `json:"time,omitempty"`
	// Predicates is the number of its rows by predicate; nil if it is unknown, or if the load is
	// none of the last describedLoads.
	Predicates map[string]int64 `json:"predicates,omitzero"`

	unknown string // fields of a later minor, as a JSON object; "" if there are none
}

// MaxLoads bounds the loads a cluster can ever have, because rows carry their number for good.
// The view describes each, and goes to all members whole.
const MaxLoads = 1 << 14

// describedLoads bounds the loads with predicates in a view.
const describedLoads = 32

// Load returns the load with an id, or nil. It must not be modified.
func (v *View) Load(id string) *Load {
	i := slices.IndexFunc(v.Loads, func(l Load) bool { return l.ID == id })
	if i < 0 {
		return nil
	}
	return &v.Loads[i]
}

// Ingesting returns the load that is being taken in; nil outside of phase ingest.
func (v *View) Ingesting() (l *Load) {
	if v.Phase != recovery.Ingest {
		return nil
	}
	for i := range v.Loads {
		if l == nil || v.Loads[i].Epoch > l.Epoch {
			l = &v.Loads[i]
		}
	}
	return l
}

// Published reports whether the rows of a load show.
func (v *View) Published(l *Load) bool { return l.Epoch != 0 && l != v.Ingesting() }

// Shown returns how many loads show.
func (v *View) Shown() (n int) {
	for i := range v.Loads {
		if v.Loads[i].Epoch != 0 {
			n++
		}
	}
	if v.Phase == recovery.Ingest {
		n--
	}
	return n
}

// LoadEpochs returns the epochs of the loads that are taken in, by number.
func (v *View) LoadEpochs() map[uint64]uint64 {
	epochs := map[uint64]uint64{}
	for i := range v.Loads {
		if l := &v.Loads[i]; l.Epoch != 0 {
			epochs[l.Number] = l.Epoch
		}
	}
	return epochs
}

// Place names the places of all keys and extra replicas in base. Two views of one place have all
// rows on the same machines, also if segments were split.
func (v *View) Place() string { return v.place() }

func (v *View) hashPlace() string {
	var text []byte
	for _, m := range v.Base.Placement.Machines() {
		text = binary.BigEndian.AppendUint64(text, uint64(m))
	}
	if v.Base.Copies != recovery.DefaultCopies { // so that the hash of earlier versions stays
		text = append(text, byte(v.Base.Copies))
	}
	last := trie.MachineID(0)
	for s := range v.Base.Trie.All() {
		if owner := v.Base.Placement.Owner(s); owner != last {
			text = binary.AppendUvarint(text, uint64(len(s.Lo)))
			text = append(text, s.Lo...)
			text = binary.BigEndian.AppendUint64(text, uint64(owner))
			last = owner
		}
	}
	return fmt.Sprintf("%016x", xxhash.Sum64(text))
}

// BeginLoad gives a load its number. Where it has one, begun by an earlier process,
// it has a new coordinator.
func (v *View) BeginLoad(b LoadBegin) (*View, error) {
	n := v.next()
	n.Loads = slices.Clone(v.Loads)
	if l := n.Load(b.ID); l != nil {
		if l.Epoch != 0 {
			return nil, fmt.Errorf("view: load %s is taken in already", b.ID)
		}
		l.Coordinator, l.Incarnation = b.Coordinator, b.Incarnation
		return n.finish()
	}
	if len(v.Loads) >= MaxLoads {
		return nil, fmt.Errorf("view: %d loads, and room for no more", len(v.Loads))
	}
	n.NextLoad = max(n.NextLoad, 1)
	n.Loads = append(n.Loads, Load{Number: n.NextLoad, ID: b.ID, Coordinator: b.Coordinator, Incarnation: b.Incarnation})
	n.NextLoad++
	return n.finish()
}

// DropLoads ends loads that were not taken in.
func (v *View) DropLoads(ids ...string) (*View, error) {
	n := v.next()
	n.Loads = slices.Clone(v.Loads)
	for _, id := range ids {
		if l := n.Load(id); l == nil || l.Epoch != 0 {
			return nil, fmt.Errorf("view: load %s cannot be dropped", id)
		}
		n.Loads = slices.DeleteFunc(n.Loads, func(l Load) bool { return l.ID == id })
	}
	return n.finish()
}

// errMoved: tables of a load are not where they belong.
var errMoved = errors.New("view: the load's tables were made for another placement")

// ToIngest has all members take in a load.
func (v *View) ToIngest(p LoadPublish) (*View, error) {
	l := v.Load(p.ID)
	switch {
	case v.Phase != recovery.Idle:
		return nil, fmt.Errorf("view: from %s to ingest", v.Phase)
	case l == nil || l.Epoch != 0:
		return nil, fmt.Errorf("view: load %s is not being staged", p.ID)
	case p.Place != v.Place():
		return nil, errMoved
	}
	n := v.next()
	n.Loads = slices.Clone(v.Loads)
	l = n.Load(p.ID)
	l.Epoch, l.Place, l.Tables = n.Epoch, p.Place, p.Tables
	l.Read, l.New, l.Rejected, l.Time, l.Predicates = p.Read, p.New, p.Rejected, p.Time, p.Predicates
	n.forgetPredicates()
	n.Phase = recovery.Ingest
	return n.finish()
}

// forgetPredicates removes the predicates of all but the last loads.
func (v *View) forgetPredicates() {
	described := 0
	for _, i := range v.loadsByEpoch() {
		if v.Loads[i].Predicates == nil {
			continue
		}
		if described++; described > describedLoads {
			v.Loads[i].Predicates = nil
		}
	}
}

// loadsByEpoch returns the indexes of the loads that are taken in, the last one first.
func (v *View) loadsByEpoch() (indexes []int) {
	for i := range v.Loads {
		if v.Loads[i].Epoch != 0 {
			indexes = append(indexes, i)
		}
	}
	slices.SortFunc(indexes, func(a, b int) int { return cmp.Compare(v.Loads[b].Epoch, v.Loads[a].Epoch) })
	return indexes
}

// ToShown ends the phase ingest: all members have taken the load in. Marks are as
// those of [View.ToServe].
func (v *View) ToShown(marks map[trie.MachineID]uint64) (*View, error) {
	if v.Phase != recovery.Ingest {
		return nil, fmt.Errorf("view: from %s to idle", v.Phase)
	}
	n := v.next()
	n.Phase = recovery.Idle
	n.countOn(marks)
	return n.finish()
}

// countOn raises the members' marks.
func (v *View) countOn(marks map[trie.MachineID]uint64) {
	for i := range v.Members {
		m := &v.Members[i]
		m.Mark = max(m.Mark, marks[m.ID])
	}
}

// validateLoads: numbers ascend and are less than NextLoad, ids are not empty and
// differ, and a load is ingested if the phase requires it.
func (v *View) validateLoads() error {
	ids := make(map[string]bool, len(v.Loads))
	for i, l := range v.Loads {
		if l.Number == 0 || l.Number >= v.NextLoad || i > 0 && v.Loads[i-1].Number >= l.Number || l.Epoch > v.Epoch {
			return fmt.Errorf("view: load %d, number %d in epoch %d, the next one would be %d", i, l.Number, l.Epoch, v.NextLoad)
		}
		if l.ID == "" || ids[l.ID] {
			return fmt.Errorf("view: load %d has the id %q", i, l.ID)
		}
		ids[l.ID] = true
	}
	if l := v.Ingesting(); v.Phase == recovery.Ingest && (l == nil || l.Epoch == 0) {
		return errors.New("view: phase ingest without a load")
	}
	return nil
}
