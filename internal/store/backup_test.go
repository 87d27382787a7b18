// Tests of backups, checkpoints, restores and checks.

package store

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/check"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A backup during writes holds the state of one moment, with all writes that were acknowledged
// before it began.
func TestBackupWhileWriting(t *testing.T) {
	s := openMem(t, Options{MemTableBytes: minMemTableBytes})
	add(t, s, students(0, race.Fewer(5000))...)
	loadTriples(t, s, "load", students(5000, 8000))
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for n := 8000; n < 8000+race.Fewer(20_000); n += 50 {
			select {
			case <-stop:
				return
			default:
				add(t, s, students(n, n+50)...)
			}
		}
	})
	for i := range 3 {
		var backup bytes.Buffer
		before := s.Status().Triples
		require.NoError(t, s.Backup(ctx, &backup))
		fs := vfs.NewMem()
		require.NoError(t, restore(ctx, fs, "restored", &backup))
		r, err := Open("restored", Options{FS: fs})
		require.NoError(t, err)
		report := checked(t, r)
		if report.Triples < before || report.Triples%50 != 0 || report.Triples != r.Status().Triples {
			t.Errorf("backup %d: %d triples, %d counted, %d before", i, report.Triples, r.Status().Triples, before)
		}
		if r.MachineID() != s.MachineID() {
			t.Error("another machine")
		}
		if loads, err := r.Loads(ctx); err != nil || len(loads) != 1 {
			t.Errorf("loads %v, %v", loads, err)
		}
		add(t, r, student(1_000_000))
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wait.Wait()
	names, err := s.options.FS.List("data/" + directory.TmpName)
	if err != nil || len(names) != 0 {
		t.Errorf("left in tmp: %v, %v", names, err)
	}
}

// On disk, with hard links.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(filepath.Join(dir, "data"), Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer s.Close()
	loadTriples(t, s, "load", students(0, 1000))
	add(t, s, students(1000, 1010)...)
	copied := filepath.Join(dir, "copies", "one")
	require.NoError(t, s.Checkpoint(ctx, copied))
	if err := s.Checkpoint(ctx, copied); !errors.Is(err, ErrInvalid) {
		t.Errorf("onto one that exists: %v", err)
	}
	add(t, s, students(2000, 2010)...)
	c, err := Open(copied, Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer c.Close()
	if r := checked(t, c); r.Triples != 1010 {
		t.Errorf("%d triples", r.Triples)
	}
}

func TestRestoreOnDisk(t *testing.T) {
	s := openDisk(t, Options{})
	add(t, s, students(0, 100)...)
	var backup bytes.Buffer
	require.NoError(t, s.Backup(ctx, &backup))
	dir := t.TempDir()
	for name, path := range map[string]string{"absent": filepath.Join(dir, "a", "b"), "empty": t.TempDir()} {
		if err := Restore(ctx, path, bytes.NewReader(backup.Bytes())); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := Open(path, Options{MinFreeBytes: -1})
		require.NoError(t, err)
		if report := checked(t, r); report.Triples != 100 {
			t.Errorf("%s: %d triples", name, report.Triples)
		}
		r.Close()
		if err := Restore(ctx, path, bytes.NewReader(backup.Bytes())); !errors.Is(err, ErrInvalid) {
			t.Errorf("onto a data directory: %v", err)
		}
	}
	if err := Restore(ctx, s.Dir(), bytes.NewReader(backup.Bytes())); !errors.Is(err, ErrLocked) {
		t.Errorf("onto an open one: %v", err)
	}
	full := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(full, "thesis.doc"), nil, 0o644))
	if err := Restore(ctx, full, bytes.NewReader(backup.Bytes())); !errors.Is(err, ErrInvalid) {
		t.Errorf("onto something else: %v", err)
	}
}

// entry is one entry of a tar.
type entry struct {
	header tar.Header
	data   []byte
}

func untar(t *testing.T, b []byte) []entry {
	t.Helper()
	var entries []entry
	for in := tar.NewReader(bytes.NewReader(b)); ; {
		h, err := in.Next()
		if err == io.EOF {
			return entries
		}
		require.NoError(t, err)
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		entries = append(entries, entry{*h, data})
	}
}

func retar(t *testing.T, entries []entry) []byte {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, e := range entries {
		e.header.Size = int64(len(e.data))
		require.NoError(t, out.WriteHeader(&e.header))
		if _, err := out.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, out.Close())
	return b.Bytes()
}

