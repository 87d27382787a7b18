// Tests of the sweep.

package replica

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A sweep leaves only the rows of the machine's places, and the counters agree.
func TestSweep(t *testing.T) {
	rng := random(t)
	for others := range 5 {
		fs := memdisk.New()
		s := openMem(t, store.Options{FS: fs})
		require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
		triples := append(students(0, 400), draws(rng, 200)...)
		ops := operations(store.OperationAdd, 2, 1, triples...)
		deliver(t, s, idle(sample.Layout(t, s, 0)), Delivery{Origin: origin(7, 1, 1), Operations: ops})
		deliver(t, s, idle(sample.Layout(t, s, 0)), Delivery{Origin: origin(7, 1, 2), Operations: operations(store.OperationDelete, 3, 1, triples[:50]...)})
		var replicas []FillRow
		for _, o := range ops {
			replicas = append(replicas, fillRow(keyspace.Replica, o))
		}
		fill(t, s, replicas...)
		var notes []FillRow
		for _, o := range ops[100:150] {
			for _, row := range append(fillOf(t, o), fillRow(keyspace.Replica, o)) {
				notes = append(notes, FillRow{Table: row.Table, Key: triple.AppendAnnotationKey(nil, row.Key, "app"),
					Value: triple.AppendAnnotation(nil, o.Stamp, nil)})
			}
		}
		fill(t, s, notes...)

		l := sample.Layout(t, s, others, append(draws(rng, 20), students(100, 130)...)...)
		rows, want := heldRows(t, s), map[string]held{}
		for _, o := range ops {
			for _, key := range slotKeys(t, l, s.MachineID(), o.Key) {
				note := string(triple.AppendAnnotationKey(nil, []byte(key), "app"))
				want[key] = rows[key]
				if row, ok := rows[note]; ok && l.Placement.Owner(l.Trie.Lookup([]byte(note)[1:])) == s.MachineID() || ok && note[0] == keyspace.Replica {
					want[note] = row
				}
			}
		}
		require.NoError(t, s.Sweep(ctx, l))
		sameRows(t, heldRows(t, s), want)
		r := checked(t, s)
		if st := s.Status(); st.Triples != r.Triples || st.Annotations != r.Annotations {
			t.Errorf("counted %d and %d, checked %+v", st.Triples, st.Annotations, r)
		}
		if others > 0 && len(want) == len(rows) {
			t.Error("not a test")
		}
		after := openMem(t, store.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{}), Member: true})
		sameRows(t, heldRows(t, after), want)
		groups := commits(t, s)
		require.NoError(t, s.Sweep(ctx, l))
		if n := commits(t, s); n != groups {
			t.Errorf("a second sweep commits %v groups", n-groups)
		}
	}
}

// When a sweep's context has ended, nothing more is committed, even if the queue has released it.
// So a later fill finds its rows.
func TestSweepEnds(t *testing.T) {
	s := openMem(t, store.Options{})
	o := operation(store.OperationAdd, student(1), 2, 1)
	fill(t, s, fillRow(keyspace.Replica, o))
	ended, cancel := context.WithCancel(ctx)
	step := sweeping{store: s, until: ended, deletes: [][]byte{append([]byte{keyspace.Replica}, o.Key...)}}
	cancel()
	if err := s.Committer().Do(ctx, &step); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := s.Sweep(ended, sample.Layout(t, s, 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if rows := heldRows(t, s); len(rows) != 1 {
		t.Errorf("%v", rows)
	}
	require.NoError(t, s.Sweep(ctx, sample.Layout(t, s, 0)))
	if rows := heldRows(t, s); len(rows) != 0 {
		t.Errorf("%v", rows)
	}
}

// If a machine has swept its rows of SPO, it still removes the annotations of its other orders.
func TestSweepKeepsAnnotations(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	add(t, s, student(1))
	annotate(t, s, student(1), "app")
	l := sample.Layout(t, s, 1)
	part := func(own bool) uint32 {
		for p := range uint32(l.Placement.Partitions()) {
			if (l.Placement.PartitionOwner(p) == s.MachineID()) == own {
				return p
			}
		}
		t.Fatal("not a test")
		return 0
	}
	split, err := trie.New(1, part(false)).Split(1, []byte{byte(triple.POS)}, 2)
	if err == nil {
		l.Trie, err = split.Assign(2, part(true))
	}
	require.NoError(t, err)
	require.NoError(t, s.Sweep(ctx, l))
	if st := s.Status(); st.Triples != 0 || st.Annotations != 0 || len(heldRows(t, s)) != 4 {
		t.Fatalf("%+v", st)
	}
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationDelete, 2, 1, student(1))})
	for key, row := range heldRows(t, s) {
		if row.note {
			t.Errorf("%q is there", key)
		}
	}
}
