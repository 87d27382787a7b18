// Documents and stores that the tests share.

package rdfload_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

var ctx = context.Background()

// tb is the common part of testing.TB and rapid.T.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// checkSome is rapid.Check for slow properties: it makes only a given number of the hundred checks.
func checkSome(t *testing.T, percent int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	n, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	if err := checks.Value.Set(strconv.Itoa(max(n*percent/100, 1))); err != nil {
		t.Fatal(err)
	}
	defer checks.Value.Set(before)
	rapid.Check(t, property)
}

// openStore opens a store in a directory; the caller must close it.
func openStore(t tb, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir, store.Options{CacheBytes: 1 << 20, MemTableBytes: 1 << 20, MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t tb, s *store.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// newStore opens an empty store. The test closes it.
func newStore(t testing.TB) *store.Store {
	t.Helper()
	s := openStore(t, filepath.Join(tempDir(t), "data"))
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// tempDir returns a new directory that the test removes. It is in memory if the system has such a
// place, because tests with many small runs mostly sync files.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rdfload-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// set is a set of triples.
type set map[triple.Triple]bool

// stored returns all triples of a store, and checks that its orders agree.
func stored(t tb, s *store.Store) set {
	t.Helper()
	report, err := s.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Errorf("check: %+v", p)
	}
	sn, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	all := make(set)
	for row, err := range sn.Match(ctx, triple.Pattern{}, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		tr, err := row.Triple()
		if err != nil {
			t.Fatal(err)
		}
		all[tr] = true
	}
	return all
}

// checkStored compares a store with the model.
func checkStored(t tb, s *store.Store, want set) {
	t.Helper()
	got := stored(t, s)
	if maps.Equal(got, want) {
		return
	}
	differ := func(what string, some, others set) {
		n := 0
		for tr := range some {
			if !others[tr] && n < 5 {
				n++
				t.Errorf("%s: %.200s", what, tr.String())
			}
		}
	}
	differ("lost", want, got)
	differ("from nowhere", got, want)
	t.Fatalf("the store holds %d triples, the model %d", len(got), len(want))
}

// checkNoLoads fails unless the directory of loads is empty.
func checkNoLoads(t tb, sink rdfload.Sink) {
	t.Helper()
	entries, err := os.ReadDir(sink.Dir())
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left in the directory of loads", e.Name())
	}
}

// document is a source in memory; it records how it was read.
type document struct {
	name  string
	data  []byte
	opens int
	read  int64
	// fail, if not nil, is returned after failAt bytes.
	fail   error
	failAt int64
	// hook, if not nil, is called with every read.
	hook func(read int64)
}

var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (d *document) source() input.Source {
	return input.Source{Name: d.name, Size: int64(len(d.data)), ModTime: modified, Open: func() (*input.Reader, error) {
		d.opens++
		return input.NewReader(&documentReader{document: d, rest: bytes.NewReader(d.data)}, d.name, input.Limits{})
	}}
}

type documentReader struct {
	*document
	rest *bytes.Reader
}

func (r *documentReader) Read(p []byte) (int, error) {
	at := r.rest.Size() - int64(r.rest.Len())
	if r.fail != nil && at+int64(len(p)) > r.failAt {
		p = p[:max(r.failAt-at, 0)]
		if len(p) == 0 {
			return 0, r.fail
		}
	}
	n, err := r.rest.Read(p)
	r.read += int64(n)
	if r.hook != nil {
		r.hook(r.read)
	}
	return n, err
}

func sources(documents ...*document) []input.Source {
	var list []input.Source
	for _, d := range documents {
		list = append(list, d.source())
	}
	return list
}

// text returns an N-Triples document of n distinct statements.
func text(seed, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "<http://example.org/s%d/%d> <http://example.org/p%d> \"%d\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n", seed, i/3, i%3, i*7919%1000)
	}
	return b.String()
}

// parsed returns the triples of an N-Triples or N-Quads text.
func parsed(t tb, text string) set {
	t.Helper()
	sc := triple.NewScanner(strings.NewReader(text), triple.ScanOptions{Quads: true})
	all := make(set)
	for sc.Scan() {
		all[sc.Triple().Clone()] = true
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// compressed compresses data by the suffix of a file's name.
func compressed(ext string, data []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch ext {
	case "":
		return data
	case ".gz":
		w = gzip.NewWriter(&out)
	case ".zst":
		w, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes all
	}
	return out.Bytes()
}

// union returns the union of the sets.
func union(sets ...set) set {
	all := make(set)
	for _, s := range sets {
		maps.Copy(all, s)
	}
	return all
}

// predicatesOf counts triples by predicate; nil if a key has not the whole predicate.
func predicatesOf(s set) map[string]int64 {
	n := map[string]int64{}
	for t := range s {
		if len(t.Predicate.Value()) >= 1<<10 {
			return nil
		}
		n[t.Predicate.Value()]++
	}
	return n
}

func triples(s set) []triple.Triple { return slices.Collect(maps.Keys(s)) }

// tableBytes returns the size of the tables in a store's directory.
func tableBytes(t tb, dir string) (size int64) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return size
}
