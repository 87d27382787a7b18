// Tests of staged tables and of taking them in.

package replica

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/triple"
)

// stage writes the SPO rows of triples as two tables of a load, and seals them.
func stage(t *testing.T, s *Store, load string, number uint64, triples ...triple.Triple) Seal {
	t.Helper()
	rows := map[string][]byte{}
	for _, tr := range triples {
		key, _ := triple.AppendKey(nil, triple.SPO, tr)
		rows[string(key)] = triple.AppendValue(nil, LoadStamp(number), tr)
	}
	keys := slices.Sorted(maps.Keys(rows))
	seal := Seal{Load: load, Number: number, Place: "p"}
	for name, part := range map[string][]string{"a": keys[:len(keys)/2], "b": keys[len(keys)/2:]} {
		table, err := s.Staging().Table(load, "p", name, keyspace.Storage)
		require.NoError(t, err)
		for _, key := range part {
			require.NoError(t, table.Set([]byte(key), rows[key]))
		}
		file, err := table.Close()
		require.NoError(t, err)
		seal.Files = append(seal.Files, file)
	}
	require.NoError(t, s.Staging().Seal(seal))
	return seal
}

// A load is taken in once, over older rows. By its epoch it is older than the operations of that
// epoch and newer than all before, in any order of arrival.
func TestTakeIn(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, store.Options{FS: fs, Member: true})
	require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
	l := sample.Layout(t, s, 0)
	all := students(0, 10)
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, all[0])})
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 2), Operations: operations(store.OperationDelete, 2, 2, all[1])})
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 3), Operations: operations(store.OperationAdd, 2, 3, all[9])})
	seal := stage(t, s, "load", 5, all[:8]...)
	if seal.Files[0].New+seal.Files[1].New != 7 {
		t.Errorf("new rows: %+v", seal.Files)
	}
	mark := s.Mark()
	require.NoError(t, s.SetLoads(map[uint64]uint64{5: 3}))
	for range 2 {
		require.NoError(t, s.Staging().TakeIn(ctx, "load", 5, "p"))
		if s.Mark() != mark+1 || s.Status().Triples != 9 {
			t.Fatalf("mark %d, %d triples", s.Mark(), s.Status().Triples)
		}
		require.NoError(t, s.Staging().Drop("load"))
	}
	// An older late delete loses, and a delete of the load's epoch wins.
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 4), Operations: operations(store.OperationDelete, 2, 4, all[2])})
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 5), Operations: operations(store.OperationDelete, 3, 1, all[3])})
	fs = fs.CrashClone(vfs.CrashCloneCfg{})
	check := func(s *Store) {
		t.Helper()
		var key [][]byte
		for _, tr := range all[:4] {
			k, _ := triple.AppendKey(nil, triple.SPO, tr)
			key = append(key, k)
		}
		slices.SortFunc(key, func(a, b []byte) int { return slices.Compare(a, b) })
		states, err := s.States(ctx, key)
		require.NoError(t, err)
		live := 0
		for _, state := range states {
			if state.Live {
				live++
				if state.Stamp != (triple.Stamp{Epoch: 3}) {
					t.Errorf("stamp %+v", state.Stamp)
				}
			}
		}
		if live != 3 || s.Mark() != mark+1 || s.Status().Triples != 8 {
			t.Errorf("%d live, mark %d, %d triples", live, s.Mark(), s.Status().Triples)
		}
	}
	check(s)
	again := openMem(t, store.Options{FS: fs, Member: true})
	check(again)
	if taken, err := again.Staging().Taken(5); err != nil || !taken {
		t.Error(taken, err)
	}
	// Rows of backfills are compared in the same way.
	key, _ := triple.AppendKey(nil, triple.SPO, all[3])
	fill(t, again, FillRow{Table: keyspace.Storage, Key: key, Value: triple.AppendValue(nil, LoadStamp(5), all[3])})
	check(again)
	if err := again.Fill(ctx, []FillRow{{Table: keyspace.Storage, Key: key, Value: triple.AppendValue(nil, LoadStamp(6), all[3])}}); err == nil {
		t.Error("a row of a load that nobody has heard of")
	}
}

// Tables are not taken in if they are not sealed, or have changed.
func TestSeal(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, store.Options{FS: fs, Member: true})
	if err := s.Staging().TakeIn(ctx, "load", 5, "p"); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	seal := stage(t, s, "load", 5, students(0, 10)...)
	if err := s.Staging().TakeIn(ctx, "load", 5, "q"); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	other := seal
	other.Place = "q"
	if err := s.Staging().Seal(other); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	// The seal removes unfinished tables, and tables of another layout.
	left, err := s.Staging().Table("load", "p", "c", keyspace.Replica)
	require.NoError(t, err)
	require.NoError(t, left.Abort())
	if _, err := s.Staging().Table("../x", "p", "c", keyspace.Storage); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
	require.NoError(t, s.Staging().Seal(seal))
	// All of it must be there after a crash.
	again := openMem(t, store.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{}), Member: true})
	if staged, err := again.Staging().Loads(); err != nil || !slices.Equal(staged, []string{"load"}) {
		t.Fatal(staged, err)
	}
	require.NoError(t, errors.Join(again.SetLoads(map[uint64]uint64{5: 3}), again.Staging().TakeIn(ctx, "load", 5, "p")))
	if again.Status().Triples != 10 {
		t.Errorf("%d triples", again.Status().Triples)
	}
}
