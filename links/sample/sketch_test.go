// Tests of sketches and their table.

package sample

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/uid"
)

// tableOf returns a table with one sketch.
func tableOf(t testing.TB, s *Sketch) View {
	t.Helper()
	var b Builder
	require.NoError(t, b.Add(5, s))
	table, err := Open(b.AppendTo(nil))
	require.NoError(t, err)
	view, ok := table.Find(5)
	if !ok {
		t.Fatal("no sketch")
	}
	return view
}

// checkSketch compares samples of every class, in memory and encoded. The sketch must answer up
// to n = known.
func checkSketch(t *testing.T, s *Sketch, links []uid.UID, page uid.UID, known int) {
	t.Helper()
	view := tableOf(t, s)
	for class := range Class(numClasses) {
		kept := inClass(links, class, page)
		for _, n := range []int{-1, 0, 1, known - 1, known, known + 1, 2 * known, len(kept), len(kept) + 1} {
			want := smallest(kept, n)
			dst := []uid.UID{7}
			for i, draw := range []func() ([]uid.UID, bool){
				func() ([]uid.UID, bool) { return s.Sample(dst, n, class) },
				func() ([]uid.UID, bool) { return view.Sample(dst, n, class, Changes{}) },
			} {
				got, ok := draw()
				if !ok && (n <= known || len(got) != 1) || ok && !slices.Equal(got[1:], want) || got[0] != 7 {
					t.Fatalf("%d: %d of %s of %d links, sketch of %d: %v, %v, want %v", i, n, class, len(kept), known, got, ok, want)
				}
			}
		}
	}
}

func TestSketch(t *testing.T) {
	r := random(t)
	for range 300 {
		page := uid.UID(1+r.IntN(12)) << uid.PageBits
		links := aList(r, r.IntN(400), 1+r.IntN(12))
		size := 1 + r.IntN(60)
		s := NewSketch(links, ClassesOf(pairs{}, page), size)
		if s.Len() > numClasses*size {
			t.Fatalf("%d members", s.Len())
		}
		checkSketch(t, s, links, page, size)

		// If a list of a class is short, all of it is in the sketch.
		for class := range Class(numClasses) {
			kept := inClass(links, class, page)
			if got, ok := s.Sample(nil, len(kept)+1, class); ok != (len(kept) <= size) || ok && !slices.Equal(got, kept) {
				t.Fatalf("%d links of %s: %d, %v", len(kept), class, len(got), ok)
			}
		}
	}
}

// Lists in parts, also with common links.
func TestSketchMerge(t *testing.T) {
	r := random(t)
	for range 200 {
		page := uid.UID(1+r.IntN(12)) << uid.PageBits
		classes := ClassesOf(pairs{}, page)
		size := 1 + r.IntN(50)
		var links []uid.UID
		s := NewSketch(nil, classes, size)
		for range 1 + r.IntN(4) {
			part := aList(r, r.IntN(300), 12)
			s.Merge(NewSketch(part, classes, size))
			links = changed(links, part, nil)
		}
		checkSketch(t, s, links, page, size)
		if again := NewSketch(links, classes, size); !slices.Equal(s.members, again.members) || s.bounds != again.bounds {
			t.Fatalf("merged: %v, made of all: %v", s, again)
		}
	}
}

// Links are added and deleted, in the sketch and beside it. If a sketch lost d members, it still
// has size-d links of each class.
func TestSketchChanges(t *testing.T) {
	r := random(t)
	short := 0
	for range 200 {
		page := uid.UID(1+r.IntN(12)) << uid.PageBits
		classes := ClassesOf(pairs{}, page)
		size := 1 + r.IntN(50)
		links := aList(r, r.IntN(400), 12)
		s := NewSketch(links, classes, size)
		known := size
		for range 4 {
			added, deleted := aList(r, r.IntN(30), 12), someOf(r, links, r.IntN(10))
			after := changed(links, added, deleted)
			view := tableOf(t, s)
			for class := range Class(numClasses) {
				for _, n := range []int{0, 1, known - len(deleted), size, 3 * size} {
					kept := inClass(after, class, page)
					got, ok := view.Sample(nil, n, class, Changes{added, deleted, classes})
					if !ok && n <= known-len(deleted) || ok && !slices.Equal(got, smallest(kept, n)) {
						t.Fatalf("%d of %s: %v, %v, want %v", n, class, got, ok, smallest(kept, n))
					}
					if !ok {
						short++
					}
				}
			}
			s.Apply(added, deleted, classes)
			links, known = after, max(known-len(deleted), 0)
			checkSketch(t, s, links, page, known)
		}
	}
	if short == 0 {
		t.Error("no sketch was ever too short: the test tests nothing")
	}
}

