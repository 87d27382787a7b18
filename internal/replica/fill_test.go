// Tests of fills, of raw reads and of the mark.

package replica

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// fillRow returns the row of SPO after an operation, under the key of its triple.
func fillRow(table byte, o Operation) FillRow {
	if n := o.Annotation; n != nil {
		a := triple.Annotation{Stamp: o.Stamp, On: n.On, Removed: n.Removed, Data: n.Data}
		return FillRow{Table: table, Key: o.Key, Value: a.Append(nil)}
	}
	v := triple.Value{}
	if o.Long != nil {
		v, _ = triple.DecodeValue(o.Long)
	}
	v.Stamp, v.Tombstone = o.Stamp, o.Kind == store.OperationDelete
	return FillRow{Table: table, Key: o.Key, Value: v.Append(nil)}
}

// fillOf returns all rows after an operation under a layout of one machine.
func fillOf(t testing.TB, o Operation) []FillRow {
	t.Helper()
	row := fillRow(keyspace.Storage, o)
	versions, err := recovery.Versions(row.Key, row.Value)
	require.NoError(t, err)
	var rows []FillRow
	for v := range versions {
		rows = append(rows, FillRow{Table: keyspace.Storage, Key: slices.Clone(v.Key), Value: v.Value})
	}
	return rows
}

func fill(t testing.TB, s *Store, rows ...FillRow) {
	t.Helper()
	require.NoError(t, s.Fill(ctx, rows))
}

func TestFill(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	tr := longs(1)[0]
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Committed: 1, Operations: operations(store.OperationAdd, 3, 1, student(0), student(1))})
	fill(t, s, fillOf(t, operation(store.OperationAdd, tr, 2, 1))...)
	fill(t, s, fillOf(t, operation(store.OperationDelete, student(0), 2, 9))...) // older than the held rows
	fill(t, s, fillOf(t, operation(store.OperationDelete, student(1), 3, 3))...)
	fill(t, s, fillOf(t, operation(store.OperationAdd, student(1), 3, 2))...)
	fill(t, s, fillRow(keyspace.Replica, operation(store.OperationAdd, student(5), 3, 2)))
	if got := all(t, snapshot(t, s), triple.Pattern{}, store.ReadOptions{}); len(got) != 2 || !slices.Contains(got, tr) || !slices.Contains(got, student(0)) {
		t.Errorf("%v", got)
	}
	if n := s.Status().Triples; n != 2 {
		t.Errorf("%d triples", n)
	}
	if s.Epoch() != 4 {
		t.Errorf("epoch %d", s.Epoch())
	}
	replicas := 0
	for row, err := range snapshot(t, s).Raw(ctx, keyspace.Replica, exact(t, triple.SPO, student(5))) {
		if err != nil || triple.CheckKey(row.Key, row.Value) != nil {
			t.Errorf("%q, %v", row.Key, err)
		}
		replicas++
	}
	if replicas != 1 {
		t.Errorf("%d replicas", replicas)
	}
	checked(t, s)
}

