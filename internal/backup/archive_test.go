// Archives: their bytes, and those that must be rejected.

package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// scripted is a store with a feed of a script, because the stamps and times of golden files are fixed.
type scripted struct {
	*store.Store
	batches []feed.Batch
	begin   uint64 // where a full backup begins
}

func (s scripted) Feed() feed.Source { return s }

func (s scripted) Position(context.Context) (feed.Position, error) {
	return at(s.begin), nil
}

// Changes returns the batches behind a position. Batch i ends at sequence i+1 of its sequencer.
func (s scripted) Changes(_ context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for _, b := range s.batches[max(r.Since.Sequence(0), r.Since.Sequence(sequencer)):] {
			if !yield(&b, nil) {
				return
			}
		}
	}
}

func at(sequence uint64) feed.Position {
	return feed.Position{Source: 7, Epoch: 1, Marks: []feed.Mark{{Sequence: sequence}}}
}

func sample(n int) triple.Triple {
	t := triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://ex/s%d", n)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString("o")}
	switch n % 3 {
	case 1:
		t.Graph = triple.NewBlank("g")
	case 2:
		t.Object = triple.NewString(strings.Repeat("long", 300))
	}
	return t
}

// change returns a change of sample n with the sequence of its batch.
func change(kind feed.Kind, n int, sequence uint64) feed.Change {
	t := sample(n)
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	long, err := longOf(triple.AppendValue(nil, triple.Stamp{}, t))
	if err != nil {
		panic(err)
	}
	c := feed.Change{Kind: kind, Key: key, Long: long, Stamp: triple.Stamp{Epoch: 1, Sequence: sequence}}
	switch kind {
	case feed.Annotate:
		c.Annotation = &feed.Annotation{ApplicationID: "app", Data: []byte("data")}
	case feed.Clear:
		c.Key, c.Long, c.Clear = nil, nil, &feed.ClearInfo{Graphs: []triple.Term{triple.NewBlank("g")}}
	case feed.Load:
		c.Key, c.Long, c.Load = nil, nil, &feed.LoadInfo{ID: "l", New: 2}
	}
	return c
}

func newScripted(t *testing.T) scripted {
	t.Helper()
	s, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	var all []triple.Triple
	for n := range 6 {
		all = append(all, sample(n))
	}
	if _, err := store.Add(t.Context(), s, all); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, store.Annotate(t.Context(), s, sample(1), "app", []byte{0, 0xff}))
	f := scripted{Store: s}
	time0 := time.UnixMilli(1_800_000_000_123)
	for i, kinds := range [][]feed.Kind{{feed.Add, feed.Annotate}, {feed.Load}, {feed.Delete}, {feed.Clear}} {
		b := feed.Batch{Time: time0.Add(time.Duration(i) * time.Second), Position: at(uint64(i + 1))}
		for _, k := range kinds {
			b.Changes = append(b.Changes, change(k, 8+i, uint64(i+1)))
		}
		f.batches = append(f.batches, b)
	}
	return f
}

// make returns a chain: a full archive, and two increments.
func makeChain(t *testing.T) (full, first, second []byte) {
	t.Helper()
	s := newScripted(t)
	all := s.batches
	archive := func(take func(io.Writer) error) []byte {
		var b bytes.Buffer
		require.NoError(t, take(&b))
		return b.Bytes()
	}
	s.batches = all[:1]
	full = archive(func(w io.Writer) error { return Full(t.Context(), s, "test", w) })
	s.batches = all[:2]
	first = archive(func(w io.Writer) error { return Increment(t.Context(), s, at(1), "test", w) })
	s.batches = all
	second = archive(func(w io.Writer) error { return Increment(t.Context(), s, at(2), "test", w) })
	return full, first, second
}

func archives(chain ...[]byte) (all []Archive) {
	for i, a := range chain {
		all = append(all, Archive{fmt.Sprint("archive ", i), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a)), nil }})
	}
	return all
}

// entries returns the entries of an archive, with chunks decompressed.
func entries(t *testing.T, archive []byte) (names []string, contents [][]byte) {
	t.Helper()
	z, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer z.Close()
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		e, err := in.Next()
		if err == io.EOF {
			return names, contents
		}
		require.NoError(t, err)
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		if strings.Contains(e.Name, "/") {
			if data, err = z.DecodeAll(data, nil); err != nil {
				t.Fatal(err)
			}
		}
		names, contents = append(names, e.Name), append(contents, data)
	}
}

// TestGolden pins the chunks of archives, and restores an archive that was written when the format was
// made.
func TestGolden(t *testing.T) {
	full, first, second := makeChain(t)
	var text bytes.Buffer
	for i, a := range [][]byte{full, first, second} {
		names, contents := entries(t, a)
		for j, name := range names {
			fmt.Fprintf(&text, "archive %d: %s\n", i, name)
			if strings.Contains(name, "/") {
				fmt.Fprint(&text, shorten(hex.Dump(contents[j])))
			}
		}
	}
	goldenfile.Check(t, filepath.Join("testdata", "chunks.hex"), text.String())
	stored := filepath.Join("testdata", "full.tar")
	goldenfile.Rewrite(t, stored, string(full))
	data, err := os.ReadFile(stored)
	require.NoError(t, err)
	counts, err := Restore(t.Context(), filepath.Join(t.TempDir(), "d"), archives(data), Options{})
	if want := (Counts{Triples: 6, Annotations: 1, Changes: 2}); err != nil || counts != want {
		t.Errorf("%+v, %v", counts, err)
	}
}