// If a tar is incomplete, changed or malicious, it is rejected, and nothing is left behind.
func TestRestoreRefuses(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, students(0, 300)...)
	require.NoError(t, s.db.Flush())
	var backup bytes.Buffer
	require.NoError(t, s.Backup(ctx, &backup))
	whole := backup.Bytes()
	tests := map[string]func() []byte{
		"nothing":       func() []byte { return nil },
		"not a tar":     func() []byte { return bytes.Repeat([]byte("thesis"), 1000) },
		"another tar":   func() []byte { return retar(t, untar(t, whole)[1:]) },
		"no checksums":  func() []byte { e := untar(t, whole); return retar(t, e[:len(e)-1]) },
		"a file less":   func() []byte { e := untar(t, whole); return retar(t, append(e[:2:2], e[3:]...)) },
		"a file twice":  func() []byte { e := untar(t, whole); return retar(t, append([]entry{e[0], e[1], e[1]}, e[2:]...)) },
		"after the end": func() []byte { e := untar(t, whole); return retar(t, append(e, e[1])) },
		"newer format": func() []byte {
			e := untar(t, whole)
			e[0].data = []byte(`{"format":2}`)
			return retar(t, e)
		},
	}
	for _, name := range []string{"../escape", "/etc/passwd", "store/../../escape", "store/a/b", "store", "store/..", "LOCK", `store/a\b`} {
		tests["file name "+name] = func() []byte {
			e := untar(t, whole)
			e[2].header.Name = name
			return retar(t, e)
		}
	}
	for name, flag := range map[string]byte{"link": tar.TypeSymlink, "hard link": tar.TypeLink, "directory": tar.TypeDir} {
		tests["a "+name] = func() []byte {
			e := untar(t, whole)
			e[2] = entry{tar.Header{Typeflag: flag, Name: "store/x", Linkname: "/etc/passwd"}, nil}
			return retar(t, e)
		}
	}
	for i, e := range untar(t, whole) {
		if i == 0 || len(e.data) == 0 {
			continue
		}
		tests["a bit in "+e.header.Name] = func() []byte {
			e := untar(t, whole)
			e[i].data[len(e[i].data)/2] ^= 1
			return retar(t, e)
		}
	}
	// The end of the last entry: zeros follow, and none is needed.
	end := len(whole) - 1024
	for whole[end-1] == 0 {
		end--
	}
	for at := 0; at < end; at += len(whole)/23 + 1 {
		tests[fmt.Sprintf("cut at %d", at)] = func() []byte { return whole[:at] }
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			err := restore(ctx, fs, "restored", bytes.NewReader(make()))
			if !errors.Is(err, ErrBackup) && !errors.Is(err, ErrVersion) {
				t.Errorf("error %v", err)
			}
			if _, err := fs.Stat("restored"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is something: %v", err)
			}
			if _, err := fs.Stat("escape"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("outside: %v", err)
			}
		})
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := restore(cancelled, vfs.NewMem(), "restored", bytes.NewReader(whole)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := s.Backup(cancelled, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("backup cancelled: %v", err)
	}
}

// If a restore is cut off at any write, Open rejects the directory or it is complete. Another
// restore completes it.
func TestRestoreInterrupted(t *testing.T) {
	race.Skip(t)
	rng := random(t)
	s := openMem(t, Options{})
	add(t, s, students(0, 100)...)
	var backup bytes.Buffer
	require.NoError(t, s.Backup(ctx, &backup))
	for stop := 0; ; stop++ {
		mem := memdisk.New()
		faulty, count := memdisk.FailAt(mem, stop, true)
		err := restore(ctx, faulty, "restored", bytes.NewReader(backup.Bytes()))
		after := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		r, openErr := Open("restored", Options{FS: after, ReadOnly: true})
		if openErr == nil {
			if report := checked(t, r); report.Triples != 100 {
				t.Errorf("stopped at write %d: %d triples", stop, report.Triples)
			}
			r.Close()
		} else if err == nil {
			t.Errorf("restored and not there: %v", openErr)
		} else if err := restore(ctx, after, "restored", bytes.NewReader(backup.Bytes())); err != nil {
			t.Errorf("stopped at write %d, then: %v", stop, err)
		}
		if count.Load() <= int64(stop) || t.Failed() {
			t.Logf("%d writes", count.Load())
			return
		}
	}
}