// An annotation comes with its row. If a newer tombstone exists or comes in the same fill, the
// annotation must go.
func TestFillAnnotations(t *testing.T) {
	s := openMem(t, store.Options{})
	note := func(tr triple.Triple, sequence uint64) FillRow {
		key, _ := triple.AppendKey(nil, triple.SPO, tr)
		return FillRow{Table: keyspace.Storage, Key: triple.AppendAnnotationKey(nil, key, "app"),
			Value: triple.AppendAnnotation(nil, triple.Stamp{Epoch: 2, Sequence: sequence}, []byte{byte(sequence)})}
	}
	one := func(kind store.OperationKind, tr triple.Triple, sequence uint64) FillRow {
		return fillRow(keyspace.Storage, operation(kind, tr, 2, sequence))
	}
	named := student(1)
	named.Graph = iri("g")
	fill(t, s, one(store.OperationAdd, student(1), 1), note(student(1), 5), one(store.OperationAdd, named, 2))
	fill(t, s, note(student(1), 4))
	if data, err := snapshot(t, s).Annotation(ctx, student(1), "app"); err != nil || string(data.Bytes()) != "\x05" {
		t.Errorf("%v, %v", data, err)
	}
	fill(t, s, one(store.OperationDelete, student(2), 6), one(store.OperationDelete, student(3), 6))
	fill(t, s, note(student(2), 5))
	fill(t, s, note(student(4), 5), one(store.OperationDelete, student(4), 6))
	fill(t, s, one(store.OperationAdd, student(3), 7), note(student(3), 8))
	if st := s.Status(); st.Annotations != 2 || st.Triples != 3 {
		t.Errorf("%+v", st)
	}
	fill(t, s, one(store.OperationDelete, student(1), 9))
	if st := s.Status(); st.Annotations != 1 || st.Triples != 2 {
		t.Errorf("%+v", st)
	}
	count := func(want int) {
		t.Helper()
		notes := 0
		for _, row := range heldRows(t, s) {
			if row.note {
				notes++
			}
		}
		if notes != want {
			t.Errorf("%d annotations are there, want %d", notes, want)
		}
	}
	count(1)
	// A late delete must not remove newer annotations.
	fill(t, s, one(store.OperationAdd, student(5), 3), note(student(5), 9))
	fill(t, s, one(store.OperationDelete, student(5), 6))
	fill(t, s, one(store.OperationAdd, student(5), 8))
	count(2)
}

