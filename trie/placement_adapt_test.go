// Tests of placements as machines come and go.

package trie

import (
	"math/rand/v2"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// Machines come and go one by one and several at a time. Only necessary partitions may move, and
// no machine may get more than the bound.
func TestAdapt(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var ids []MachineID
	for range 12 {
		ids = append(ids, MachineID(r.Uint64()|1))
	}
	now := ids[:1]
	p, err := NewPlacement(now, PlacementOptions{})
	require.NoError(t, err)
	for range 30 {
		next := NewRing(ids...)
		r.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		next = next[:1+r.IntN(len(next))]
		q, err := p.Adapt(next, PlacementOptions{})
		require.NoError(t, err)
		checkAdapted(t, p, q, NewRing(next...))
		p = q
	}
}

func checkAdapted(t *testing.T, p, q *Placement, machines Ring) {
	t.Helper()
	if !equalRings(q.Machines(), machines) || q.Partitions() != p.Partitions() {
		t.Fatalf("machines %v and %d partitions, not %v and %d", q.Machines(), q.Partitions(), machines, p.Partitions())
	}
	count := map[MachineID]int{}
	moved, must := 0, 0
	for i := range uint32(p.Partitions()) {
		from, to := p.PartitionOwner(i), q.PartitionOwner(i)
		count[to]++
		if from != to {
			moved++
		}
		if !machines.Contains(from) {
			must++
		}
	}
	share := p.Partitions() / len(machines)
	for _, m := range machines {
		before := owned(p, m)
		if most := max(before, share*21/20+2); count[m] > most || count[m] < min(before, share) {
			t.Errorf("machine %s has %d of %d partitions, %d machines; %d before", m, count[m], p.Partitions(), len(machines), before)
		}
		if p.Machines().Contains(m) {
			continue
		}
		if count[m] < share {
			t.Errorf("machine %s is new and has %d of %d partitions, %d machines", m, count[m], p.Partitions(), len(machines))
		}
		must += share
	}
	if moved > must {
		t.Errorf("%d partitions move, %d at most have to", moved, must)
	}
}

func owned(p *Placement, m MachineID) (n int) {
	for i := range uint32(p.Partitions()) {
		if p.PartitionOwner(i) == m {
			n++
		}
	}
	return n
}

func equalRings(a, b Ring) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Five machines become six: a sixth moves, all of it to the new one.
func TestAdaptGrows(t *testing.T) {
	ids := []MachineID{11, 22, 33, 44, 55, 66}
	five, err := NewPlacement(ids[:5], PlacementOptions{})
	require.NoError(t, err)
	six, err := five.Adapt(ids, PlacementOptions{})
	require.NoError(t, err)
	moved := 0
	for i := range uint32(five.Partitions()) {
		if from, to := five.PartitionOwner(i), six.PartitionOwner(i); from != to {
			moved++
			if to != 66 {
				t.Fatalf("partition %d goes from %s to %s", i, from, to)
			}
		}
	}
	if moved != five.Partitions()/6 {
		t.Errorf("%d of %d partitions move", moved, five.Partitions())
	}
}
