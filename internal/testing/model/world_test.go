// The small worlds that are explored: real triples, a real trie
// with bounds between them, real placements and the slots that package recovery
// computes from these.

package model

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Limits of a world. States are arrays of these sizes.
const (
	maxMachines = 5
	maxTriples  = 3
	maxOps      = 8
	maxViews    = 16
)

// Kinds of rows: the version in each order, and the extra replica.
const (
	spo = iota
	pos
	osp
	extra
	kinds
)

var kindNames = [kinds]string{"SPO", "POS", "OSP", "extra"}

// machineID returns the ID of machine i. They are in the ring's order.
func machineID(i int) trie.MachineID { return trie.MachineID(10 * (i + 1)) }

// set is a set of machines, or of triples.
type set uint8

func setOf(members ...int) (s set) {
	for _, i := range members {
		s |= 1 << i
	}
	return s
}

func (s set) has(i int) bool { return s>>i&1 == 1 }
func (s set) len() int       { return bits.OnesCount8(uint8(s)) }

// String names the machines of a set.
func (s set) String() string {
	var names []string
	for m := range 8 {
		if s.has(m) {
			names = append(names, fmt.Sprintf("M%d", m+1))
		}
	}
	return strings.Join(names, " and ")
}

// owners says which machine owns the versions of a triple: SPO, POS, OSP.
type owners [3]int

// A layout is one placement of the world's triples.
type layout struct {
	holders set // the ring: machines that may own something
	// slots says which kinds of rows machine m must have of triple x: bit k of
	// slots[x][m] is kind k.
	slots [maxTriples][maxMachines]uint8
	owner [maxTriples]owners
}

// holdersOf returns the machines that hold triple x.
func (l *layout) holdersOf(x int) (s set) {
	for m, k := range l.slots[x] {
		if k != 0 {
			s |= 1 << m
		}
	}
	return s
}

// A world is what a run cannot change: how many machines and triples there are,
// and the placements that views may name.
type world struct {
	machines, triples int
	layouts           []layout
}

// newWorld makes a world of so many machines. Each placement gives its ring and
// who owns the versions of each triple.
func newWorld(machines, triples int, rules Rules, placements ...placement) *world {
	w := &world{machines: machines, triples: triples}
	keys := w.keys()
	t, partitions := w.trie(keys)
	for _, p := range placements {
		var owner []int
		for k := range 3 {
			for x := range triples {
				owner = append(owner, p.owners[x][k])
			}
		}
		w.layouts = append(w.layouts, w.layout(recovery.Layout{Trie: t, Placement: tableOf(p.ring, owner, partitions)}, p.ring, keys, rules))
	}
	return w
}

// placement is a ring and the owners of each triple's versions.
type placement struct {
	ring   set
	owners []owners
}

// keys returns the keys of each triple in each order. All are of the default
// graph; they ascend in every order.
func (w *world) keys() [][3][]byte {
	keys := make([][3][]byte, w.triples)
	for x := range keys {
		t := triple.Triple{
			Subject:   triple.NewIRI(fmt.Sprintf("urn:s%d", x)),
			Predicate: triple.NewIRI(fmt.Sprintf("urn:p%d", x)),
			Object:    triple.NewIRI(fmt.Sprintf("urn:o%d", x)),
		}
		for k, order := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			keys[x][k], _ = triple.AppendKey(nil, order, t)
		}
	}
	return keys
}

// trie returns a trie in which every key has a segment and a partition of its
// own, the partitions numbered in the order of the keys.
func (w *world) trie(keys [][3][]byte) (*trie.Trie, int) {
	t, partitions := trie.New(1, 0), 0
	for k := range 3 {
		for x := range keys {
			if k+x > 0 {
				id := uint64(partitions + 1)
				t = must(t.Split(id-1, keys[x][k], id))
				t = must(t.Assign(id, uint32(partitions)))
			}
			partitions++
		}
	}
	return t, partitions
}

// layout asks package recovery for the slots of every triple.
func (w *world) layout(from recovery.Layout, ring set, keys [][3][]byte, rules Rules) layout {
	l := layout{holders: ring}
	for x := range keys {
		slots := must(from.Places(keys[x][spo]))
		if rules.ExtraIsGreatestPlusOne {
			slots = greatestPlusOne(slots[:3], from.Placement.Machines())
		}
		for i, slot := range slots {
			m, k := int(slot.Machine)/10-1, i
			if slot.Extra {
				k = extra
			} else {
				l.owner[x][i] = m
			}
			l.slots[x][m] |= 1 << k
		}
	}
	return l
}

// greatestPlusOne is the scheme's original rule for two equal owners, which the
// protocol gave up.
func greatestPlusOne(slots []recovery.Place, ring trie.Ring) []recovery.Place {
	distinct := trie.NewRing(slots[0].Machine, slots[1].Machine, slots[2].Machine)
	slots = append([]recovery.Place(nil), slots...)
	at := distinct[len(distinct)-1]
	for range 3 - len(distinct) {
		at = ring.Next(at)
		slots = append(slots, recovery.Place{Machine: at, Extra: true})
	}
	return slots
}

// tableOf returns a placement with partition i owned by owner[i]. It is made through the encoding,
// because no function makes tables other than by hashing.
func tableOf(ring set, owner []int, partitions int) *trie.Placement {
	b := []byte("tfPL\x01")
	b = binary.AppendUvarint(b, uint64(ring.len()))
	rank := map[int]int{}
	for m := range maxMachines {
		if ring.has(m) {
			rank[m] = len(rank)
			b = binary.BigEndian.AppendUint64(b, uint64(machineID(m)))
		}
	}
	b = binary.AppendUvarint(b, uint64(partitions))
	for _, m := range owner {
		at, ok := rank[m]
		if !ok {
			panic(fmt.Sprintf("machine %d owns something and is not on the ring", m))
		}
		b = binary.AppendUvarint(b, uint64(at))
	}
	return must(trie.ParsePlacement(binary.BigEndian.AppendUint64(b, xxhash.Sum64(b))))
}

// hashed adds the placement that consistent hashing computes for a ring.
func (w *world) hashed(ring set, rules Rules) {
	keys := w.keys()
	t, partitions := w.trie(keys)
	var ids []trie.MachineID
	for m := range w.machines {
		if ring.has(m) {
			ids = append(ids, machineID(m))
		}
	}
	p := must(trie.NewPlacement(ids, trie.PlacementOptions{Partitions: partitions, VirtualNodes: 10, Load: 2}))
	w.layouts = append(w.layouts, w.layout(recovery.Layout{Trie: t, Placement: p}, ring, keys, rules))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