// Rows in flight of a backfill enter the list, once for each operation. The sequencer's watermark
// counts.
func TestFillUnsettled(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	unsettled := func(o Operation, from Origin) []FillRow {
		rows := fillOf(t, o)
		for i := range rows {
			rows[i].InFlight, rows[i].Operation = from, &o
		}
		return rows
	}
	a, b := operation(store.OperationAdd, student(1), 2, 1), operation(store.OperationAdd, student(2), 2, 2)
	fill(t, s, unsettled(a, origin(7, 1, 5))...)
	unsettledIn(t, s, exact(t, triple.POS, student(1)), origin(7, 1, 5))
	if h := s.SequencerStates(); len(h) != 1 || h[0].Last != 0 {
		t.Errorf("a fill counts as a delivery: %+v", h)
	}
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 5), Operations: []Operation{a, b}})
	fill(t, s, unsettled(b, origin(7, 1, 5))...)
	if list := s.InFlightBatches(); len(list) != 1 || len(list[0].Operations) != 2 {
		t.Errorf("%v", list)
	}
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	if list := s.InFlightBatches(); len(list) != 1 || len(list[0].Operations) != 2 {
		t.Errorf("%v", list)
	}
	s.RecordCommitted(origin(7, 1, 5), nil, nil, CommitTicks{})
	fill(t, s, unsettled(a, origin(7, 1, 4))...)
	fill(t, s, unsettled(b, origin(7, 1, 6))...)
	unsettledIn(t, s, triple.Range{}, origin(7, 1, 6))

	bad := unsettled(a, origin(7, 1, 9))[:1]
	bad[0].Operation = nil
	for name, rows := range map[string][]FillRow{
		"no operation": bad,
		"no table":     {{Key: a.Key, Value: bad[0].Value}},
		"local table":  {{Table: keyspace.Local, Key: a.Key, Value: bad[0].Value}},
		"no key":       {{Table: keyspace.Storage, Value: bad[0].Value}},
		"no value":     {{Table: keyspace.Storage, Key: a.Key}},
		"pos replica":  {{Table: keyspace.Replica, Key: fillOf(t, a)[1].Key, Value: bad[0].Value}},
	} {
		if err := s.Fill(ctx, rows); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRaw(t *testing.T) {
	s := openMem(t, store.Options{})
	add(t, s, students(0, 2000)...)
	annotate(t, s, student(7), "app")
	deliver(t, s, idle(sample.Layout(t, s, 0)), Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationDelete, 9, 1, student(8))})
	sn := snapshot(t, s)
	rows, notes, dead := 0, 0, 0
	var last []byte
	for row, err := range sn.Raw(ctx, keyspace.Storage, triple.OrderRange(triple.POS)) {
		require.NoError(t, err)
		if slices.Compare(last, row.Key) >= 0 {
			t.Fatal("keys do not ascend")
		}
		last = append(last[:0], row.Key...)
		rows++
		if triple.IsAnnotation(row.Value) {
			notes++
		} else if triple.IsTombstone(row.Value) {
			dead++
		}
	}
	if rows != 2001 || notes != 1 || dead != 1 {
		t.Errorf("%d rows, %d annotations, %d tombstones", rows, notes, dead)
	}
	fails := func(sn *Snapshot, ctx context.Context, table byte, want error) {
		t.Helper()
		var got error
		for _, err := range sn.Raw(ctx, table, triple.Range{}) {
			got = err
		}
		if !errors.Is(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	fails(sn, ctx, keyspace.Local, store.ErrInvalid)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	fails(sn, ended, keyspace.Storage, context.Canceled)
	sn.Close()
	fails(sn, ctx, keyspace.Storage, store.ErrClosed)
}

// TestEachRawSeeks: the rows before a returned key are skipped, and no others.
func TestEachRawSeeks(t *testing.T) {
	s := openMem(t, store.Options{})
	add(t, s, students(0, 500)...)
	sn, in := snapshot(t, s), triple.OrderRange(triple.OSP)
	var keys [][]byte
	for row, err := range sn.Raw(ctx, keyspace.Storage, in) {
		require.NoError(t, err)
		keys = append(keys, bytes.Clone(row.Key))
	}
	for _, step := range []int{1, 2, 7, 499, 1000} {
		at := 0
		err := sn.EachRaw(ctx, keyspace.Storage, in, func(row store.RawRow) (seek []byte, err error) {
			if at >= len(keys) || !bytes.Equal(row.Key, keys[at]) {
				t.Fatalf("step %d: %q after %d rows", step, row.Key, at)
			}
			if at += step; at < len(keys) {
				return keys[at], nil
			}
			return in.Hi, nil
		})
		if err != nil || at < len(keys) {
			t.Errorf("step %d: %d of %d rows, %v", step, at, len(keys), err)
		}
	}
	stop := errors.New("enough")
	if err := sn.EachRaw(ctx, keyspace.Storage, in, func(store.RawRow) ([]byte, error) { return nil, stop }); err != stop {
		t.Errorf("an error of the visitor becomes %v", err)
	}
}

// TestSyncFills: fills must be there after a crash if they were synced and counted.
func TestSyncFills(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, store.Options{FS: fs})
	for n := range uint64(3) {
		fill(t, s, fillOf(t, operation(store.OperationAdd, student(int(n)), 2, n+1))...)
		mark, err := s.SyncFills(ctx)
		if err != nil || mark != n+1 || s.Mark() != mark {
			t.Fatalf("mark %d, %v", mark, err)
		}
	}
	fill(t, s, fillOf(t, operation(store.OperationAdd, student(9), 2, 9))...)
	after := openMem(t, store.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	if after.Mark() != 3 {
		t.Errorf("mark %d", after.Mark())
	}
	if r := checked(t, after); r.Triples != 3 {
		t.Errorf("%d triples", r.Triples)
	}
}

// If a member has few rows of SPO, it estimates the rows of other orders by its tables.
func TestEstimateMember(t *testing.T) {
	race.Skip(t)
	s := openMem(t, store.Options{})
	require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
	const size = 20_000
	var rows []FillRow
	for i, o := range operations(store.OperationAdd, 2, 1, students(0, size)...) {
		for _, row := range fillOf(t, o) {
			if triple.Order(row.Key[0]) == triple.POS || i < 10 {
				rows = append(rows, row)
			}
		}
	}
	fill(t, s, rows...)
	require.NoError(t, s.db.Flush())
	s.Committer().Cleared(0) // estimates must read the tables again
	n, _, err := snapshot(t, s).EstimateRange(triple.OrderRange(triple.POS))
	if err != nil || n < size/2 || n > 2*size {
		t.Errorf("%d rows, %v, there are %d", n, err, size)
	}
}
