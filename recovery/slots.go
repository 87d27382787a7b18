package recovery

import (
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Slot is one place that must hold a triple: a version on a machine.
type Slot struct {
	Machine trie.MachineID
	// Order is which version; an extra replica is one of SPO, in the machine's
	// replica table.
	Order triple.Order
	Extra bool
}

// copies is on how many distinct machines a triple is, where there are as many.
const copies = 3

// Layout is what slots are computed from: where every key is.
type Layout struct {
	Trie      *trie.Trie
	Placement *trie.Placement
}

// Slots returns the slots of the triple that a key, of any order, is a version
// of: the machines of its versions, in the order of [triple.Orders], then the
// extra replicas. They are a function of the layout and the triple, never stored.
// The error wraps [triple.ErrCorrupt].
//
// A triple is on min(3, members) distinct machines, GSPO not counted. Where the
// owners of SPO, POS and OSP are fewer, extras make up for it: on the machines
// that follow clockwise on the owner of most of the three (of SPO, where all are
// one), owners passed over.
func (l Layout) Slots(key []byte) ([]Slot, error) {
	versions, err := Versions(key, nil)
	if err != nil {
		return nil, err
	}
	slots := make([]Slot, 0, len(triple.Orders)+copies-1)
	for v := range versions {
		owner := l.Placement.Owner(l.Trie.Lookup(v.Key))
		slots = append(slots, Slot{Machine: owner, Order: v.Order})
	}
	return appendExtras(slots, l.Placement.Machines()), nil
}

// appendExtras appends the extra replicas to the versions' slots, which are in
// the order of [triple.Orders].
func appendExtras(slots []Slot, ring trie.Ring) []Slot {
	owners := [copies]trie.MachineID{slots[0].Machine, slots[1].Machine, slots[2].Machine}
	for extra := range extras(owners, ring) {
		slots = append(slots, Slot{Machine: extra, Order: triple.SPO, Extra: true})
	}
	return slots
}

// extras returns the machines that keep an extra replica of a triple whose SPO,
// POS and OSP versions have these owners.
func extras(owners [copies]trie.MachineID, ring trie.Ring) iter.Seq[trie.MachineID] {
	return func(yield func(trie.MachineID) bool) {
		distinct, from := 1, owners[0]
		if owners[1] != owners[0] {
			distinct++
		}
		if owners[2] != owners[0] && owners[2] != owners[1] {
			distinct++
		}
		if owners[1] == owners[2] {
			from = owners[1] // the owner of two, or of all three
		}
		for machine := range ring.After(from) {
			if distinct >= copies {
				return
			}
			if machine == owners[0] || machine == owners[1] || machine == owners[2] {
				continue
			}
			if !yield(machine) {
				return
			}
			distinct++
		}
	}
}

// Extras returns the machines, clockwise, that keep an extra replica of a triple
// whose SPO, POS and OSP versions have these owners, under a placement on ring.
func Extras(spo, pos, osp trie.MachineID, ring trie.Ring) []trie.MachineID {
	return slices.Collect(extras([copies]trie.MachineID{spo, pos, osp}, ring))
}
