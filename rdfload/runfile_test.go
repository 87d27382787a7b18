// Tests of run files.

package rdfload

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var testCommon = []byte("common")

// writeRunFile writes rows to a new run file.
func writeRunFile(t testing.TB, path string, rows []row) {
	t.Helper()
	w, err := createRunFile(path, testCommon)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Set([]byte(r.key), []byte(r.value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// readRunFile reads the rows from lo on.
func readRunFile(path string, lo []byte) (rows []row, err error) {
	index, end, err := readRunIndex(path)
	if err != nil {
		return nil, err
	}
	err = mergeRuns([][]runPiece{{{path, index, end}}}, lo, nil, testCommon, func(key, value []byte) error {
		rows = append(rows, row{string(key), string(value)})
		return nil
	})
	return rows, err
}

// someRows returns rows of all kinds of values.
func someRows(n int, seed uint64) []row {
	rng := rand.New(rand.NewPCG(seed, 0))
	var rows []row
	for i := range n {
		value := string(testCommon)
		switch rng.IntN(50) {
		case 0:
			value = fmt.Sprint("value", i)
		case 1:
			value = strings.Repeat("far", 10_000+i)
		case 2:
			value = strings.Repeat(fmt.Sprint(rng.Uint64()), 500) // about farBytes
		}
		random := make([]byte, rng.IntN(200)) // nothing to compress
		for j := range random {
			random[j] = byte(rng.Uint32())
		}
		rows = append(rows, row{fmt.Sprintf("key %06d %s", i*3, random), value})
	}
	return rows
}

func TestRunFile(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads and writes")
	}
	dir := t.TempDir()
	for _, n := range []int{0, 1, 2, 100, 3000, 20_000} {
		path := filepath.Join(dir, fmt.Sprint(n))
		rows := someRows(n, uint64(n))
		writeRunFile(t, path, rows)
		got, err := readRunFile(path, nil)
		if err != nil || !slices.Equal(got, rows) {
			t.Fatalf("%d rows come back as %d: %v", n, len(got), err)
		}
		for _, from := range []int{-1, 0, 1, 2, n/2*3 - 1, n / 2 * 3, n/2*3 + 1, 3*n - 4, 3*n - 3, 3*n - 2, 3 * n} {
			lo := fmt.Sprintf("key %06d", from)
			if from < 0 {
				lo = "a"
			}
			want := rows[sort.Search(n, func(i int) bool { return rows[i].key >= lo }):]
			if got, err := readRunFile(path, []byte(lo)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%d rows from %q on: %d, want %d: %v", n, lo, len(got), len(want), err)
			}
		}
	}
	if index, _, err := readRunIndex(filepath.Join(dir, "20000")); err != nil || len(index) < 2 {
		t.Errorf("the index has %d entries: %v", len(index), err)
	}
}

func TestRunFileProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringN(0, 20, 40), 0, 50, rapid.ID).Draw(t, "keys")
		slices.Sort(keys)
		var rows []row
		for _, k := range keys {
			rows = append(rows, row{k, rapid.SampledFrom([]string{"", "common", "other", strings.Repeat("x", farBytes), strings.Repeat("x", farBytes+1)}).Draw(t, "value")})
		}
		path := filepath.Join(dir, "run")
		w, err := createRunFile(path, testCommon)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			err = errors.Join(err, w.Set([]byte(r.key), []byte(r.value)))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		lo := rapid.SampledFrom(append(keys, "", "m", "\xFF")).Draw(t, "lo")
		want := rows[sort.SearchStrings(keys, lo):]
		if got, err := readRunFile(path, []byte(lo)); err != nil || !slices.Equal(got, want) {
			t.Fatalf("from %q on: %q, want %q: %v", lo, got, want, err)
		}
	})
}

// TestRunFileDamage flips a bit in every byte, and cuts the file at every length. Every damage must
// be detected.
func TestRunFileDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	rows := []row{
		{"a", "common"}, {"ab", "common"}, {"abc", "its own"},
		{"b", strings.Repeat("far", farBytes)}, {"c", "common"},
	}
	writeRunFile(t, path, rows)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(data []byte, what string, at int) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := readRunFile(path, nil); !errors.Is(err, errRunFile) {
			t.Fatalf("%s %d of %d: %d rows, %v", what, at, len(whole), len(got), err)
		}
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1 << (i % 8)
		try(damaged, "a bit is flipped in byte", i)
		damaged[i] = whole[i] ^ 0x80 // the flag of far values is a highest bit
		try(damaged, "the highest bit is flipped in byte", i)
		try(whole[:i], "cut after byte", i)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readRunFile(path, nil); !errors.Is(err, errRunFile) {
		t.Fatalf("an empty file: %v", err)
	}
	if _, err := readRunFile(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("no file: %v", err)
	}
}

