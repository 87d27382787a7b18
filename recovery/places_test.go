// The places of a triple: on distinct machines, one for each copy.

package recovery

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

func TestExtras(t *testing.T) {
	const last = ^trie.MachineID(0)
	ring := func(ids ...trie.MachineID) trie.Ring { return trie.NewRing(ids...) }
	tests := []struct {
		name   string
		owners [3]trie.MachineID
		ring   trie.Ring
		want   []trie.MachineID
		copies int // 0 is three
	}{
		{"three owners", [3]trie.MachineID{10, 20, 30}, ring(10, 20, 30, 40), nil, 0},
		{"all one: the next two", [3]trie.MachineID{10, 10, 10}, ring(10, 20, 30, 40), []trie.MachineID{20, 30}, 0},
		{"all one, across the end", [3]trie.MachineID{40, 40, 40}, ring(10, 20, 30, 40), []trie.MachineID{10, 20}, 0},
		{"all one, one step to the end", [3]trie.MachineID{30, 30, 30}, ring(10, 20, 30, 40), []trie.MachineID{40, 10}, 0},
		{"two of the first", [3]trie.MachineID{10, 10, 30}, ring(10, 20, 30, 40), []trie.MachineID{20}, 0},
		{"two of the first, the third follows", [3]trie.MachineID{10, 10, 20}, ring(10, 20, 30, 40), []trie.MachineID{30}, 0},
		{"two of the last", [3]trie.MachineID{10, 40, 40}, ring(10, 20, 30, 40), []trie.MachineID{20}, 0},
		{"spo and osp alike", [3]trie.MachineID{30, 10, 30}, ring(10, 20, 30, 40), []trie.MachineID{40}, 0},
		{"pos and osp alike", [3]trie.MachineID{20, 30, 30}, ring(10, 20, 30, 40), []trie.MachineID{40}, 0},
		{"ring of three, wraps past the owner", [3]trie.MachineID{10, 10, 30}, ring(10, 20, 30), []trie.MachineID{20}, 0},
		{"ring of three, greatest twice", [3]trie.MachineID{30, 30, 10}, ring(10, 20, 30), []trie.MachineID{20}, 0},
		{"greatest id of all", [3]trie.MachineID{last, last, last}, ring(1, 2, last), []trie.MachineID{1, 2}, 0},
		{"two machines, one owner", [3]trie.MachineID{10, 10, 10}, ring(10, 20), []trie.MachineID{20}, 0},
		{"two machines, both owners", [3]trie.MachineID{10, 20, 10}, ring(10, 20), nil, 0},
		{"one machine", [3]trie.MachineID{10, 10, 10}, ring(10), nil, 0},
		{"two copies, all one: the next one", [3]trie.MachineID{40, 40, 40}, ring(10, 20, 30, 40), []trie.MachineID{10}, 2},
		{"two copies, two owners: none", [3]trie.MachineID{10, 10, 40}, ring(10, 20, 30, 40), nil, 2},
		{"two copies, three owners: none", [3]trie.MachineID{10, 20, 40}, ring(10, 20, 30, 40), nil, 2},
		{"four copies, three owners: after that of SPO", [3]trie.MachineID{20, 10, 30}, ring(10, 20, 30, 40), []trie.MachineID{40}, 4},
		{"five copies, all one", [3]trie.MachineID{30, 30, 30}, ring(10, 20, 30, 40, 50, 60), []trie.MachineID{40, 50, 60, 10}, 5},
		{"five copies, four machines: all", [3]trie.MachineID{30, 10, 10}, ring(10, 20, 30, 40), []trie.MachineID{20, 40}, 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := trie.NewPlacement(test.ring, trie.PlacementOptions{Partitions: 16, VirtualNodes: 10, Load: 1.25})
			require.NoError(t, err)
			l := Layout{Placement: p, Copies: test.copies}
			if got := l.Extras(test.owners[0], test.owners[1], test.owners[2]); !slices.Equal(got, test.want) {
				t.Errorf("%d copies, extras of %v on %v: %v, want %v", test.copies, test.owners, test.ring, got, test.want)
			}
		})
	}
}

// layoutOf returns a layout of so many machines with segments split everywhere.
func layoutOf(t *rapid.T, machines int) Layout {
	ids := rapid.SliceOfNDistinct(rapid.Uint64Min(1), machines, machines, rapid.ID[uint64]).Draw(t, "machines")
	var ring []trie.MachineID
	for _, id := range ids {
		ring = append(ring, trie.MachineID(id))
	}
	return layoutOn(t, ring)
}

// layoutOn is layoutOf on given machines.
func layoutOn(t *rapid.T, machines []trie.MachineID) Layout {
	const partitions = 96
	placement, err := trie.NewPlacement(machines, trie.PlacementOptions{Partitions: partitions, VirtualNodes: 10, Load: 1.25})
	require.NoError(t, err)
	tr := trie.New(1, 0)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed of the segments"), 0))
	for i := uint64(2); i < 40; i++ {
		at := fmt.Appendf(nil, "%c\x20http://example.org/%c", 1+random.IntN(4), 'a'+random.IntN(4))
		segment := tr.Lookup(at)
		if string(segment.Lo) == string(at) {
			continue
		}
		if tr, err = tr.Split(segment.ID, at, i); err != nil {
			t.Fatal(err)
		}
		if tr, err = tr.Assign(i, trie.HashPartition(i, partitions)); err != nil {
			t.Fatal(err)
		}
	}
	return Layout{Trie: tr, Placement: placement, Copies: rapid.IntRange(MinCopies, MaxCopies).Draw(t, "copies")}
}

func TestPlacesKeepCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.IntRange(1, 6).Draw(t, "number of machines")
		layout := layoutOf(t, machines)
		tr := anyTriple(t)
		var first []Place
		for _, o := range triple.Orders {
			key, _ := triple.AppendKey(nil, o, tr)
			if len(key) == 0 {
				continue
			}
			places, err := layout.Places(key)
			require.NoError(t, err)
			if first == nil {
				first = places
			}
			if !slices.Equal(places, first) {
				t.Fatalf("places %v from %s, %v from spo", places, o, first)
			}
		}
		holders := map[trie.MachineID]int{}
		for _, place := range first {
			if place.Order != triple.GSPO {
				holders[place.Machine]++
			}
			if !place.Extra {
				key, _ := triple.AppendKey(nil, place.Order, tr)
				if owner := layout.Placement.Owner(layout.Trie.Lookup(key)); owner != place.Machine {
					t.Fatalf("place %v, owner %v", place, owner)
				}
			} else if holders[place.Machine] != 1 {
				t.Fatalf("an extra on a holder: %v", first)
			}
		}
		// Two copies may be three: each of the versions may be on a machine of its own.
		if n := len(holders); n < min(layout.Copies, machines) || n > min(max(3, layout.Copies), machines) {
			t.Fatalf("%d holders of %d machines, of %d copies: %v", n, machines, layout.Copies, first)
		}
	})
}
