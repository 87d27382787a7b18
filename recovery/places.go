// The places of a triple under a layout: its rows and its extra replicas.

package recovery

import (
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Place is one required copy of a triple: a row of an order, or an extra replica, on a machine.
type Place struct {
	Machine trie.MachineID
	// Order is the order of the row. If Extra is true, it is SPO, and the row is in the
	// replica table of the machine.
	Order triple.Order
	Extra bool
}

// fullOrders is the number of orders with a row of every triple: SPO, POS and OSP.
const fullOrders = 3

// Layout maps triples to places.
type Layout struct {
	// Trie and Placement map every key to a machine.
	Trie      *trie.Trie
	Placement *trie.Placement
	// Copies is how many distinct machines hold a triple at least, MinCopies to MaxCopies. 0
	// means DefaultCopies. See Required for small clusters.
	Copies int
}

// Places returns the places of a triple, of which key is a row in any order. The rows come
// first, in the sequence of [triple.Orders], then the extra replicas. Places follow from the
// layout and the triple, so they are never stored. The error wraps [triple.ErrCorrupt].
//
// A triple is on [Layout.Required] distinct machines or more; GSPO does not count. If SPO, POS
// and OSP have fewer owners, extra replicas fill the gap. They are on the machines that follow
// clockwise after the owner of most of the three, and owners are skipped. If no machine owns
// exactly two, they follow the owner of SPO. With two copies a triple may still be on three
// machines, because three machines may own its rows.
func (l Layout) Places(key []byte) ([]Place, error) {
	versions, err := Versions(key, nil)
	if err != nil {
		return nil, err
	}
	places := make([]Place, 0, len(triple.Orders)+MaxCopies-1)
	for v := range versions {
		owner := l.Placement.Owner(l.Trie.Lookup(v.Key))
		places = append(places, Place{Machine: owner, Order: v.Order})
	}
	return l.appendExtras(places), nil
}

// appendExtras appends the extra replicas to the places of the rows, which must be in the
// sequence of [triple.Orders].
func (l Layout) appendExtras(places []Place) []Place {
	owners := [fullOrders]trie.MachineID{places[0].Machine, places[1].Machine, places[2].Machine}
	for extra := range l.extras(owners) {
		places = append(places, Place{Machine: extra, Order: triple.SPO, Extra: true})
	}
	return places
}

// extras returns the machines that keep an extra replica of a triple, if its rows in SPO, POS
// and OSP have these owners.
func (l Layout) extras(owners [fullOrders]trie.MachineID) iter.Seq[trie.MachineID] {
	return func(yield func(trie.MachineID) bool) {
		// 1. Count the distinct owners, and find the owner of two of the rows.
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
		// 2. Walk clockwise from that owner until enough machines hold the triple.
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

// Extras returns the machines with an extra replica of a triple, clockwise, if its rows in SPO,
// POS and OSP have these owners.
func (l Layout) Extras(spo, pos, osp trie.MachineID) []trie.MachineID {
	return slices.Collect(l.extras([fullOrders]trie.MachineID{spo, pos, osp}))
}
