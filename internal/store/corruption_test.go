// Flipped bits in tables, logs and manifests.

package store

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// readFile returns the contents of a file.
func readFile(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return b
}

// copyTree returns a copy of the data directory.
func copyTree(t testing.TB, fs vfs.FS) *memdisk.FS {
	t.Helper()
	to := memdisk.New()
	if _, err := vfs.Clone(fs, to, "data", "data"); err != nil {
		t.Fatal(err)
	}
	return to
}

// storeFiles returns the names of the database's files with a suffix or prefix.
func storeFiles(t testing.TB, fs vfs.FS, match func(string) bool) []string {
	t.Helper()
	names, err := fs.List("data/store")
	require.NoError(t, err)
	var found []string
	for _, name := range names {
		if match(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// A flipped bit anywhere in a table is found by a read. The error must name the file, and no
// answer may be wrong.
func TestFlippedBitsInTables(t *testing.T) {
	race.Skip(t)
	rng := random(t)
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	loadTriples(t, s, "load", students(0, 3000))
	add(t, s, students(3000, 4000)...)
	// The tables of the flush stay beside those of the load, because a compaction has no room.
	fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1, TotalBytes: 1 << 30})
	require.NoError(t, s.db.Flush())
	require.NoError(t, s.Close())
	tables := storeFiles(t, fs, func(name string) bool { return strings.HasSuffix(name, ".sst") })
	if len(tables) < 4 {
		t.Fatalf("tables %v", tables)
	}
	found, harmless := 0, 0
	for _, table := range tables {
		data := readFile(t, fs, "data/store/"+table)
		for i := range race.Fewer(10) {
			at := rng.IntN(len(data))
			if i%2 == 0 { // more at the end, because the table's description is there
				at = len(data) - 1 - rng.IntN(min(len(data), 1200))
			}
			bit := rng.IntN(8)
			harmed := copyTree(t, fs)
			data[at] ^= 1 << bit
			require.NoError(t, directory.WriteFile(harmed, "data/store/"+table, data))
			data[at] ^= 1 << bit
			switch what := readAll(t, harmed, 4000); {
			case what == nil:
				harmless++
			case errors.Is(what, ErrCorrupt) && strings.Contains(what.Error(), table):
				found++
			default:
				t.Errorf("%s, byte %d of %d, bit %d: %v", table, at, len(data), bit, what)
			}
		}
	}
	t.Logf("%d flipped bits found, %d without effect", found, harmless)
	if found < harmless {
		t.Error("most are found")
	}
}

// readAll opens the store and reads it in several ways. It returns the first error. If an answer
// is wrong, it fails the test.
func readAll(t *testing.T, fs vfs.FS, want int) error {
	t.Helper()
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		return err
	}
	defer s.Close()
	sn, err := s.Snapshot()
	if err != nil {
		return err
	}
	defer sn.Close()
	var first error
	note := func(err error) {
		if err != nil && first == nil {
			first = err
		}
	}
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		n := 0
		for row, err := range sn.Range(ctx, triple.Bounds{Order: o}, ReadOptions{}) {
			if err != nil {
				note(err)
				n = -1
				break
			}
			if _, err := row.Triple(); err != nil {
				t.Errorf("a row that does not decode was given out: %v", err)
			}
			n++
		}
		if n >= 0 && n != want {
			t.Errorf("%s: %d rows and no error, want %d", o, n, want)
		}
	}
	for i := 0; i < want; i += 97 {
		ok, err := sn.Has(ctx, student(i))
		if err == nil && !ok {
			t.Errorf("%s: not there, and no error", student(i))
		}
		note(err)
	}
	report, err := s.Check(ctx)
	if err != nil {
		t.Errorf("check: %v", err)
	}
	for _, p := range report.Problems {
		if first == nil {
			t.Errorf("check finds what reads did not: %+v", p)
		}
	}
	if first != nil && len(report.Problems) == 0 {
		t.Errorf("check does not find what reads did: %v", first)
	}
	return first
}

