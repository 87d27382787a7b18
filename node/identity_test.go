package node

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// A member's directory is opened by who says that it is one, and takes no writes
// but the cluster's.
func TestMember(t *testing.T) {
	fs := vfs.NewCrashableMem()
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
	if err != nil {
		t.Fatal(err)
	}
	if err := start.Existing.Close(); err != nil {
		t.Fatal(err)
	}
	s.commitMu.Lock() // a write that is on its way when the store becomes a member
	r := newRequest(kindAdd, 1)
	r.add(new(encoder), student(100))
	if err := s.queue.put(ctx, r); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is taken", func() bool { return r.state.Load() == stateTaken })
	s.identity.Store(&want)
	s.commitMu.Unlock()
	if <-r.done; !errors.Is(r.err, ErrMember) {
		t.Errorf("%v", r.err)
	}
	if err := s.SetIdentity(want); err != nil {
		t.Fatal(err)
	}
	refuse := func(s *Store) {
		t.Helper()
		_, err1 := s.Add(ctx, students(0, 1))
		_, err2 := s.Delete(ctx, students(0, 1))
		_, err3 := s.DeleteMatch(ctx, triple.Pattern{})
		_, err4 := s.Apply(ctx, Changes{ClearAll: true})
		_, err5 := s.Update(ctx, func(*Snapshot) (Changes, error) { return Changes{ClearAll: true}, nil })
		_, err6 := s.Sink().Begin(ctx, "load")
		err7 := s.Annotate(ctx, student(0), "a", []byte("x"))
		err8 := s.Sink().Publish(ctx, rdfload.Record{ID: "begun before"}, nil)
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
			if !errors.Is(err, ErrMember) {
				t.Errorf("write %d: %v", i+1, err)
			}
		}
	}
	refuse(s)
	first, err := s.NextIncarnation()
	if err != nil || first == 0 {
		t.Fatalf("incarnation %d, %v", first, err)
	}
	l := layoutOf(t, s, 3, students(0, 20)...)
	if err := s.SetLayout(l); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, 1), Operations: operations(OperationAdd, 2, 1, students(0, 20)...)})
	crashed, crashed2 := fs.CrashClone(vfs.CrashCloneCfg{}), fs.CrashClone(vfs.CrashCloneCfg{})
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
	second, err := again.NextIncarnation()
	if err != nil || second <= first {
		t.Errorf("incarnation %d after %d, %v", second, first, err)
	}
	// The same disk once more: another process, which is not the second one.
	copied := openMem(t, Options{FS: crashed2, Member: true})
	if n, err := copied.NextIncarnation(); err != nil || n <= first || n == second {
		t.Errorf("incarnation %d after %d, where %d was, %v", n, first, second, err)
	}
	if again.Trie().Len() != l.Trie.Len() || len(again.Placement().Machines()) != 4 {
		t.Errorf("the layout is %d segments of %v", again.Trie().Len(), again.Placement().Machines())
	}
}