// When its members are deleted, a sketch becomes short and must report it.
func TestSketchBecomesShort(t *testing.T) {
	links := aList(random(t), 5000, 12)
	page := links[0]
	s := NewSketch(links, ClassesOf(pairs{}, page), 64)
	deleted := smallest(links, 60)
	view := tableOf(t, s)
	for n := range 10 {
		_, ok := view.Sample(nil, n, All, Changes{Deleted: deleted})
		if ok != (n <= 4) {
			t.Errorf("%d: %v", n, ok)
		}
	}
	// Links help only if they are below the bound.
	rest := changed(links, nil, smallest(links, 64))
	if _, ok := view.Sample(nil, 5, All, Changes{Added: rest, Deleted: deleted}); ok {
		t.Error("greater links make up for deleted ones")
	}
	s.Apply(nil, deleted, ClassesOf(pairs{}, page))
	if _, ok := s.Sample(nil, 5, All); ok {
		t.Error("a sketch of 4 gives 5")
	}
	s.Apply(deleted[:3], nil, ClassesOf(pairs{}, page))
	if got, ok := s.Sample(nil, 7, All); !ok || !subset(deleted[:3], got) {
		t.Errorf("after adding three: %v, %v", got, ok)
	}
}

func someOf(r *rand.Rand, links []uid.UID, n int) []uid.UID {
	var some []uid.UID
	for range min(n, len(links)) {
		some = append(some, links[r.IntN(len(links))])
	}
	slices.Sort(some)
	return slices.Compact(some)
}

func TestSketchSize(t *testing.T) {
	for _, c := range []struct{ degree, size int }{{0, 0}, {1024, 0}, {1025, 64}, {3200, 200}, {4096, 256}, {10_000_000, 256}} {
		if got := SketchSize(c.degree); got != c.size {
			t.Errorf("%d links: %d, want %d", c.degree, got, c.size)
		}
	}
}

// aTable is several sketches of lists that do not depend on a seed.
func aTable(t testing.TB) ([]byte, map[uint32]*Sketch) {
	r := rand.New(rand.NewPCG(1, 2))
	var b Builder
	sketches := map[uint32]*Sketch{}
	for i, length := range []int{3, 0, 40, 9} {
		key := uint32(i * i * 100)
		s := NewSketch(aList(r, length, 12), ClassesOf(pairs{}, uid.UID(5)<<uid.PageBits), 4)
		sketches[key] = s
		require.NoError(t, b.Add(key, s))
	}
	return b.AppendTo(nil), sketches
}

func TestTableGolden(t *testing.T) {
	data, _ := aTable(t)
	path := filepath.Join("testdata", "table.hex")
	goldenfile.Check(t, path, hex.Dump(data))
}

func TestTable(t *testing.T) {
	data, sketches := aTable(t)
	if got := (&Builder{}).AppendTo([]byte("head")); len(got) != 4+headLen+checksumLen {
		t.Errorf("an empty table takes %d bytes", len(got)-4)
	}
	table, err := Open(data)
	require.NoError(t, err)
	if table.Len() != len(sketches) {
		t.Errorf("%d sketches", table.Len())
	}
	for key := range uint32(1000) {
		view, ok := table.Find(key)
		s := sketches[key]
		if ok != (s != nil) {
			t.Fatalf("list %d: %v", key, ok)
		}
		if !ok {
			continue
		}
		if again := view.Sketch(4); !slices.Equal(again.members, s.members) || again.bounds != s.bounds || view.Len() != s.Len() {
			t.Errorf("list %d: %v, want %v", key, again, s)
		}
	}
	if empty, err := Open((&Builder{}).AppendTo(nil)); err != nil || empty.Len() != 0 {
		t.Errorf("an empty table: %v", err)
	}
}

