// Damage to manifests, and crashes while they are written.

package synced

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var random = seed.Rand

const (
	dir  = "db"
	base = "MANIFEST-000001"
	path = dir + "/" + base
)

// read returns the contents of a file.
func read(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	return b
}

// write writes b into a file and leaves b unchanged. Under the race detector, Pebble's file system
// in memory spoils written bytes.
func write(t testing.TB, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	_, err = f.Write(slices.Clone(b))
	require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
}

// mark makes the marker of the manifest.
func mark(t testing.TB, fs vfs.FS) {
	t.Helper()
	m, _, err := atomicfs.LocateMarker(fs, dir, "manifest")
	require.NoError(t, err)
	require.NoError(t, errors.Join(m.Move(base), m.Close()))
}

// begin writes a manifest with a record of each size, each synced, and leaves it open.
func begin(t testing.TB, fs vfs.FS, sizes ...int) (vfs.File, *record.Writer) {
	t.Helper()
	require.NoError(t, fs.MkdirAll(dir, 0o755))
	f, err := Guard(fs).Create(path, vfs.WriteCategoryUnspecified)
	require.NoError(t, err)
	w := record.NewWriter(f)
	for i, size := range sizes {
		_, err := w.WriteRecord(bytes.Repeat([]byte{byte('a' + i)}, size))
		require.NoError(t, err)
		if i%2 == 0 {
			require.NoError(t, f.Sync())
		} else {
			require.NoError(t, f.SyncData())
		}
	}
	mark(t, fs)
	return f, w
}

// refused fails the test unless Check rejects the manifest.
func refused(t *testing.T, fs vfs.FS, what string) {
	t.Helper()
	if err := Check(fs, dir); !errors.Is(err, pebble.ErrCorruption) || !strings.Contains(err.Error(), path) {
		t.Errorf("%s: %v", what, err)
	}
}

