// Helpers of the tests of deliveries, fills and sweeps.

package replica

import (
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// idle returns the joint of a layout that all machines have.
func idle(l recovery.Layout) *recovery.Joint {
	return &recovery.Joint{Base: l, Target: l, Members: l.Placement.Machines(), BaseLive: l.Placement.Machines()}
}

// operation returns an operation on a triple.
func operation(kind store.OperationKind, tr triple.Triple, epoch, sequence uint64) Operation {
	o := Operation{Kind: kind, Stamp: triple.Stamp{Epoch: epoch, Sequence: sequence}}
	var long bool
	o.Key, long = triple.AppendKey(nil, triple.SPO, tr)
	if long && kind == store.OperationAdd {
		o.Long = triple.AppendValue(nil, triple.Stamp{}, tr)
	}
	return o
}

// operations returns operations of one kind, with stamps from (epoch, first) on.
func operations(kind store.OperationKind, epoch, first uint64, triples ...triple.Triple) []Operation {
	var all []Operation
	for i, tr := range triples {
		all = append(all, operation(kind, tr, epoch, first+uint64(i)))
	}
	return all
}

// origin returns a batch of a machine with a small number.
func origin(machine trie.MachineID, incarnation, batch uint64) Origin {
	return Origin{Sequencer: machine, Incarnation: incarnation, Batch: batch}
}

func deliver(t testing.TB, s *Store, j *recovery.Joint, d Delivery) {
	t.Helper()
	require.NoError(t, s.Deliver(ctx, &d, j))
}

// held is a row in a table.
type held struct {
	stamp      triple.Stamp
	dead, note bool
}

// heldRows returns the rows of both tables by their Pebble keys.
func heldRows(t testing.TB, s *Store) map[string]held {
	t.Helper()
	sn, err := s.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	rows := map[string]held{}
	for _, table := range []byte{keyspace.Storage, keyspace.Replica} {
		for row, err := range sn.Raw(ctx, table, triple.Range{}) {
			require.NoError(t, err)
			stamp, err := rowStamp(row.Value)
			require.NoError(t, err)
			rows[string(table)+string(row.Key)] = held{stamp, triple.IsTombstone(row.Value), triple.IsAnnotation(row.Value)}
		}
	}
	return rows
}

// slotKeys returns the Pebble keys of a machine's rows of a triple.
func slotKeys(t testing.TB, l recovery.Layout, machine trie.MachineID, spo []byte) []string {
	t.Helper()
	slots, err := l.Places(spo)
	require.NoError(t, err)
	var keys []string
	for _, slot := range slots {
		if slot.Machine != machine {
			continue
		}
		table := []byte{keyspace.Storage}
		if slot.Extra {
			table[0] = keyspace.Replica
		}
		key, ok, err := recovery.AppendVersion(table, slot.Order, spo)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		keys = append(keys, string(key))
	}
	return keys
}

// sameRows fails the test if rows differ from the wanted ones.
func sameRows(t testing.TB, got, want map[string]held) {
	t.Helper()
	for key, row := range want {
		if got[key] != row {
			t.Fatalf("row %q: %+v, want %+v", key, got[key], row)
		}
	}
	for key, row := range got {
		if _, ok := want[key]; !ok {
			t.Fatalf("row %q: %+v should not be there", key, row)
		}
	}
}

// exact returns the range of one triple in an order.
func exact(t testing.TB, o triple.Order, tr triple.Triple) triple.Range {
	t.Helper()
	scan, err := triple.Exact(tr).Scan(o)
	require.NoError(t, err)
	return scan.Range
}

// unsettledIn fails the test unless these batches are in flight in r.
func unsettledIn(t testing.TB, s *Store, r triple.Range, want ...Origin) {
	t.Helper()
	if got := s.InFlight(r, nil); !slices.Equal(got, want) {
		t.Fatalf("unsettled in %q: %v, want %v", fmt.Sprint(r), got, want)
	}
}