// A copy cut to a smaller size must be the sketch of that size.
func TestViewSketchIsCut(t *testing.T) {
	links := aList(random(t), 3000, 12)
	classes := ClassesOf(pairs{}, links[0])
	got, want := tableOf(t, NewSketch(links, classes, 50)).Sketch(20), NewSketch(links, classes, 20)
	if !slices.Equal(got.members, want.members) || got.bounds != want.bounds {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestBuilderOrder(t *testing.T) {
	for _, keys := range [][]uint32{{0, 0}, {3, 2}} {
		var b Builder
		s := NewSketch(nil, Classes{}, 1)
		require.NoError(t, b.Add(keys[0], s))
		if err := b.Add(keys[1], s); !errors.Is(err, ErrOrder) {
			t.Errorf("%d: %v", keys, err)
		}
	}
}

func TestOpenDamaged(t *testing.T) {
	data, _ := aTable(t)
	for i := range 8 * len(data) {
		damaged := bytes.Clone(data)
		damaged[i/8] ^= 1 << (i % 8)
		_, err := Open(damaged)
		wrong := ErrCorrupt
		if i/8 == len(magic) {
			wrong = ErrVersion
		}
		if !errors.Is(err, wrong) {
			t.Fatalf("bit %d: %v", i, err)
		}
	}
	for i := range data {
		if _, err := Open(data[:i]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
	if _, err := Open(append(bytes.Clone(data), make([]byte, 8)...)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("too long: %v", err)
	}
}

// Damage behind a right checksum.
func TestOpenForged(t *testing.T) {
	data, _ := aTable(t)
	members := headLen + 4*entryLen
	for _, c := range []struct {
		name   string
		forge  func([]byte)
		reason string
	}{
		{"a count", func(b []byte) { b[8]++ }, "take"},
		{"members", func(b []byte) { b[12]++ }, ""},
		{"reserved head", func(b []byte) { b[5] = 1 }, "take"},
		{"keys", func(b []byte) { b[headLen] = 200 }, "key is not greater"},
		{"ends", func(b []byte) { b[headLen+4] = 200 }, "end before"},
		{"the last end", func(b []byte) { b[headLen+3*entryLen+4]-- }, "ends at member"},
		{"bounds", func(b []byte) { copy(b[headLen+2*entryLen+8:], bytes.Repeat([]byte{255}, 8)) }, "do not ascend"},
		{"reserved", func(b []byte) { b[headLen+33] = 1 }, "not 0"},
		{"order", func(b []byte) { copy(b[members:members+8], make([]byte, 8)); copy(b[members+8:], make([]byte, 8)) }, "out of order"},
		{"bound", func(b []byte) { copy(b[headLen+2*entryLen+8:], make([]byte, 24)) }, "over its bound"},
		{"class", func(b []byte) { b[len(b)-16] |= 3 }, ""},
	} {
		forged := bytes.Clone(data)
		c.forge(forged)
		_, err := Open(resealed(forged))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// resealed corrects the checksum.
func resealed(data []byte) []byte {
	if len(data) < checksumLen {
		return data
	}
	body := bytes.Clone(data[:len(data)-checksumLen])
	return binary.LittleEndian.AppendUint64(body, xxhash.Sum64(body))
}

func FuzzOpen(f *testing.F) {
	data, _ := aTable(f)
	f.Add(data)
	f.Add((&Builder{}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(data)} {
			table, err := Open(data)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
					t.Fatal(err)
				}
				continue
			}
			var b Builder
			for i := range table.Len() {
				view, ok := table.Find(table.key(i))
				if !ok {
					t.Fatalf("sketch %d is not found", i)
				}
				for class := range Class(numClasses) {
					if got, ok := view.Sample(nil, 3, class, Changes{}); !ok && len(got) > 0 || len(got) > 3 || !ascending(got) {
						t.Fatalf("%v, %v", got, ok)
					}
				}
				require.NoError(t, b.Add(table.key(i), view.Sketch(view.Len())))
			}
			if again := b.AppendTo(nil); !bytes.Equal(again, data) {
				t.Fatalf("%x, encoded again %x", data, again)
			}
		}
	})
}
