// Routes with the most holders.

package writes

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// With the most copies, and a target on other machines than base, every machine of both that
// has a place of a triple of a named graph is in its route.
func TestRouteWithMostHolders(t *testing.T) {
	v := &view.View{Cluster: "test", ClusterID: "1", Generation: 1, Epoch: 1, Phase: recovery.Fill, NextSegment: 1 << 20, BaseIncarnations: map[trie.MachineID]uint64{}}
	ringOf := func(first trie.MachineID) (ring [recovery.MaxCopies + 1]trie.MachineID) {
		for i := range ring {
			ring[i] = first + trie.MachineID(i)
			v.Members = append(v.Members, view.Member{ID: ring[i], Incarnation: 1, Address: "mem", State: view.Up})
		}
		return ring
	}
	base, target := ringOf(1), ringOf(11)
	// SPO, POS and OSP have three owners, GSPO has the last machine of the ring.
	v.Base = layoutOf(t, base[:], [4]trie.MachineID{base[0], base[1], base[2], base[5]})
	v.Target = layoutOf(t, target[:], [4]trie.MachineID{target[0], target[1], target[2], target[5]})
	v.Base.Copies, v.Target.Copies = recovery.MaxCopies, recovery.MaxCopies
	for _, m := range base {
		v.BaseIncarnations[m] = 1
	}
	tr := fact(1)
	tr.Graph = triple.NewIRI("urn:graph")
	r, err := newRoute(made(t, v), base[0], []replica.Operation{{Kind: store.OperationAdd, Key: keyOf(triple.SPO, tr)}})
	if err != nil {
		t.Fatal(err)
	}
	holders := map[trie.MachineID]bool{}
	for _, m := range r.sets[0] {
		holders[m] = true
	}
	if len(holders) != maxHolders || holders[0] {
		t.Errorf("%d holders, want %d: %v", len(holders), maxHolders, r.sets[0])
	}
}