// TestMergeRuns merges runs in pieces, within random bounds, and compares with a
// map.
func TestMergeRuns(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		model := make(map[string]string)
		var runs [][]runPiece
		for i := range rapid.IntRange(0, 5).Draw(rt, "runs") {
			keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 99), 0, 40, rapid.ID).Draw(rt, "keys")
			slices.Sort(keys)
			var rows []row
			for _, k := range keys {
				r := row{fmt.Sprintf("%02d", k), "common"}
				if k%3 == 0 {
					r.value = fmt.Sprint("value of ", k)
				}
				rows = append(rows, r)
				model[r.key] = r.value
			}
			var pieces []runPiece
			for j, s := range split(len(rows), rapid.IntRange(1, 4).Draw(rt, "pieces")) {
				path := filepath.Join(dir, fmt.Sprintf("%d-%d", i, j))
				writeRunFile(t, path, rows[s.lo:s.hi])
				index, end, err := readRunIndex(path)
				if err != nil {
					rt.Fatal(err)
				}
				if end > 0 {
					pieces = append(pieces, runPiece{path, index, end})
				}
			}
			if len(pieces) > 0 {
				runs = append(runs, pieces)
			}
		}
		bounds := mergeBounds(runs, rapid.IntRange(1, 6).Draw(rt, "parts"))
		if rapid.Bool().Draw(rt, "random bounds") {
			bounds = nil
			for _, k := range slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.IntRange(0, 99), 0, 4).Draw(rt, "bounds")))) {
				bounds = append(bounds, fmt.Appendf(nil, "%02d", k))
			}
		}
		var got []row
		var lo []byte
		for i := range len(bounds) + 1 {
			var hi []byte
			if i < len(bounds) {
				hi = bounds[i]
			}
			err := mergeRuns(runs, lo, hi, testCommon, func(key, value []byte) error {
				got = append(got, row{string(key), string(value)})
				return nil
			})
			if err != nil {
				rt.Fatal(err)
			}
			lo = hi
		}
		var want []row
		for _, k := range slices.Sorted(maps.Keys(model)) {
			want = append(want, row{k, model[k]})
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("bounds %q\ngot  %q\nwant %q", bounds, got, want)
		}
	})
}

func TestMergeRunsStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	writeRunFile(t, path, someRows(100, 1))
	index, end, err := readRunIndex(path)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	n := 0
	err = mergeRuns([][]runPiece{{{path, index, end}}, {{path, index, end}}}, nil, nil, testCommon, func(key, value []byte) error {
		if n++; n == 10 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 10 {
		t.Errorf("after %d rows: %v", n, err)
	}
}

// sliceKeys are Keys over a sorted slice.
type sliceKeys struct {
	keys        []string
	at          int
	seeks, errs int // errs: moves until an error
}

var errKeys = errors.New("no more keys for you")

func (k *sliceKeys) SeekGE(key []byte) bool {
	k.seeks++
	k.at = sort.SearchStrings(k.keys, string(key))
	return k.moved()
}

func (k *sliceKeys) Next() bool { k.at++; return k.moved() }

func (k *sliceKeys) moved() bool {
	k.errs--
	return k.errs != 0 && k.at < len(k.keys)
}

func (k *sliceKeys) Key() []byte { return []byte(k.keys[k.at]) }

func (k *sliceKeys) Err() error {
	if k.errs == 0 {
		return errKeys
	}
	return nil
}
func (k *sliceKeys) Close() error { return nil }

func TestNewCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(0, rapid.SampledFrom([]int{10, 1000}).Draw(t, "greatest"))
		draw := func(name string) []string {
			var keys []string
			for _, n := range rapid.SliceOfNDistinct(number, 0, 60, rapid.ID).Draw(t, name) {
				keys = append(keys, fmt.Sprintf("%04d", n))
			}
			slices.Sort(keys)
			return keys
		}
		held, loaded := draw("held"), draw("loaded")
		c := &newCounter{keys: &sliceKeys{keys: held}}
		want := int64(0)
		for _, k := range loaded {
			if err := c.count([]byte(k), false); err != nil {
				t.Fatal(err)
			}
			if _, ok := slices.BinarySearch(held, k); !ok {
				want++
			}
		}
		if c.fresh != want {
			t.Fatalf("%d are new, want %d", c.fresh, want)
		}
	})
}

func TestNewCounterFails(t *testing.T) {
	var held []string
	for i := range 100 {
		held = append(held, fmt.Sprintf("%04d", i))
	}
	for after := 1; after < 50; after++ {
		c := &newCounter{keys: &sliceKeys{keys: held, errs: after}}
		var err error
		for i := 0; i < 100 && err == nil; i += 1 + i%20 {
			err = c.count(fmt.Appendf(nil, "%04d", i), false)
		}
		if err = errors.Join(err, c.close()); !errors.Is(err, errKeys) {
			t.Fatalf("an error at move %d is lost: %v", after, err)
		}
	}
	c, err := newCounterOf(nil)
	if err != nil || c.count([]byte("x"), false) != nil || c.fresh != 1 || c.close() != nil {
		t.Errorf("an empty store: %+v, %v", c, err)
	}
}