// Each entry has the form in the package comment.
func TestEntry(t *testing.T) {
	b := appendEntry(nil, base, 0x0102030405)
	if got, want := hex.EncodeToString(b), "050403020100000077cf6237"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, c := range []struct {
		what    string
		entries []byte
		want    int64
	}{
		{"none", nil, 0},
		{"one", b, 0x0102030405},
		{"cut off", b[:entryBytes-1], 0},
		{"of another manifest", appendEntry(nil, "MANIFEST-000002", 7), 0},
		{"the longest counts", appendEntry(appendEntry(nil, base, 9), base, 7), 9},
		{"a bad one before", append([]byte("twelve bytes"), appendEntry(nil, base, 7)...), 7},
		{"a length that is none", appendEntry(nil, base, -7), 0},
	} {
		if got := longest(parseEntries(c.entries, base)); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

// block returns sizes of records that fill a block of the format, except for some bytes. Pebble
// searches for the flipped bit, and this takes long inside records.
func block(but int) []int {
	const blockBytes, headerBytes, records = 32 << 10, 7, 64
	sizes := slices.Repeat([]int{blockBytes/records - headerBytes}, records)
	sizes[records-1] -= but
	return sizes
}

// Every flipped bit and every cut is rejected, except in bytes between records.
func TestDamage(t *testing.T) {
	rng := random(t)
	for _, c := range []struct {
		what     string
		sizes    []int
		from, to int // bytes between records
	}{
		{"one record", []int{1}, 0, 0},
		{"an empty record", []int{100, 0, 300}, 0, 0},
		{"a block that is filled up", append(block(5), 30), 32<<10 - 5, 32 << 10},
		{"a record in two blocks", append(block(50), 300), 0, 0},
	} {
		fs := vfs.NewMem()
		f, _ := begin(t, fs, c.sizes...)
		require.NoError(t, f.Close())
		data := read(t, fs, path)
		require.NoError(t, Check(fs, dir))
		first := max(0, len(data)-500)
		for at := range data {
			if at < first && rng.IntN(200) > 0 {
				continue
			}
			changed := slices.Clone(data)
			changed[at] ^= 1 << rng.IntN(8)
			write(t, fs, path, changed)
			if at >= c.from && at < c.to {
				require.NoError(t, Check(fs, dir))
			} else {
				refused(t, fs, fmt.Sprintf("%s: byte %d of %d", c.what, at, len(data)))
			}
			write(t, fs, path, data[:at])
			refused(t, fs, fmt.Sprintf("%s: cut at byte %d of %d", c.what, at, len(data)))
		}
		require.NoError(t, fs.Remove(path))
		refused(t, fs, "gone")
	}
}

// A record that was not synced may be cut off anywhere and have any contents.
func TestTorn(t *testing.T) {
	rng := random(t)
	fs := vfs.NewMem()
	f, w := begin(t, fs, block(50)...)
	synced := len(read(t, fs, path))
	_, err := w.WriteRecord(bytes.Repeat([]byte("z"), 600))
	require.NoError(t, errors.Join(err, f.Close()))
	data := read(t, fs, path)
	for range 300 {
		at := synced + rng.IntN(len(data)-synced)
		write(t, fs, path, data[:at])
		require.NoError(t, Check(fs, dir))
		changed := slices.Clone(data)
		changed[at] ^= 1 << rng.IntN(8)
		write(t, fs, path, changed)
		require.NoError(t, Check(fs, dir))
	}
}

// Damage to only the file beside the manifest is no error, and removes at most the promise of the
// last entry.
func TestDamageBeside(t *testing.T) {
	rng := random(t)
	fs := vfs.NewMem()
	f, _ := begin(t, fs, 10, 20, 30)
	require.NoError(t, f.Close())
	data, entries := read(t, fs, path), read(t, fs, path+suffix)
	if len(entries) != 3*entryBytes || longest(parseEntries(entries, base)) != int64(len(data)) {
		t.Fatalf("a manifest of %d bytes: % X", len(data), entries)
	}
	before := longest(parseEntries(entries[:2*entryBytes], base))
	for at := range entries {
		changed := slices.Clone(entries)
		changed[at] ^= 1 << rng.IntN(8)
		for _, beside := range [][]byte{changed, entries[:at]} {
			write(t, fs, path+suffix, beside)
			write(t, fs, path, data)
			require.NoError(t, Check(fs, dir))
			if at >= 2*entryBytes {
				write(t, fs, path, data[:before-1])
				refused(t, fs, "a cut of what the entry before promises")
			}
		}
	}
	require.NoError(t, fs.Remove(path+suffix)) // an earlier release leaves it so
	write(t, fs, path, data[:5])
	require.NoError(t, Check(fs, dir))
}

// If a file has many entries, its end counts.
func TestManyEntries(t *testing.T) {
	fs := vfs.NewMem()
	f, _ := begin(t, fs, slices.Repeat([]int{1}, 5000)...)
	require.NoError(t, f.Close())
	require.NoError(t, Check(fs, dir))
	data := read(t, fs, path)
	write(t, fs, path, data[:len(data)-1])
	refused(t, fs, "cut by a byte")
	entries := read(t, fs, path+suffix)
	write(t, fs, path+suffix, append(entries, "cut off"...))
	refused(t, fs, "cut by a byte, and an entry cut off")
}

// If a crash left the promise of a manifest without a pointer to it, it must not count for the
// next one of its name.
func TestSameName(t *testing.T) {
	rng := random(t)
	for range 50 {
		fs := memdisk.New()
		f, _ := begin(t, fs, 1000, 1000)
		require.NoError(t, f.Close())
		f, err := Guard(fs).Create(path, vfs.WriteCategoryUnspecified)
		require.NoError(t, err)
		_, err = record.NewWriter(f).WriteRecord([]byte("short"))
		require.NoError(t, errors.Join(err, f.Sync(), f.Close()))
		require.NoError(t, Check(fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}), dir))
	}
}

