// Tests of opening and closing a store.

package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

func TestReopen(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("a/b/data", Options{FS: fs})
	require.NoError(t, err)
	id := s.MachineID()
	add(t, s, students(0, 100)...)
	require.NoError(t, Annotate(ctx, s, student(7), "app", []byte("note")))
	last := s.committer.sequence.next
	for range 2 {
		require.NoError(t, s.Close())
	}
	if _, err := Add(ctx, s, students(0, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("add to a closed store: %v", err)
	}
	if _, err := s.Snapshot(); !errors.Is(err, ErrClosed) {
		t.Errorf("snapshot of a closed store: %v", err)
	}
	s, err = Open("a/b/data", Options{FS: fs})
	require.NoError(t, err)
	defer s.Close()
	if s.MachineID() != id {
		t.Errorf("machine %s, it was %s", s.MachineID(), id)
	}
	if r := checked(t, s); r.Triples != 100 || r.Annotations != 1 {
		t.Errorf("%d triples, %d annotations", r.Triples, r.Annotations)
	}
	if st := s.Status(); st.Triples != 100 || st.Annotations != 1 || st.Segments != 1 || st.Error != "" {
		t.Errorf("status %+v", st)
	}
	if s.committer.sequence.next < last {
		t.Errorf("the next sequence is %d, it was %d", s.committer.sequence.next, last)
	}
}

func TestOpenReadOnly(t *testing.T) {
	fs := vfs.NewMem()
	if _, err := Open("data", Options{FS: fs, ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read-only and absent: %v", err)
	}
	s := openMem(t, Options{FS: fs})
	add(t, s, students(0, 10)...)
	require.NoError(t, s.Close())
	r := openMem(t, Options{FS: fs, ReadOnly: true})
	if _, err := Add(ctx, r, students(0, 1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("add: %v", err)
	}
	if _, err := Delete(ctx, r, students(0, 1)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("delete: %v", err)
	}
	if _, err := DeleteMatch(ctx, r, triple.Pattern{}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("delete match: %v", err)
	}
	if err := Annotate(ctx, r, student(0), "a", nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("annotate: %v", err)
	}
	if _, err := r.Sink().Begin(ctx, "load"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("begin: %v", err)
	}
	if err := r.Backup(ctx, nil); !errors.Is(err, ErrReadOnly) {
		t.Errorf("backup: %v", err)
	}
	if report := checked(t, r); report.Triples != 10 {
		t.Errorf("%d triples", report.Triples)
	}
	if err := r.Checkpoint(ctx, "copy"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("checkpoint: %v", err)
	}
}

func TestOpenTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer s.Close()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	for _, path := range []string{dir, dir + "/", link} {
		if _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "this process") {
			t.Errorf("%s, open already: %v", path, err)
		}
	}
	// The same from another process: this test runs again there.
	if os.Getenv("TREFOIL_TEST_DIR") != "" {
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^TestOpenLocked$", "-test.v")
	again.Env = append(os.Environ(), "TREFOIL_TEST_DIR="+dir)
	if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "another process has") {
		t.Errorf("other process: %v\n%s", err, out)
	}
}

// TestOpenLocked is the part of TestOpenTwice in the other process.
func TestOpenLocked(t *testing.T) {
	dir := os.Getenv("TREFOIL_TEST_DIR")
	if dir == "" {
		t.Skip("run by TestOpenTwice")
	}
	for _, readOnly := range []bool{false, true} {
		_, err := Open(dir, Options{ReadOnly: readOnly, MinFreeBytes: -1})
		if !errors.Is(err, ErrLocked) {
			t.Errorf("open by another process: %v", err)
		}
		t.Log(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	put := func(t *testing.T, fs vfs.FS, name, text string) {
		t.Helper()
		require.NoError(t, fs.MkdirAll("data", 0o755))
		require.NoError(t, directory.WriteFile(fs, "data/"+name, []byte(text)))
	}
	made := func(t *testing.T, fs vfs.FS) {
		s, err := Open("data", Options{FS: fs})
		require.NoError(t, err)
		add(t, s, students(0, 10)...)
		require.NoError(t, s.Close())
	}
	tests := []struct {
		name    string
		prepare func(*testing.T, vfs.FS)
		want    error
		says    string
	}{
		{"something else", func(t *testing.T, fs vfs.FS) { put(t, fs, "thesis.doc", "x") }, ErrVersion, "thesis.doc"},
		{"newer format", func(t *testing.T, fs vfs.FS) {
			made(t, fs)
			put(t, fs, directory.VersionName, fmt.Sprintf("trefoil data directory\nformat %d\nuuid %s\n", 2, directory.NewUUID()))
		}, ErrVersion, "format 2"},
		{"another program's VERSION", func(t *testing.T, fs vfs.FS) { put(t, fs, directory.VersionName, "7\n") }, ErrVersion, "not one of trefoil's"},
		{"empty VERSION", func(t *testing.T, fs vfs.FS) { made(t, fs); put(t, fs, directory.VersionName, "") }, ErrVersion, ""},
		{"damaged UUID", func(t *testing.T, fs vfs.FS) {
			made(t, fs)
			put(t, fs, directory.VersionName, "trefoil data directory\nformat 1\nuuid 6ba7b810-9dad-41d1-80b4-00c04fd430cX\n")
		}, ErrCorrupt, "VERSION"},
		{"no VERSION, but a database", func(t *testing.T, fs vfs.FS) {
			made(t, fs)
			for _, name := range []string{directory.VersionName, directory.LoadsName, directory.TmpName} {
				require.NoError(t, fs.RemoveAll("data/"+name))
			}
		}, ErrVersion, "no VERSION file"},
		{"VERSION without a database", func(t *testing.T, fs vfs.FS) {
			made(t, fs)
			require.NoError(t, fs.RemoveAll("data/store"))
		}, pebble.ErrDBDoesNotExist, "store"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fs := vfs.NewMem()
			test.prepare(t, fs)
			s, err := Open("data", Options{FS: fs})
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.says) {
				t.Errorf("error %v, want %v that says %q", err, test.want, test.says)
			}
			if err == nil {
				s.Close()
			}
		})
	}
}

// If an Open is cut off at any write or sync, the next one completes it.
func TestOpenInterrupted(t *testing.T) {
	seed.Slow(t)
	race.Skip(t)
	rng := random(t)
	for stop := range race.Fewer(60) {
		fs := memdisk.New()
		faulty, _ := memdisk.FailAt(fs, stop, true)
		s, err := Open("data", Options{FS: faulty})
		if err == nil {
			s.Close()
		}
		after := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		again, err := Open("data", Options{FS: after})
		if err != nil {
			t.Fatalf("stopped at write %d: %v", stop, err)
		}
		add(t, again, student(1))
		checked(t, again)
		require.NoError(t, again.Close())
	}
}

func TestNewIdentity(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := directory.NewIdentity(t.TempDir()); !errors.Is(err, ErrVersion) {
		t.Errorf("of an empty directory: %v", err)
	}
	s, err := Open(dir, Options{MinFreeBytes: -1, MaxSegmentBytes: 4 << 10})
	require.NoError(t, err)
	add(t, s, students(0, 1000)...)
	await.Condition(t, "a split", func() bool { return s.segments.Trie().Len() > 3 })
	id := s.MachineID()
	if err := directory.NewIdentity(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("while open: %v", err)
	}
	s.Close()
	require.NoError(t, directory.NewIdentity(dir))
	s, err = Open(dir, Options{MinFreeBytes: -1, MaxSegmentBytes: 4 << 10})
	require.NoError(t, err)
	defer s.Close()
	if s.MachineID() == id {
		t.Error("the same machine")
	}
	if got := s.segments.Placement().Owner(s.segments.Trie().Lookup([]byte{1})); got != s.MachineID() {
		t.Errorf("owner %s, machine %s", got, s.MachineID())
	}
	checked(t, s)
}

func TestValidate(t *testing.T) {
	for _, o := range []Options{{MaxSegmentBytes: -1}, {CacheBytes: -1}, {QueueBytes: -1}, {MemTableBytes: 1}, {MemTableBytes: 2 << 30}, {WriteTimeout: -1}} {
		if _, err := Open("data", o); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// If readers continue when the store closes, they get an error, and Close waits for them.
func TestCloseUnderReaders(t *testing.T) {
	s, err := Open("data", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	add(t, s, students(0, 5000)...)
	sn, err := s.Snapshot()
	require.NoError(t, err)
	rows, err := sn.Rows(ctx, triple.Range{})
	require.NoError(t, err)
	if !rows.First() {
		t.Fatal("no row")
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	await.Condition(t, "closing", s.db.Closing)
	select {
	case err := <-closed:
		t.Fatalf("closed under a reader: %v", err)
	default:
	}
	for rows.Next() {
	}
	if err := rows.Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("the reader got %v", err)
	}
	rows.Close()
	sn.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