// The orders of a member's store need not agree; each row must be in order, those
// of the replica table too.
func TestCheckMember(t *testing.T) {
	s := openMem(t, Options{})
	if err := s.SetIdentity(Identity{Cluster: "c", ClusterID: "1"}); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, idle(layoutOf(t, s, 4, students(0, 50)...)), Delivery{Origin: origin(7, 1, 1),
		Operations: append(operations(OperationAdd, 2, 1, students(0, 100)...), operations(OperationDelete, 3, 1, append(longs(2), student(3))...)...)})
	checked(t, s)
	good := operation(OperationAdd, student(1), 2, 1)
	for _, bad := range []stampedRow{
		{key: append([]byte{tableReplica}, good.Key[:8]...), value: fillRow(0, good).Value},
		{key: append([]byte{tableReplica}, good.Key...), value: []byte{0}},
		{key: triple.AppendAnnotationKey([]byte{tableReplica}, operation(OperationAdd, student(999), 2, 1).Key, "a"), value: triple.AppendAnnotation(nil, good.Stamp, nil)},
		{key: append([]byte{tableStorage}, append(operation(OperationAdd, student(999), 2, 1).Key, 0, 1)...), value: fillRow(0, operation(OperationDelete, student(9), 2, 1)).Value},
		{key: append([]byte{tableStorage}, good.Key...), value: append(fillRow(0, operation(OperationDelete, student(9), 2, 1)).Value, 9)},
	} {
		before, err := s.get(bad.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.db.Set(bad.key, bad.value, nil); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Check(ctx); err != nil || len(r.Problems) == 0 {
			t.Errorf("%q: %+v, %v", bad.key, r.Problems, err)
		}
		if before == nil {
			err = s.db.Delete(bad.key, nil)
		} else {
			err = s.db.Set(bad.key, before, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	checked(t, s)
}

// A backup of a member's store is that of a member.
func TestBackupMember(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "data"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.SetIdentity(Identity{Cluster: "c", ClusterID: "1"}); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, idle(layoutOf(t, s, 2, students(0, 9)...)), Delivery{Origin: origin(7, 1, 1), Operations: operations(OperationDelete, 2, 1, students(0, 100)...)})
	var copied bytes.Buffer
	if err := s.Backup(ctx, &copied); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if err := Restore(ctx, dir, &copied); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrMember) {
		t.Errorf("%v", err)
	}
	restored, err := Open(dir, Options{Member: true})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	sameRows(t, heldRows(t, restored), heldRows(t, s))
}

// ownFirst returns the layout's trie, with its first segment on the store's own machine:
// machines have random IDs, so that it might own none.
func ownFirst(t *testing.T, s *Store, l recovery.Layout) *trie.Trie {
	t.Helper()
	first := l.Trie.Lookup(nil).ID
	for partition := range uint32(l.Placement.Partitions()) {
		assigned, err := l.Trie.Assign(first, partition)
		if err != nil {
			t.Fatal(err)
		}
		if l.Placement.Owner(assigned.Lookup(nil)) == s.MachineID() {
			return assigned
		}
	}
	t.Fatal("no partition is the machine's own")
	return nil
}

// From SetLayout on the cluster splits segments, and is told which and where.
func TestSetLayout(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 8 << 10})
	l := layoutOf(t, s, 1, student(200), student(400))
	l.Trie = ownFirst(t, s, l)
	if err := s.SetLayout(l); err != nil {
		t.Fatal(err)
	}
	deliver(t, s, idle(layoutOf(t, s, 0)), Delivery{Origin: origin(7, 1, 1), Operations: operations(OperationAdd, 2, 1, students(0, 600)...)})
	s.kick()
	if err := s.splitSegments(); err != nil {
		t.Fatal(err)
	}
	if s.Trie() != l.Trie || s.Placement() != l.Placement {
		t.Fatal("the layout is not the one that was set")
	}
	if done, err := s.writeLayout(&layout{trie: l.Trie, placement: l.Placement}); done || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	splits := s.Oversized(8 << 10)
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
			lower, upper := storageBounds(triple.Range{Lo: lo, Hi: hi})
			size, err := s.segmentBytes(lower, upper, false)
			if err != nil || size > 8<<10 || size < 2<<10 {
				t.Errorf("a part of segment %d has %d bytes, %v", id, size, err)
			}
			lo = hi
		}
	}
	if large := s.Oversized(1 << 20); len(large) != 0 {
		t.Errorf("%v", large)
	}
}

// A split leaves annotations with their version.
func TestSplitBesideAnnotations(t *testing.T) {
	s := openMem(t, Options{MaxSegmentBytes: 1 << 30})
	add(t, s, student(0), student(1))
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := s.Annotate(ctx, student(0), id, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	l := s.layout.Load()
	for split := true; split; {
		split = false
		for _, at := range s.Oversized(10) {
			trie, err := l.trie.Split(at.Segment, at.At, l.nextID)
			if err != nil {
				t.Fatal(err)
			}
			l = &layout{trie, l.placement, l.nextID + 1}
			split = true
			break
		}
		s.layout.Store(l)
	}
	if l.trie.Len() < 4 {
		t.Fatalf("%d segments", l.trie.Len())
	}
	for row, err := range snapshot(t, s).Raw(ctx, TableStorage, triple.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if version, _, ok := triple.CutAnnotation(row.Key); ok && l.trie.Lookup(version).ID != l.trie.Lookup(row.Key).ID {
			t.Errorf("%q is apart from its version", row.Key)
		}
	}
}

// TestLaterMinor: a directory whose cluster has agreed on a later minor of the protocol
// is not opened, and is left as it is.
func TestLaterMinor(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openMem(t, Options{FS: fs})
	for _, minor := range []uint64{protocol.Minor, protocol.Minor + 1} {
		id := Identity{Cluster: "plants", ClusterID: "17", Generation: 3, Minor: minor}
		if err := s.SetIdentity(id); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if s, err = Open("data", Options{FS: fs, Member: true}); minor == protocol.Minor {
			if err != nil {
				t.Fatal(err)
			}
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
