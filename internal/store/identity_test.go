// Tests of a member's directory and its layout.

package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A member's directory opens only with Options.Member, and accepts writes only from the cluster.
func TestMember(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, Options{FS: fs})
	add(t, s, students(0, 20)...)
	if id, ok := s.Identity(); ok {
		t.Fatalf("%+v", id)
	}
	if err := s.SetIdentity(Identity{Cluster: "c"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
	want := Identity{Cluster: "plants", ClusterID: "17", Generation: 3}
	start, err := s.Sink().Begin(ctx, "begun before")
	require.NoError(t, err)
	require.NoError(t, start.Existing.Close())
	s.committer.mu.Lock() // a write is in progress when the store becomes a member
	r := newRequest(KindAdd, 1)
	r.add(new(encoder), student(100))
	require.NoError(t, s.committer.queue.put(ctx, r))
	await.Condition(t, "it is taken", func() bool { return r.state.Load() == stateTaken })
	s.member.Store(&want)
	s.committer.mu.Unlock()
	if <-r.done; !errors.Is(r.err, ErrMember) {
		t.Errorf("%v", r.err)
	}
	require.NoError(t, s.SetIdentity(want))
	refuse := func(s *Store) {
		t.Helper()
		_, err1 := Add(ctx, s, students(0, 1))
		_, err2 := Delete(ctx, s, students(0, 1))
		_, err3 := DeleteMatch(ctx, s, triple.Pattern{})
		_, err4 := Apply(ctx, s, Steps{ClearAll: true})
		_, err5 := Update(ctx, s, func(Reader) (Steps, error) { return Steps{ClearAll: true}, nil })
		_, err6 := s.Sink().Begin(ctx, "load")
		err7 := Annotate(ctx, s, student(0), "a", []byte("x"))
		err8 := s.Sink().Publish(ctx, rdfload.Record{ID: "begun before"}, nil)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
			if !errors.Is(err, ErrMember) {
				t.Errorf("write %d: %v", i+1, err)
			}
		}
	}
	refuse(s)
	l := sample.Layout(t, s, 3, students(0, 20)...)
	require.NoError(t, s.segments.SetLayout(l))
	if err := s.db.SetLocal(keyspace.LocalKey("durable"), nil); err != nil { // it makes the layout durable
		t.Fatal(err)
	}
	crashed := fs.CrashClone(vfs.CrashCloneCfg{})
	for _, readOnly := range []bool{false, true} {
		_, err := Open("data", Options{FS: crashed, ReadOnly: readOnly})
		if !errors.Is(err, ErrMember) || !bytes.Contains([]byte(err.Error()), []byte(`"plants": ask a running node with --to`)) {
			t.Errorf("read-only %v: %v", readOnly, err)
		}
	}
	again := openMem(t, Options{FS: crashed, Member: true})
	if id, ok := again.Identity(); !ok || id != want {
		t.Errorf("%+v", id)
	}
	refuse(again)
	if again.segments.Trie().Len() != l.Trie.Len() || len(again.segments.Placement().Machines()) != 4 {
		t.Errorf("the layout is %d segments of %v", again.segments.Trie().Len(), again.segments.Placement().Machines())
	}
}

// ownFirst returns the layout's trie, with its first segment on the store's machine. This is
// needed because machines have random IDs, and the store might own none.
func ownFirst(t *testing.T, s *Store, l recovery.Layout) *trie.Trie {
	t.Helper()
	first := l.Trie.Lookup(nil).ID
	for partition := range uint32(l.Placement.Partitions()) {
		assigned, err := l.Trie.Assign(first, partition)
		require.NoError(t, err)
		if l.Placement.Owner(assigned.Lookup(nil)) == s.MachineID() {
			return assigned
		}
	}
	t.Fatal("no partition is the machine's own")
	return nil
}

// From SetLayout on, only the cluster splits segments. The store reports the ones to split, with
// keys.
func TestSetLayout(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 8 << 10})
	l := sample.Layout(t, s, 1, student(200), student(400))
	l.Trie = ownFirst(t, s, l)
	require.NoError(t, s.segments.SetLayout(l))
	add(t, s, students(0, 600)...)
	s.segments.Measure()
	if s.segments.Trie() != l.Trie || s.segments.Placement() != l.Placement {
		t.Fatal("the layout is not the one that was set")
	}
	splits := s.segments.Oversized(8 << 10)
	if len(splits) == 0 {
		t.Fatal("no segment is too large")
	}
	parts := map[uint64][][]byte{}
	for _, split := range splits {
		segment, ok := l.Trie.Get(split.Segment)
		if !ok || l.Placement.Owner(segment) != s.MachineID() {
			t.Errorf("segment %d is another's", split.Segment)
		}
		if _, err := l.Trie.Split(split.Segment, split.At, 1<<20); err != nil {
			t.Error(err)
		}
		parts[split.Segment] = append(parts[split.Segment], split.At)
	}
	for id, cuts := range parts {
		segment, _ := l.Trie.Get(id)
		lo := segment.Lo
		for _, hi := range append(cuts, segment.Hi) {
			lower, upper := keyspace.StorageBounds(triple.Range{Lo: lo, Hi: hi})
			it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
			require.NoError(t, err)
			size := 0
			for valid := it.First(); valid; valid = it.Next() {
				size += len(it.Key()) + len(it.Value())
			}
			if err := it.Close(); err != nil || size > 8<<10 || size < 2<<10 {
				t.Errorf("a part of segment %d has %d bytes, %v", id, size, err)
			}
			lo = hi
		}
	}
	if large := s.segments.Oversized(1 << 20); len(large) != 0 {
		t.Errorf("%v", large)
	}
}

// A split must keep annotations with their row.
func TestSplitBesideAnnotations(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 1 << 30})
	add(t, s, student(0), student(1))
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		require.NoError(t, Annotate(ctx, s, student(0), id, make([]byte, 1000)))
	}
	l := s.segments.Layout()
	id := uint64(1) // of a store without splits
	for split := true; split; {
		split = false
		for _, at := range s.segments.Oversized(10) {
			trie, err := l.Trie.Split(at.Segment, at.At, id+1)
			require.NoError(t, err)
			l.Trie, id = trie, id+1
			split = true
			break
		}
		require.NoError(t, s.segments.SetLayout(l))
	}
	if l.Trie.Len() < 4 {
		t.Fatalf("%d segments", l.Trie.Len())
	}
	for row, err := range snapshot(t, s).Raw(ctx, keyspace.Storage, triple.Range{}) {
		require.NoError(t, err)
		if version, _, ok := triple.CutAnnotation(row.Key); ok && l.Trie.Lookup(version).ID != l.Trie.Lookup(row.Key).ID {
			t.Errorf("%q is apart from its version", row.Key)
		}
	}
}

// TestLaterMinor: if a directory's cluster has agreed on a later minor of the protocol, Open
// rejects it and changes nothing.
func TestLaterMinor(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, Options{FS: fs})
	for _, minor := range []uint64{protocol.Minor, protocol.Minor + 1} {
		id := Identity{Cluster: "plants", ClusterID: "17", Generation: 3, Minor: minor}
		require.NoError(t, s.SetIdentity(id))
		require.NoError(t, s.Close())
		var err error
		if s, err = Open("data", Options{FS: fs, Member: true}); minor == protocol.Minor {
			require.NoError(t, err)
			continue
		}
		for range 2 {
			want := "agreed on protocol " + protocol.Name(minor) + ", this program has " + protocol.Name(protocol.Minor)
			if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			_, err = Open("data", Options{FS: fs, Member: true, ReadOnly: true})
		}
	}
}