// Check finds the damage and names it.
func TestCheckFinds(t *testing.T) {
	race.Skip(t)
	key := func(o triple.Order, tr triple.Triple) []byte {
		k, _ := triple.AppendKey([]byte{keyspace.Storage}, o, tr)
		return k
	}
	stamp := triple.Stamp{Epoch: 1, Sequence: 1}
	named := student(3)
	named.Graph = iri("graph")
	long := triple.Triple{Subject: iri("s"), Predicate: iri("p"), Object: triple.NewString(strings.Repeat("x", 2000))}
	tests := []struct {
		name  string
		harm  func(s *Store) error
		order string
		about triple.Triple
		says  string
	}{
		{"missing in pos", func(s *Store) error { return s.db.Delete(key(triple.POS, student(4)), nil) }, "pos", student(4), "is in spo and not in pos"},
		{"missing in osp", func(s *Store) error { return s.db.Delete(key(triple.OSP, student(4)), nil) }, "osp", student(4), "not in osp"},
		{"missing in gspo", func(s *Store) error { return s.db.Delete(key(triple.GSPO, named), nil) }, "gspo", named, "not in gspo"},
		{"missing in spo", func(s *Store) error { return s.db.Delete(key(triple.SPO, student(4)), nil) }, "spo", student(4), "is in osp and not in spo"},
		{"another stamp", func(s *Store) error {
			return s.db.Set(key(triple.POS, student(4)), triple.AppendValue(nil, triple.Stamp{Epoch: 9, Sequence: 9}, student(4)), nil)
		}, "spo", student(4), "with stamp (9, 9) is in pos"},
		{"one too many", func(s *Store) error {
			return s.db.Set(key(triple.OSP, student(999)), triple.AppendValue(nil, stamp, student(999)), nil)
		}, "spo", student(999), "is in osp and not in spo"},
		{"annotation missing in osp", func(s *Store) error {
			return s.db.Delete(triple.AppendAnnotationKey(nil, key(triple.OSP, student(2)), "app"), nil)
		}, "osp", student(2), `the annotation of "app" is in spo and not in osp`},
		{"annotation of nothing", func(s *Store) error {
			return s.db.Set(triple.AppendAnnotationKey(nil, key(triple.POS, student(999)), "app"), triple.AppendAnnotation(nil, stamp, nil), nil)
		}, "pos", student(999), "without its triple"},
		{"another text under the same hash", func(s *Store) error {
			other := long
			other.Object = triple.NewString(strings.Repeat("x", 1999) + "y")
			return s.db.Set(key(triple.POS, long), triple.AppendValue(nil, stamp, other), nil)
		}, "pos", triple.Triple{}, "its key is"},
		{"rubbish as a value", func(s *Store) error { return s.db.Set(key(triple.SPO, student(4)), []byte{0x08}, nil) }, "spo", triple.Triple{}, "corrupt"},
		{"rubbish as a key", func(s *Store) error { return s.db.Set([]byte{keyspace.Storage, 1, 7, 7}, []byte{0, 1, 1}, nil) }, "spo", triple.Triple{}, "row"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openMem(t, Options{})
			add(t, s, append(students(0, 200), named, long)...)
			require.NoError(t, Annotate(ctx, s, student(2), "app", []byte("x")))
			checked(t, s)
			require.NoError(t, test.harm(s))
			report, err := s.Check(ctx)
			require.NoError(t, err)
			for _, p := range report.Problems {
				if p.Order == test.order && strings.Contains(p.Message, test.says) && (test.about == triple.Triple{} || p.Triple == test.about.String()) {
					return
				}
			}
			t.Errorf("problems %+v", report.Problems)
		})
	}
}

// If a whole order is missing, the list of problems is limited.
func TestCheckBounded(t *testing.T) {
	race.Skip(t)
	s := openMem(t, Options{})
	loadTriples(t, s, "load", students(0, 3000))
	lower, upper := keyspace.StorageBounds(triple.OrderRange(triple.OSP))
	require.NoError(t, s.db.DeleteRange(lower, upper, nil))
	report, err := s.Check(ctx)
	if err != nil || len(report.Problems) != check.MaxProblems || report.More != 3000-check.MaxProblems || report.Rows["osp"] != 0 {
		t.Errorf("%d problems and %d more, %v", len(report.Problems), report.More, err)
	}
}
