// Tests of setting a directory aside.

package store

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// madeMember makes the directory of a member with some rows, and returns its UUID.
func madeMember(t *testing.T, fs vfs.FS) directory.UUID {
	t.Helper()
	s, err := Open("data", Options{FS: fs, Member: true})
	require.NoError(t, err)
	if _, err := Add(ctx, s, students(0, 50)); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.SetIdentity(Identity{Cluster: "c", ClusterID: "i", Generation: 1}))
	require.NoError(t, s.Close())
	return s.id
}

// mustBeAside opens a directory in the middle of SetAside, and returns whether the moves had
// begun. If so, it belongs to a new machine, and its contents are below aside/.
func mustBeAside(t *testing.T, fs vfs.FS, was directory.UUID) (begun bool) {
	t.Helper()
	s, err := Open("data", Options{FS: fs, Member: true})
	if err != nil {
		names, _ := fs.List("data")
		t.Fatalf("the directory does not open any more: %v; it holds %v", err, names)
	}
	defer s.Close()
	if s.id == was { // nothing has happened yet
		if _, member := s.Identity(); !member || s.Status().Triples != 50 {
			t.Fatalf("the old machine has lost something: member %v, %d triples", member, s.Status().Triples)
		}
		return false
	}
	if _, member := s.Identity(); member || s.Status().Triples > 0 {
		t.Fatalf("the new machine is a member (%v) or has %d triples", member, s.Status().Triples)
	}
	if word, err := directory.ReadRejoin(fs, "data"); err != nil || !slices.Equal(word, []string{"a:1", "b:2"}) {
		t.Fatalf("it is to join %q, %v", word, err)
	}
	kept, err := Open("data/aside/1", Options{FS: fs, Member: true, ReadOnly: true})
	if err != nil {
		names, _ := fs.List("data/aside/1")
		t.Fatalf("what was set aside does not open: %v; it holds %v", err, names)
	}
	defer kept.Close()
	if kept.id != was || kept.Status().Triples != 50 {
		t.Fatalf("what was set aside is of machine %s and has %d triples", kept.id, kept.Status().Triples)
	}
	return true
}

// The power may fail before every step of SetAside, and before every step of the next Open that
// completes it.
func TestSetAsideCrashes(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	fs := memdisk.New()
	was := madeMember(t, fs)
	clones := crashes(t, fs, func(fs vfs.FS) {
		if _, err := directory.SetAside(fs, "data", []string{"a:1", "b:2"}); err != nil {
			t.Fatal(err)
		}
	}, rng)
	begun := 0
	for _, clone := range clones {
		// The power fails again when the next start completes it.
		for _, again := range crashes(t, clone, func(fs vfs.FS) { mustBeAside(t, fs, was) }, rng) {
			if mustBeAside(t, again, was) {
				begun++
			}
		}
	}
	t.Logf("%d crashes of SetAside; after two crashes it had begun in %d cases", len(clones), begun)
	if len(clones) < 10 || begun < 50 {
		t.Error("not a test")
	}
	if !mustBeAside(t, fs, was) {
		t.Error("nothing was set aside")
	}
}

// maxCrashes is more than the steps of setting aside, because Pebble's later writes do not matter
// here.
const maxCrashes = 25

// crashes returns the possible contents of the disk when the power fails before each operation of
// do, and at the end.
func crashes(t *testing.T, fs *memdisk.FS, do func(vfs.FS), rng *rand.Rand) (clones []*memdisk.FS) {
	t.Helper()
	var mu sync.Mutex // Pebble writes from several goroutines
	var watch atomic.Bool
	watch.Store(true)
	clone := func() {
		percent := []int{0, 100, rng.IntN(101)}[rng.IntN(3)]
		clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng}))
	}
	do(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if watch.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			mu.Lock()
			defer mu.Unlock()
			if len(clones) < maxCrashes {
				clone()
			}
		}
		return nil
	})))
	watch.Store(false)
	mu.Lock()
	defer mu.Unlock()
	clone()
	return clones
}

// If a process has the directory open, nothing is moved. A marker with another name than a
// directory of aside/ is an error.
func TestSetAsideRefused(t *testing.T) {
	fs := vfs.NewMem()
	was := madeMember(t, fs)
	s, err := Open("data", Options{FS: fs, Member: true})
	require.NoError(t, err)
	if _, err := directory.SetAside(fs, "data", nil); !errors.Is(err, ErrLocked) {
		t.Errorf("of a directory that is open: %v", err)
	}
	require.NoError(t, s.Close())
	require.NoError(t, directory.WriteFile(fs, "data/"+"ASIDE", []byte("../1\n")))
	if _, err := Open("data", Options{FS: fs, Member: true}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a marker of nothing: %v", err)
	}
	require.NoError(t, fs.Remove("data/"+"ASIDE"))
	mustBeAside(t, fs, was)
}
