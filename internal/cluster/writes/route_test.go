// Routes with the most holders.

package writes

import (
	"maps"
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

// A record goes to all machines of a batch, and to those of its own triple if the batch has nothing else.
func TestSplitSendsRecordsToAll(t *testing.T) {
	add, record := replica.Operation{Kind: store.OperationAdd}, replica.Operation{Kind: store.OperationRecord}
	sets := []holders{{1, 2}, {2, 3}}
	for _, test := range []struct {
		operations []replica.Operation
		of         []uint32
		want       map[trie.MachineID]int
	}{
		{[]replica.Operation{add, add, record}, []uint32{0, 1, 0}, map[trie.MachineID]int{1: 2, 2: 3, 3: 2}},
		{[]replica.Operation{record}, []uint32{1}, map[trie.MachineID]int{2: 1, 3: 1}},
		{[]replica.Operation{add, record}, []uint32{0, 1}, map[trie.MachineID]int{1: 2, 2: 2, 3: 1}},
	} {
		got := map[trie.MachineID]int{}
		for m, operations := range split(test.operations, sets, test.of) {
			got[m] = len(operations)
			if operations[len(operations)-1].Kind != store.OperationRecord {
				t.Errorf("machine %d has no record", m)
			}
		}
		if !maps.Equal(got, test.want) {
			t.Errorf("%v, want %v", got, test.want)
		}
	}
}
