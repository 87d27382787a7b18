// Tests of incarnations, checks and backups of a member.

package replica

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/triple"
)

// A start of the process has a greater number than all before it, and another number than a start
// on a copy of the disk.
func TestNextIncarnation(t *testing.T) {
	fs := memdisk.New()
	first, err := openMem(t, store.Options{FS: fs}).NextIncarnation()
	if err != nil || first == 0 {
		t.Fatalf("incarnation %d, %v", first, err)
	}
	crashed, copied := fs.CrashClone(vfs.CrashCloneCfg{}), fs.CrashClone(vfs.CrashCloneCfg{})
	second, err := openMem(t, store.Options{FS: crashed}).NextIncarnation()
	if err != nil || second <= first {
		t.Errorf("incarnation %d after %d, %v", second, first, err)
	}
	if n, err := openMem(t, store.Options{FS: copied}).NextIncarnation(); err != nil || n <= first || n == second {
		t.Errorf("incarnation %d after %d, where %d was, %v", n, first, second, err)
	}
}

// The orders of a member's store need not agree, but each row must be valid, even in the replica
// table.
func TestCheckMember(t *testing.T) {
	s := openMem(t, store.Options{})
	require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
	deliver(t, s, idle(sample.Layout(t, s, 4, students(0, 50)...)), Delivery{Origin: origin(7, 1, 1),
		Operations: append(operations(store.OperationAdd, 2, 1, students(0, 100)...), operations(store.OperationDelete, 3, 1, append(longs(2), student(3))...)...)})
	checked(t, s)
	good := operation(store.OperationAdd, student(1), 2, 1)
	for _, bad := range []stampedRow{
		{key: append([]byte{keyspace.Replica}, good.Key[:8]...), value: fillRow(0, good).Value},
		{key: append([]byte{keyspace.Replica}, good.Key...), value: []byte{0}},
		{key: triple.AppendAnnotationKey([]byte{keyspace.Replica}, operation(store.OperationAdd, student(999), 2, 1).Key, "a"), value: triple.AppendAnnotation(nil, good.Stamp, nil)},
		{key: append([]byte{keyspace.Storage}, append(operation(store.OperationAdd, student(999), 2, 1).Key, 0, 1)...), value: fillRow(0, operation(store.OperationDelete, student(9), 2, 1)).Value},
		{key: append([]byte{keyspace.Storage}, good.Key...), value: append(fillRow(0, operation(store.OperationDelete, student(9), 2, 1)).Value, 9)},
	} {
		before, err := s.db.Value(bad.key)
		require.NoError(t, err)
		require.NoError(t, s.db.Set(bad.key, bad.value, nil))
		if r, err := s.Check(ctx); err != nil || len(r.Problems) == 0 {
			t.Errorf("%q: %+v, %v", bad.key, r.Problems, err)
		}
		if before == nil {
			err = s.db.Delete(bad.key, nil)
		} else {
			err = s.db.Set(bad.key, before, nil)
		}
		require.NoError(t, err)
	}
	checked(t, s)
}

// A backup of a member's store belongs to a member.
func TestBackupMember(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "data"), store.Options{MinFreeBytes: -1}, Options{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.SetIdentity(store.Identity{Cluster: "c", ClusterID: "1"}))
	deliver(t, s, idle(sample.Layout(t, s, 2, students(0, 9)...)), Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationDelete, 2, 1, students(0, 100)...)})
	var copied bytes.Buffer
	require.NoError(t, s.Backup(ctx, &copied))
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, store.Restore(ctx, dir, &copied))
	if _, err := store.Open(dir, store.Options{}); !errors.Is(err, store.ErrMember) {
		t.Errorf("%v", err)
	}
	restored, err := Open(dir, store.Options{Member: true}, Options{})
	require.NoError(t, err)
	defer restored.Close()
	sameRows(t, heldRows(t, restored), heldRows(t, s))
}
