// Where a triple must be: its versions and its extra replicas, under a layout.

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

// The number of copies that a cluster may choose. One copy is no choice, because a
// single loss would lose data. More than five cost more than they protect.
const (
	MinCopies     = 2
	MaxCopies     = 5
	DefaultCopies = 3
)

// versions is how many orders every triple is kept in: SPO, POS and OSP.
const versions = 3

// Layout is what slots are computed from.
type Layout struct {
	// Trie and Placement map every key to a machine.
	Trie      *trie.Trie
	Placement *trie.Placement
	// Copies is the least number of distinct machines that hold a triple, if there
	// are so many: MinCopies to MaxCopies. 0 means DefaultCopies.
	Copies int
}

// Required returns how many distinct machines hold each triple at least: Copies, or
// all machines of the placement if they are fewer.
func (l Layout) Required() int {
	n := l.Copies
	if n == 0 {
		n = DefaultCopies
	}
	return min(n, len(l.Placement.Machines()))
}

// Slots returns the slots of the triple that a key, of any order, is a version
// of: the machines of its versions, in the order of [triple.Orders], then the
// extra replicas. They are a function of the layout and the triple, never stored.
// The error wraps [triple.ErrCorrupt].
//
// A triple is on [Layout.Required] distinct machines or more, GSPO not counted. If
// SPO, POS and OSP have fewer owners, extras fill the gap. They are on the machines
// that follow clockwise after the owner of most of the three (of SPO, if no machine
// owns more than one, or one owns all), with owners skipped. With two copies a triple
// may still be on three machines, because three machines may own its versions.
func (l Layout) Slots(key []byte) ([]Slot, error) {
	versions, err := Versions(key, nil)
	if err != nil {
		return nil, err
	}
	slots := make([]Slot, 0, len(triple.Orders)+MaxCopies-1)
	for v := range versions {
		owner := l.Placement.Owner(l.Trie.Lookup(v.Key))
		slots = append(slots, Slot{Machine: owner, Order: v.Order})
	}
	return l.appendExtras(slots), nil
}

// appendExtras appends the extra replicas to the versions' slots, which are in
// the order of [triple.Orders].
func (l Layout) appendExtras(slots []Slot) []Slot {
	owners := [versions]trie.MachineID{slots[0].Machine, slots[1].Machine, slots[2].Machine}
	for extra := range l.extras(owners) {
		slots = append(slots, Slot{Machine: extra, Order: triple.SPO, Extra: true})
	}
	return slots
}

// extras returns the machines that keep an extra replica of a triple whose SPO,
// POS and OSP versions have these owners.
func (l Layout) extras(owners [versions]trie.MachineID) iter.Seq[trie.MachineID] {
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
		required := l.Required()
		for machine := range l.Placement.Machines().After(from) {
			if distinct >= required {
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
// whose SPO, POS and OSP versions have these owners.
func (l Layout) Extras(spo, pos, osp trie.MachineID) []trie.MachineID {
	return slices.Collect(l.extras([versions]trie.MachineID{spo, pos, osp}))
}
