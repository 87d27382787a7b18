// Places under a joint view: who writes, reads, stamps and repairs.

package recovery

import (
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

type ids = []trie.MachineID

// layoutAt returns a layout on a ring in which each order is one segment, owned by
// the machine that is named for it: those of SPO, POS, OSP and GSPO.
func layoutAt(t *testing.T, ring ids, owners [4]trie.MachineID) Layout {
	t.Helper()
	p, err := trie.NewPlacement(ring, trie.PlacementOptions{Partitions: 64, VirtualNodes: 10, Load: 1.25})
	require.NoError(t, err)
	tr := trie.New(1, 0)
	for i, owner := range owners {
		id := uint64(triple.Orders[i])
		if i > 0 {
			if tr, err = tr.Split(id-1, []byte{byte(id)}, id); err != nil {
				t.Fatal(err)
			}
		}
		for partition := range uint32(64) {
			if p.PartitionOwner(partition) == owner {
				if tr, err = tr.Assign(id, partition); err != nil {
					t.Fatal(err)
				}
			}
		}
		if s, _ := tr.Get(id); p.Owner(s) != owner {
			t.Fatalf("machine %s owns no partition", owner)
		}
	}
	return Layout{Trie: tr, Placement: p}
}

func keyIn(o triple.Order, named bool) []byte {
	t := triple.Triple{Subject: triple.NewIRI("http://a/s"), Predicate: triple.NewIRI("http://a/p"), Object: triple.NewIRI("http://a/o")}
	if named {
		t.Graph = triple.NewIRI("http://a/g")
	}
	key, _ := triple.AppendKey(nil, o, t)
	return key
}

func version(m trie.MachineID, o triple.Order) Place { return Place{Machine: m, Order: o} }
func extra(m trie.MachineID) Place                   { return Place{Machine: m, Order: triple.SPO, Extra: true} }

// TestJoint: one triple in one joint view after the other.
func TestJoint(t *testing.T) {
	const none = trie.MachineID(0)
	spo, pos, osp, gspo := triple.SPO, triple.POS, triple.OSP, triple.GSPO
	tests := []struct {
		name              string
		baseRing, ring    ids
		base, target      [4]trie.MachineID
		phase             Phase
		named             bool
		members, baseLive ids
		writes            []Place
		sequencer         trie.MachineID
		readers           [4]trie.MachineID // none: dead
		repairer          trie.MachineID
		owes              map[trie.MachineID][]Place
	}{
		{
			name:     "idle",
			baseRing: ids{1, 2, 3}, ring: ids{1, 2, 3}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{1, 2, 3, 3},
			members: ids{1, 2, 3}, baseLive: ids{1, 2, 3},
			writes:    []Place{version(1, spo), version(2, pos), version(3, osp)},
			sequencer: 1, readers: [4]trie.MachineID{1, 2, 3, 3}, repairer: 3,
		},
		{
			name:     "a named graph has one more version, which is no copy",
			baseRing: ids{1, 2, 3}, ring: ids{1, 2, 3}, base: [4]trie.MachineID{1, 1, 2, 3}, target: [4]trie.MachineID{1, 1, 2, 3}, named: true,
			members: ids{1, 2, 3}, baseLive: ids{1, 2, 3},
			writes:    []Place{version(1, spo), version(1, pos), version(2, osp), version(3, gspo), extra(3)},
			sequencer: 1, readers: [4]trie.MachineID{1, 1, 2, 3}, repairer: 2,
		},
		{
			name:     "three machines, one dies: the lost order is rebuilt although all have the triple",
			baseRing: ids{1, 2, 3}, ring: ids{2, 3}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{2, 2, 3, 3}, phase: Fill,
			members: ids{2, 3}, baseLive: ids{2, 3},
			writes:    []Place{version(2, pos), version(3, osp), version(2, spo)},
			sequencer: 2, readers: [4]trie.MachineID{none, 2, 3, 3}, repairer: 3,
			owes: map[trie.MachineID][]Place{3: {version(2, spo)}},
		},
		{
			name:     "owners (1,1,3), 1 dies: the extra becomes a version",
			baseRing: ids{1, 2, 3}, ring: ids{2, 3}, base: [4]trie.MachineID{1, 1, 3, 3}, target: [4]trie.MachineID{2, 3, 3, 3}, phase: Fill,
			members: ids{2, 3}, baseLive: ids{2, 3},
			writes:    []Place{version(3, osp), extra(2), version(2, spo), version(3, pos)},
			sequencer: 2, readers: [4]trie.MachineID{none, none, 3, 3}, repairer: 3,
			owes: map[trie.MachineID][]Place{3: {version(2, spo), version(3, pos)}},
		},
		{
			name:     "a joiner gets its version from the owner, and its extra from the repairer",
			baseRing: ids{1, 2}, ring: ids{1, 2, 4}, base: [4]trie.MachineID{2, 1, 1, 1}, target: [4]trie.MachineID{2, 1, 1, 1}, phase: Fill,
			members: ids{1, 2, 4}, baseLive: ids{1, 2},
			writes:    []Place{version(2, spo), version(1, pos), version(1, osp), extra(4)},
			sequencer: 2, readers: [4]trie.MachineID{2, 1, 1, 1}, repairer: 1,
			owes: map[trie.MachineID][]Place{1: {extra(4)}},
		},
		{
			name:     "a joiner takes an order over: its owner sends it",
			baseRing: ids{1, 2, 3}, ring: ids{1, 2, 3, 4}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{1, 4, 3, 3}, phase: Fill,
			members: ids{1, 2, 3, 4}, baseLive: ids{1, 2, 3},
			writes:    []Place{version(1, spo), version(2, pos), version(3, osp), version(4, pos)},
			sequencer: 1, readers: [4]trie.MachineID{1, 2, 3, 3}, repairer: 2,
			owes: map[trie.MachineID][]Place{2: {version(4, pos)}},
		},
		{
			name:     "a machine that is no holder sends nothing and regenerates nothing, whatever is left on its disk",
			baseRing: ids{1, 2, 3, 4}, ring: ids{2, 3, 4}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{4, 2, 3, 3}, phase: Fill,
			members: ids{2, 3, 4}, baseLive: ids{2, 3, 4},
			writes:    []Place{version(2, pos), version(3, osp), version(4, spo)},
			sequencer: 4, readers: [4]trie.MachineID{none, 2, 3, 3}, repairer: 3,
			owes: map[trie.MachineID][]Place{3: {version(4, spo)}},
		},
		{
			name:     "back with an empty disk: a member that base does not count on",
			baseRing: ids{1, 2, 3}, ring: ids{1, 2, 3}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{1, 2, 3, 3}, phase: Fill,
			members: ids{1, 2, 3}, baseLive: ids{1, 3},
			writes:    []Place{version(1, spo), version(3, osp), version(2, pos)},
			sequencer: 1, readers: [4]trie.MachineID{1, none, 3, 3}, repairer: 3,
			owes: map[trie.MachineID][]Place{3: {version(2, pos)}},
		},
		{
			name:     "the owner of OSP repairs",
			baseRing: ids{1, 2, 3, 4}, ring: ids{1, 2, 4}, base: [4]trie.MachineID{3, 1, 4, 4}, target: [4]trie.MachineID{2, 1, 4, 4}, phase: Fill,
			members: ids{1, 2, 4}, baseLive: ids{1, 2, 4},
			writes:    []Place{version(1, pos), version(4, osp), version(2, spo)},
			sequencer: 2, readers: [4]trie.MachineID{none, 1, 4, 4}, repairer: 4,
			owes: map[trie.MachineID][]Place{4: {version(2, spo)}},
		},
		{
			name:     "serve: target is read and stamps, base is still written",
			baseRing: ids{1, 2, 3}, ring: ids{1, 2, 3, 4}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{4, 2, 3, 3}, phase: Serve,
			members: ids{1, 2, 3, 4}, baseLive: ids{1, 2, 3},
			writes:    []Place{version(1, spo), version(2, pos), version(3, osp), version(4, spo)},
			sequencer: 4, readers: [4]trie.MachineID{4, 2, 3, 3}, repairer: 1,
			owes: map[trie.MachineID][]Place{1: {version(4, spo)}},
		},
		{
			name:     "all holders dead",
			baseRing: ids{1, 2, 3, 4}, ring: ids{4}, base: [4]trie.MachineID{1, 2, 3, 3}, target: [4]trie.MachineID{4, 4, 4, 4}, phase: Fill,
			members: ids{4}, baseLive: ids{4},
			writes:    []Place{version(4, spo), version(4, pos), version(4, osp)},
			sequencer: 4,
		},
		{
			name:     "ingest: as idle",
			baseRing: ids{1, 2}, ring: ids{1, 2}, base: [4]trie.MachineID{1, 2, 2, 2}, target: [4]trie.MachineID{1, 2, 2, 2}, phase: Ingest,
			members: ids{1, 2}, baseLive: ids{1, 2},
			writes:    []Place{version(1, spo), version(2, pos), version(2, osp)},
			sequencer: 1, readers: [4]trie.MachineID{1, 2, 2, 2}, repairer: 2,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j := &Joint{Phase: test.phase, Members: test.members, BaseLive: test.baseLive, Base: layoutAt(t, test.baseRing, test.base)}
			j.Target = j.Base
			if test.phase == Fill || test.phase == Serve {
				j.Target = layoutAt(t, test.ring, test.target)
			}
			r := j.Resolver()
			require.NoError(t, r.Resolve(keyIn(triple.POS, test.named)))
			if got := r.Writes(); !slices.Equal(got, test.writes) {
				t.Errorf("writes %v, want %v", got, test.writes)
			}
			if m, ok := r.Sequencer(); m != test.sequencer || ok != (test.sequencer != none) {
				t.Errorf("sequencer %s, %v, want %s", m, ok, test.sequencer)
			}
			if m, ok := r.Repairer(); m.Machine != test.repairer || ok != (test.repairer != none) {
				t.Errorf("repairer %v, %v, want %s", m, ok, test.repairer)
			}
			for i, o := range triple.Orders {
				m, ok := j.Reader(keyIn(o, true))
				if ok != (test.readers[i] != none) || ok && m != test.readers[i] {
					t.Errorf("reader of %s: %s, %v, want %s", o, m, ok, test.readers[i])
				}
			}
			for m := trie.MachineID(1); m <= 5; m++ {
				if got := r.OwedPlaces(m); !slices.Equal(got, test.owes[m]) {
					t.Errorf("machine %s owes %v, want %v", m, got, test.owes[m])
				}
			}
		})
	}
}

func TestPhaseNames(t *testing.T) {
	if got := fmt.Sprint(Idle, Fill, Serve, Ingest, Phase(9)); got != "idle fill serve ingest unknown" {
		t.Error(got)
	}
}