// The process is killed, and then a bit of its log flips: Open rejects the store, also in the last
// 32 KiB, where Pebble takes damage for a write that a crash cut off.
func TestFlippedBitsInLog(t *testing.T) {
	race.Skip(t)
	rng := random(t)
	fs := memdisk.New()
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	defer s.Close()
	const batches, batch = 120, 20
	for i := range batches {
		add(t, s, students(i*batch, (i+1)*batch)...)
	}
	killed := copyTree(t, fs)
	logs := storeFiles(t, killed, func(name string) bool { return strings.HasSuffix(name, ".log") })
	log := "data/store/" + logs[len(logs)-1]
	data := readFile(t, killed, log)
	end := len(data)
	for end > 0 && data[end-1] == 0 {
		end--
	}
	const tail = 32 << 10
	if end < 4*tail {
		t.Fatalf("a log of %d bytes only", end)
	}
	for i := range race.Fewer(100) {
		at := rng.IntN(end)
		if i%2 == 0 {
			at = end - 1 - rng.IntN(tail)
		}
		changed := append([]byte{}, data...)
		changed[at] ^= 1 << rng.IntN(8)
		require.NoError(t, directory.WriteFile(killed, log, changed))
		again, err := Open("data", Options{FS: killed, ReadOnly: i%4 == 0})
		if err == nil {
			again.Close()
			t.Fatalf("byte %d of %d: %d triples and no error, %d were acknowledged", at, end, again.Status().Triples, batches*batch)
		}
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(fmt.Sprint(err), filepath.Base(log)) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	require.NoError(t, directory.WriteFile(killed, log, data))
	again, err := Open("data", Options{FS: killed})
	require.NoError(t, err)
	defer again.Close()
	if r := checked(t, again); r.Triples != batches*batch {
		t.Errorf("%d triples", r.Triples)
	}
}

// Flipped bits in the files that list the tables: the store is rejected, or they have no effect.
func TestFlippedBitsInManifest(t *testing.T) {
	race.Skip(t)
	rng := random(t)
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	for i := range 4 {
		loadTriples(t, s, fmt.Sprint(i), students(i*1000, (i+1)*1000))
	}
	require.NoError(t, s.Close())
	refused, harmless := 0, 0
	for _, name := range storeFiles(t, fs, func(name string) bool { return !strings.HasSuffix(name, ".sst") && name != "LOCK" }) {
		data := readFile(t, fs, "data/store/"+name)
		for range race.Fewer(6) {
			if len(data) == 0 {
				break
			}
			at, bit := rng.IntN(len(data)), rng.IntN(8)
			harmed := copyTree(t, fs)
			data[at] ^= 1 << bit
			require.NoError(t, directory.WriteFile(harmed, "data/store/"+name, data))
			data[at] ^= 1 << bit
			if err := readAll(t, harmed, 4000); err != nil {
				refused++
			} else {
				harmless++
			}
			if t.Failed() {
				t.Fatalf("%s, byte %d of %d, bit %d", name, at, len(data), bit)
			}
		}
	}
	t.Logf("%d refused, %d without effect", refused, harmless)
}

// manifestOf returns the path of the current manifest.
func manifestOf(t *testing.T, fs vfs.FS, store string) string {
	t.Helper()
	name, err := atomicfs.ReadMarker(fs, store, "manifest")
	require.NoError(t, err)
	return fs.PathJoin(store, name)
}

// Every bit of the current manifest counts. Pebble would take a flipped bit, or a cut, for its
// end, and delete the later tables. Records being written at the crash are not missed.
func TestManifestIsWhole(t *testing.T) {
	rng := random(t)
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	for i := range 3 {
		loadTriples(t, s, fmt.Sprint(i), students(i*100, (i+1)*100))
	}
	require.NoError(t, s.Checkpoint(ctx, "copy"))
	require.NoError(t, s.Close())
	for _, dir := range []string{"copy", "data"} {
		path := manifestOf(t, fs, dir+"/store")
		data := readFile(t, fs, path)
		refuse := func(what string, at int, changed []byte) {
			t.Helper()
			require.NoError(t, directory.WriteFile(fs, path, changed))
			s, err := Open(dir, Options{FS: fs})
			if err == nil {
				s.Close()
				t.Fatalf("%s: %s at byte %d of %d is not told", path, what, at, len(data))
			}
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %s at byte %d: %v", path, what, at, err)
			}
		}
		for at := range data {
			if rng.IntN(20) >= race.Fewer(5) {
				continue
			}
			changed := slices.Clone(data)
			changed[at] ^= 1 << rng.IntN(8)
			refuse("a flipped bit", at, changed)
			refuse("a cut", at, data[:at])
		}
		// The start of another record: 11 bytes of it.
		require.NoError(t, directory.WriteFile(fs, path, append(slices.Clone(data), 1, 2, 3, 4, 90, 0, 1, 5, 6, 7, 8)))
	}
	if err := readAll(t, fs, 300); err != nil {
		t.Error(err)
	}
}