// TestScript restores a chain, and points in it.
func TestScript(t *testing.T) {
	full, first, second := makeChain(t)
	for until, want := range map[uint64]string{1: "0 1 2 3 4 5 8", 2: "0 1 2 3 4 5 8", 3: "0 1 2 3 4 5 8", 4: "0 2 3 5 8"} {
		dir := filepath.Join(t.TempDir(), "d")
		if _, err := Restore(t.Context(), dir, archives(full, first, second), Options{Until: Until{Position: at(until)}}); err != nil {
			t.Errorf("%d: %v", until, err)
			continue
		}
		s, err := store.Open(dir, store.Options{MinFreeBytes: -1})
		require.NoError(t, err)
		var got []string
		for n := range 12 {
			if r, err := s.Snapshot(); err != nil {
				t.Fatal(err)
			} else if has, err := r.Has(t.Context(), sample(n)); has {
				got = append(got, fmt.Sprint(n))
				r.Close()
			} else if r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("until %d: %v, want %s", until, got, want)
		}
		s.Close()
	}
}

// pack makes a tar of entries.
func pack(t *testing.T, names []string, contents [][]byte) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i, name := range names {
		require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(contents[i])), Mode: 0o644}))
		if _, err := w.Write(contents[i]); err != nil {
			t.Fatal(err)
		}
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// rawEntries returns the entries of an archive as they are.
func rawEntries(t *testing.T, archive []byte) (names []string, contents [][]byte) {
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		e, err := in.Next()
		if err == io.EOF {
			return names, contents
		}
		require.NoError(t, err)
		data, _ := io.ReadAll(in)
		names, contents = append(names, e.Name), append(contents, data)
	}
}

// TestDamage restores damaged archives and wrong chains. Each must fail with a clear error and leave
// nothing.
func TestDamage(t *testing.T) {
	seed.Slow(t)
	full, first, second := makeChain(t)
	names, contents := rawEntries(t, full)
	damaged := map[string][][]byte{
		"nothing":                   {{}},
		"text":                      {[]byte("<http://a> <http://b> <http://c> .\n")},
		"foreign tar":               {pack(t, []string{"thesis.doc"}, [][]byte{[]byte("x")})},
		"only an increment":         {first},
		"a gap":                     {full, second},
		"another order":             {full, second, first},
		"twice":                     {full, first, first},
		"a second full one":         {full, full},
		"unknown format":            {pack(t, []string{headerName}, [][]byte{[]byte(`{"format":3}`)})},
		"header is not JSON":        {pack(t, []string{headerName}, [][]byte{[]byte(`{`)})},
		"trailer of another":        {pack(t, append(slices.Clone(names[:len(names)-1]), trailerName), append(slices.Clone(contents[:len(names)-1]), last(rawEntries(t, first))))},
		"something behind":          {pack(t, append(slices.Clone(names), "more"), append(slices.Clone(contents), []byte("x")))},
		"another store's increment": {full, bytes.Clone(otherIncrement(t))},
	}
	for i, name := range names {
		without := func(more ...int) []byte {
			n, c := slices.Delete(slices.Clone(names), i, i+1), slices.Delete(slices.Clone(contents), i, i+1)
			for _, at := range more {
				n, c = slices.Insert(n, at, name), slices.Insert(c, at, contents[i])
			}
			return pack(t, n, c)
		}
		damaged["without "+name] = [][]byte{without()}
		if i > 0 {
			damaged[name+" moved forward"] = [][]byte{without(i - 1)}
		}
		n, c := slices.Insert(slices.Clone(names), i, name), slices.Insert(slices.Clone(contents), i, contents[i])
		damaged[name+" twice"] = [][]byte{pack(t, n, c)}
	}
	for name, chain := range damaged {
		refused(t, name, chain...)
	}
	// Cut the archive at many places, and flip bits in each of its entries.
	for n := 0; n < bytes.LastIndexByte(full, '}'); n += 211 {
		refused(t, fmt.Sprintf("cut to %d of %d bytes", n, len(full)), full[:n])
	}
	begin := 0
	for i := range names {
		size := len(contents[i])
		for _, at := range []int{begin, begin + 124 + 3, begin + 150, begin + 512, begin + 512 + size/2, begin + 512 + size - 2} {
			flipped := bytes.Clone(full)
			flipped[at] ^= 0x10
			refused(t, fmt.Sprintf("a flipped bit in %s, byte %d", names[i], at), flipped)
		}
		begin += 512 + (size+511)/512*512
	}
}

func last(_ []string, contents [][]byte) []byte { return contents[len(contents)-1] }

