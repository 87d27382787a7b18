// The view under which one of two machines may answer reads by itself.

package view

import (
	"maps"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// NeedsAnswer reports whether every write under v needs the answer of this incarnation of a
// machine. That is so if the machine is in base and each triple is on all machines of base.
func (v *View) NeedsAnswer(id trie.MachineID, incarnation uint64) bool {
	return v.Has(id, incarnation) && v.BaseIncarnations[id] == incarnation &&
		v.Base.Required() == len(v.Base.Placement.Machines())
}

// SoleView returns the view under which a machine reads if the other one of two does not
// answer: v with that one lost from base. It has the same epoch and is never agreed on. ok
// is false if v does not have two members, is changing, or may have triples that the machine
// lacks.
func (v *View) SoleView(id trie.MachineID, incarnation uint64) (_ *View, other trie.MachineID, ok bool) {
	if len(v.Members) != 2 || v.Phase != recovery.Idle || !v.NeedsAnswer(id, incarnation) {
		return nil, 0, false
	}
	if m := v.Find(id); m.Waits || m.State != Up {
		return nil, 0, false
	}
	for _, m := range v.Members {
		if m.ID != id {
			other = m.ID
		}
	}
	next := *v
	next.BaseIncarnations = maps.Clone(v.BaseIncarnations)
	delete(next.BaseIncarnations, other)
	next.prepare()
	return &next, other, true
}
