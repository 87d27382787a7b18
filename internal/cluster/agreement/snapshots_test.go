// Tests of snapshots.

package agreement

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func newSink(t *testing.T, s *store, index, term uint64) raft.SnapshotSink {
	t.Helper()
	k, err := s.Create(1, index, term, raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "b"}}}, 3, nil)
	require.NoError(t, err)
	return k
}

func TestSnapshots(t *testing.T) {
	fs := memdisk.New()
	s := openTestStore(t, fs)
	contents := make([]byte, 5*chunkBytes/2)
	for i := range contents {
		contents[i] = byte(rand.Uint32())
	}
	var last raft.SnapshotSink
	for i := range uint64(5) {
		last = newSink(t, s, 10+i, 2)
		if _, err := io.Copy(last, bytes.NewReader(contents[i:])); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, last.Close())
	}
	// One of the same index and term, an empty one and one that is not finished.
	again := newSink(t, s, 14, 2)
	require.NoError(t, again.Close())
	dropped := newSink(t, s, 20, 2)
	if _, err := dropped.Write(contents); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, dropped.Cancel())
	if _, err := newSink(t, s, 21, 2).Write(contents); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.StoreLogs([]*raft.Log{{Index: 8}, {Index: 9}, {Index: 10}}))
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	s.close()
	s = openTestStore(t, clone)
	defer s.close()

	list, err := s.List()
	require.NoError(t, err)
	if len(list) != 2 || list[0].ID != again.ID() || list[1].ID != last.ID() {
		t.Fatalf("snapshots %+v", list)
	}
	meta, r, err := s.Open(last.ID())
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, contents[4:]) {
		t.Errorf("%d bytes of %d, %v", len(got), len(contents[4:]), err)
	}
	if meta.Index != 14 || meta.Term != 2 || meta.Size != int64(len(got)) || meta.ConfigurationIndex != 3 || len(meta.Configuration.Servers) != 1 {
		t.Errorf("meta %+v", meta)
	}
	if _, _, err := s.Open("00"); err == nil {
		t.Error("no snapshot has this ID")
	}
	if ids, err := s.snapshotIDs(tableChunk); err != nil || len(ids) != 1 {
		t.Errorf("chunks of %d snapshots, %v", len(ids), err)
	}
	if n, _ := s.LastIndex(); n != 0 {
		t.Errorf("the log goes to %d, and the snapshot is newer", n)
	}
}
