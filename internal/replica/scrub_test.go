// Tests of digests and lists of places.

package replica

import (
	"context"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// trio is three stores with their rows under a layout.
func trio(t testing.TB, batches ...[]Operation) (stores []*Store, j *recovery.Joint) {
	t.Helper()
	var ids []trie.MachineID
	for range 3 {
		s := openMem(t, store.Options{})
		require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
		stores, ids = append(stores, s), append(ids, s.MachineID())
	}
	l := sample.Layout(t, stores[0], 0, append(draws(random(t), 20), students(20, 60)...)...)
	placement, err := trie.NewPlacement(ids, trie.PlacementOptions{Partitions: l.Placement.Partitions()})
	require.NoError(t, err)
	l.Placement = placement
	j = idle(l)
	for i, operations := range batches {
		for _, s := range stores {
			deliver(t, s, j, Delivery{Origin: origin(7, 1, uint64(i+1)), Operations: operations})
		}
	}
	return stores, j
}

func scanOf(j *recovery.Joint, sequence uint64) ScrubScan {
	how := ScrubScan{Joint: j, Secret: recovery.Secret{1}, BucketBits: 6, Floors: Floors{}, Epoch: 2,
		Pace: func(ctx context.Context, _ int) error { return ctx.Err() }}
	for _, m := range j.Members {
		how.Floors[m] = triple.Stamp{Epoch: 2, Sequence: sequence}
	}
	return how
}

// sum adds up the digests of stores.
func sum(t testing.TB, stores []*Store, how ScrubScan) *ScrubDigests {
	t.Helper()
	var all *ScrubDigests
	for _, s := range stores {
		d, err := snapshot(t, s).Digests(ctx, how)
		require.NoError(t, err)
		if all == nil {
			all = d
			continue
		}
		for i := range all.Of {
			all.Of[i].Merge(d.Of[i])
		}
		for i := range all.Rows {
			all.Rows[i] += d.Rows[i]
		}
		all.Foreign, all.Unreadable, all.Annotations = all.Foreign+d.Foreign, all.Unreadable+d.Unreadable, all.Annotations+d.Annotations
	}
	return all
}

// differing returns the comparisons whose digests differ.
func differing(d *ScrubDigests) (which []string) {
	for _, p := range []struct {
		name string
		a, b int
	}{{"pos", DigestSPO, DigestPOS}, {"osp", DigestSPO, DigestOSP}, {"gspo", DigestNamed, DigestGSPO}, {"replicas", DigestDue, DigestReplicas}} {
		if recovery.Diff(d.Of[p.a], d.Of[p.b]) != nil {
			which = append(which, p.name)
		}
	}
	return which
}

// The digests of the orders of all machines agree, and so do the digests of extra copies. Rows in
// flight are in none of them. If one place alone has a row, the digests show it.
func TestScrubDigests(t *testing.T) {
	named := students(0, 200)
	for i := range named {
		if i%3 == 0 {
			named[i].Graph = iri("graph%d", i%2)
		}
	}
	stores, j := trio(t, operations(store.OperationAdd, 2, 1, named...), operations(store.OperationDelete, 2, 5000, named[:30]...))
	how := scanOf(j, 10_000)
	d := sum(t, stores, how)
	if which := differing(d); which != nil || d.Foreign+d.Unreadable != 0 {
		t.Fatalf("%v differ, %+v", which, d)
	}
	rows := int64(len(named) - 30)
	if n := d.Of[DigestSPO].Rows(); n != rows || d.Rows[0] != rows || d.Of[DigestReplicas].Rows() == 0 || d.Of[DigestGSPO].Rows() == 0 {
		t.Errorf("%d rows of %d: %+v", n, rows, d.Rows)
	}
	if n := sum(t, stores, scanOf(j, 100)).Of[DigestPOS].Rows(); n != 99-30 {
		t.Errorf("%d rows are below the floors, want %d", n, 99-30)
	}

	// A row in only one order, one in the wrong place, and one of a later epoch.
	extra := operation(store.OperationAdd, student(900), 2, 4000)
	key, _ := triple.AppendKey(nil, triple.POS, student(900))
	owner := func(key []byte) *Store {
		id, _ := j.Reader(key)
		for _, s := range stores {
			if s.MachineID() == id {
				return s
			}
		}
		panic("no such machine")
	}
	value := (&triple.Value{Stamp: extra.Stamp}).Append(nil)
	fill(t, owner(key), FillRow{Table: keyspace.Storage, Key: key, Value: value})
	d = sum(t, stores, how)
	if which := differing(d); len(which) != 1 || which[0] != "pos" {
		t.Errorf("%v differ", which)
	}
	for _, s := range stores {
		if s != owner(key) {
			fill(t, s, FillRow{Table: keyspace.Storage, Key: key, Value: value})
		}
	}
	if d = sum(t, stores, how); d.Foreign != 2 {
		t.Errorf("%d foreign rows", d.Foreign)
	}
	later := operation(store.OperationAdd, student(901), 99, 1)
	fill(t, owner(later.Key), fillRow(keyspace.Storage, later))
	d = sum(t, stores, how)
	if which := differing(d); len(which) < 2 {
		t.Errorf("%v differ", which)
	}

	// Lists have them.
	in := Buckets{Orders: make([]bool, 1<<how.BucketBits)}
	for _, b := range recovery.Diff(d.Of[DigestSPO], d.Of[DigestPOS]) {
		in.Orders[b] = true
	}
	found := map[string]int{}
	for _, s := range stores {
		if err := snapshot(t, s).List(ctx, how, in, func(r ListedRow) error {
			found[string(r.Key)]++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if found[string(extra.Key)] != 1 || found[string(later.Key)] != 1 {
		t.Errorf("%d and %d rows are listed", found[string(extra.Key)], found[string(later.Key)])
	}
}

// A scan ends when its pace returns an error.
func TestScrubScanEnds(t *testing.T) {
	stores, j := trio(t, operations(store.OperationAdd, 2, 1, students(0, 2000)...))
	how, over := scanOf(j, 10_000), errors.New("another view")
	how.Pace = func(context.Context, int) error { return over }
	ended := 0
	for _, s := range stores {
		if _, err := snapshot(t, s).Digests(ctx, how); errors.Is(err, over) {
			ended++
		}
	}
	if ended == 0 {
		t.Error("no scan is paced")
	}
}

// The state of a place includes the operations in flight on its triple.
func TestPlaceStates(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Committed: 1, Operations: operations(store.OperationAdd, 2, 1, student(1))})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Committed: 1, Operations: operations(store.OperationDelete, 2, 2, student(2))})
	var keys [][]byte
	for i := range 3 {
		keys = append(keys, operation(store.OperationAdd, student(i+1), 1, 1).Key)
	}
	tables := []byte{keyspace.Storage, keyspace.Storage, keyspace.Storage}
	states, unsettled, err := s.PlaceStates(ctx, tables, keys, keys)
	if err != nil || len(states) != 3 {
		t.Fatal(err)
	}
	if triple.IsTombstone(states[0].Value) || states[0].Stamp.Sequence != 1 || !triple.IsTombstone(states[1].Value) || states[2].Value != nil {
		t.Errorf("%+v", states)
	}
	if unsettled[0] || !unsettled[1] || unsettled[2] {
		t.Errorf("unsettled: %v", unsettled)
	}
}

func BenchmarkScrubDigests(b *testing.B) {
	s := openMem(b, store.Options{})
	j := idle(sample.Layout(b, s, 0))
	deliver(b, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 1, 1, students(0, 10_000)...)})
	how := scanOf(j, 1)
	how.BucketBits, how.Pace = 16, func(context.Context, int) error { return nil }
	sn, rows := snapshot(b, s), int64(0)
	for b.Loop() {
		d, err := sn.Digests(ctx, how)
		if err != nil {
			b.Fatal(err)
		}
		rows += d.Rows[0] + d.Rows[1] + d.Rows[2]
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