// The file is removed before its manifest.
func TestRemove(t *testing.T) {
	fs := vfs.NewMem()
	f, _ := begin(t, fs, 10)
	require.NoError(t, f.Close())
	require.NoError(t, Guard(fs).Remove(path))
	for _, name := range []string{path, path + suffix} {
		if _, err := fs.Stat(name); !oserror.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(t, fs, path, nil)
	require.NoError(t, Guard(fs).Remove(path))
	require.NoError(t, Check(vfs.NewMem(), dir))
}

// If a length cannot be written, the sync fails.
func TestFaults(t *testing.T) {
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll(dir, 0o755))
	for _, kind := range []errorfs.OpKind{errorfs.OpFileWrite, errorfs.OpFileSyncData, errorfs.OpCreate} {
		fault := errors.New("fault")
		fs := Guard(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == kind && strings.HasSuffix(op.Path, suffix) {
				return fault
			}
			return nil
		})))
		f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		if kind == errorfs.OpCreate {
			if !errors.Is(err, fault) {
				t.Errorf("create: %v", err)
			}
			continue
		}
		require.NoError(t, err)
		_, err = f.Write([]byte("x"))
		require.NoError(t, err)
		if err := f.Sync(); !errors.Is(err, fault) {
			t.Errorf("%v: %v", kind, err)
		}
		require.NoError(t, f.Close())
	}
}

// Whenever a machine crashes, the manifest must be whole, and the database must have all
// acknowledged writes.
func TestCrash(t *testing.T) {
	rng := random(t)
	fs := memdisk.New()
	open := func(fs vfs.FS) *pebble.DB {
		require.NoError(t, Check(fs, dir))
		db, err := pebble.Open(dir, &pebble.Options{FS: Guard(fs), FormatMajorVersion: pebble.FormatNewest, Logger: quiet{t}})
		require.NoError(t, err)
		return db
	}
	db := open(fs)
	type crash struct {
		fs   *memdisk.FS
		rows int
	}
	var crashes []crash
	for i := range 40 {
		require.NoError(t, db.Set(fmt.Appendf(nil, "%04d", i), make([]byte, 100), pebble.Sync))
		if rng.IntN(2) == 0 {
			_, err := db.AsyncFlush()
			require.NoError(t, err)
		}
		crashes = append(crashes, crash{fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng}), i + 1})
	}
	require.NoError(t, db.Close())
	for _, c := range crashes {
		db := open(c.fs)
		for i := range c.rows {
			_, closer, err := db.Get(fmt.Appendf(nil, "%04d", i))
			if err != nil {
				t.Fatalf("row %d of %d: %v", i, c.rows, err)
			}
			require.NoError(t, closer.Close())
		}
		require.NoError(t, db.Close())
	}
}

// quiet is a logger for Pebble.
type quiet struct{ t *testing.T }

func (quiet) Infof(string, ...any)                {}
func (quiet) Errorf(string, ...any)               {}
func (q quiet) Fatalf(format string, args ...any) { q.t.Errorf(format, args...) }

// Arbitrary bytes are rejected or valid, and nothing else happens.
func FuzzCheck(f *testing.F) {
	fs := vfs.NewMem()
	file, _ := begin(f, fs, 10, 20, 30)
	require.NoError(f, file.Close())
	data, entries := read(f, fs, path), read(f, fs, path+suffix)
	f.Add(data, entries)
	f.Add(data[:20], entries)
	f.Add([]byte{}, appendEntry(nil, base, 1<<62))
	f.Fuzz(func(t *testing.T, data, entries []byte) {
		write(t, fs, path, data)
		write(t, fs, path+suffix, entries)
		err := Check(fs, dir)
		if err != nil && !errors.Is(err, pebble.ErrCorruption) {
			t.Errorf("an error of another kind: %v", err)
		}
		if err == nil && longest(parseEntries(entries, base)) > int64(len(data)) {
			t.Error("a manifest that is shorter than was promised is in order")
		}
	})
}