// otherIncrement returns an increment of another store that begins at an equal place.
func otherIncrement(t *testing.T) []byte {
	s := newScripted(t)
	var b bytes.Buffer
	for i := range s.batches {
		s.batches[i].Position.Source = 8
	}
	from := at(1)
	from.Source = 8
	require.NoError(t, Increment(t.Context(), s, from, "test", &b))
	return b.Bytes()
}

func refused(t *testing.T, name string, chain ...[]byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "d")
	_, err := Restore(t.Context(), dir, archives(chain...), Options{Memory: 64 << 20})
	if !errors.Is(err, store.ErrBackup) && !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrVersion) {
		t.Errorf("%s: %v", name, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: the directory is there: %v", name, err)
	}
}

// TestUntilOutside: points outside of a chain are rejected before anything is made.
func TestUntilOutside(t *testing.T) {
	full, first, second := makeChain(t)
	foreign := at(2)
	foreign.Source = 9
	for name, until := range map[string]Until{
		"before the full one": {Position: at(0)}, "behind the end": {Position: at(5)}, "another store": {Position: foreign},
		"an early time": {Time: time.Unix(1, 0)}, "a late time": {Time: time.Now().Add(time.Hour)},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		if _, err := Restore(t.Context(), dir, archives(full, first, second), Options{Until: until}); !errors.Is(err, ErrUntil) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the directory is there: %v", name, err)
		}
	}
}

// TestIncrementSize: an increment grows with the changes, not with the store.
func TestIncrementSize(t *testing.T) {
	s := newScripted(t).Store
	var all []triple.Triple
	for n := range 20_000 {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://ex/%x", n*2654435761)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString("o")})
	}
	size := func(changed []triple.Triple) int {
		since, err := s.Feed().Position(t.Context())
		require.NoError(t, err)
		if _, err := store.Add(t.Context(), s, changed); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		require.NoError(t, Increment(t.Context(), s, since, "test", &b))
		return b.Len()
	}
	large, small := size(all[200:]), size(all[:200])
	if none := size(nil); small-none > large/50 || none > 4<<10 {
		t.Errorf("%d bytes for 19,800 changes, %d for 200, %d for none", large, small, none)
	}
}

func FuzzArchive(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "full.tar"))
	require.NoError(f, err)
	f.Add(data)
	f.Add(data[:700])
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = Read(bytes.NewReader(data)) })
}

func FuzzChunk(f *testing.F) {
	c := change(feed.Add, 2, 5)
	w := &writer{kind: kindChanges}
	for _, kind := range feed.Kinds[:3] {
		c.Kind, c.Annotation = kind, &feed.Annotation{ApplicationID: "a", Data: []byte("x")}
		require.NoError(f, w.change(&c, time.UnixMilli(1), feed.Position{}))
	}
	require.NoError(f, w.endPiece())
	f.Add(w.chunk)
	f.Fuzz(func(t *testing.T, chunk []byte) {
		_ = eachChange(chunk, func(c *feed.Change, _ moment) error {
			_, _ = c.Triple()
			return nil
		})
	})
}

// FuzzRows feeds bytes as the rows of an archive whose checksums are right. What is accepted is
// N-Quads.
func FuzzRows(f *testing.F) {
	one := triple.Triple{Subject: triple.NewIRI("a:s"), Predicate: triple.NewIRI("a:p"), Object: triple.NewString(strings.Repeat("o", 2000)), Graph: triple.NewIRI("a:g")}
	key, _ := triple.AppendKey(nil, triple.SPO, one)
	w := &writer{kind: kindRows}
	notes := []triple.ApplicationData{{ApplicationID: "a", Data: []byte("x")}}
	require.NoError(f, w.triple(kindRows, key, triple.AppendValue(nil, triple.Stamp{}, one), notes))
	require.NoError(f, w.endPiece())
	f.Add(w.chunk)
	f.Fuzz(func(t *testing.T, chunk []byte) {
		var archive bytes.Buffer
		w, err := newWriter(&archive, header{Format: format})
		require.NoError(t, err)
		w.kind, w.chunk = kindRows, chunk
		require.NoError(t, w.end(trailer{Position: feed.Position{Source: 1}.String()}))
		r, _, _, err := openArchive(&archive)
		require.NoError(t, err)
		defer r.close()
		if r.kind != kindRows {
			return // an empty chunk is not written
		}
		text, err := io.ReadAll(newRowsReader(r, func(*feed.Change, triple.Triple) (bool, error) { return false, nil }))
		if err != nil {
			return
		}
		for _, err := range syntax.Parse(t.Context(), bytes.NewReader(text), syntax.NQuads, syntax.Options{}) {
			if err != nil {
				t.Fatalf("%v in %q", err, text)
			}
		}
	})
}

// shorten leaves equal lines of a dump out, as hexdump does.
func shorten(dump string) string {
	var b strings.Builder
	text := func(line string) string { return line[max(len(line)-18, 0):] }
	before := ""
	for line := range strings.Lines(dump) {
		if text(line) != before {
			b.WriteString(line)
		}
		before = text(line)
	}
	return b.String()
}
