// Damaged tables must give an error or wrong URLs, never a panic.

package urls

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// exercise calls all methods of a table, with ordinals and URLs inside and outside of it. Any
// result is right, but it must return.
func exercise(table *Table, extents []extent) {
	var buffer []byte
	for ordinal := uint32(0); ordinal < table.n; ordinal += 1 + table.n/400 {
		if buffer = table.AppendURL(buffer[:0], ordinal); len(buffer) > 1<<20 {
			buffer = nil
		}
	}
	if table.n > 0 {
		table.AppendURL(nil, table.n-1)
	}
	bytes := 0
	for _, url := range table.All(0) {
		if bytes += len(url); bytes > 1<<24 {
			break
		}
	}
	for _, e := range extents {
		for i := 0; i < len(e.urls); i += 1 + len(e.urls)/20 {
			table.Find(e.urls[i], e.hash())
			table.Find(e.urls[i]+"x", e.hash())
		}
	}
	table.Find("", 0)
}

func damageSamples(t testing.TB) (tables [][]byte, extents []extent) {
	rng := rand.New(rand.NewPCG(11, 0))
	extents = append(denseHosts(rng, 2, 300), onePageHosts(rng, 20)...)
	late := denseHosts(rng, 1, 60)[0]
	late.host = "late"
	slices.Reverse(late.urls)
	extents = append(extents, late)
	for _, shift := range []uint{defaultShift, 3, maxShift} {
		tables = append(tables, build(t, shift, extents))
	}
	return tables, extents
}

func TestFlippedBits(t *testing.T) {
	rng := newRand(t)
	tables, extents := damageSamples(t)
	refused, seen := 0, 0
	for _, whole := range tables {
		clean := mustOpen(t, whole)
		for range 500 {
			damaged := slices.Clone(whole)
			at := rng.IntN(len(damaged))
			if rng.IntN(4) == 0 {
				at = rng.IntN(min(len(damaged), 600))
			}
			damaged[at] ^= 1 << rng.IntN(8)
			table, err := Open(damaged)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				refused++
				continue
			}
			exercise(table, extents)
			if err := table.Check(nil); err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatal(err)
				}
				seen++
			}
			if table.n != clean.n {
				t.Fatalf("byte %d: %d URLs, want %d", at, table.n, clean.n)
			}
		}
		for range 100 {
			if _, err := Open(whole[:rng.IntN(len(whole))]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("a table cut short: %v", err)
			}
		}
		if _, err := Open(append(slices.Clone(whole), 0)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a byte too many: %v", err)
		}
	}
	t.Logf("%d of 1500 refused by Open, %d by Check", refused, seen)
	if refused == 0 || seen == 0 {
		t.Error("no damage was noticed")
	}
}

// In this table every byte of the pieces is noise.
func TestNoiseInPieces(t *testing.T) {
	rng := newRand(t)
	tables, extents := damageSamples(t)
	for _, whole := range tables {
		size := int(binary.LittleEndian.Uint64(whole[16:]))
		for range 50 {
			damaged := slices.Clone(whole)
			small := rng.IntN(2) == 0
			for i := len(damaged) - size; i < len(damaged); i++ {
				if damaged[i] = byte(rng.Uint32()); small {
					damaged[i] &= 0x1f
				}
			}
			if table, err := Open(damaged); err == nil {
				exercise(table, extents)
				if table.Check(nil) == nil {
					t.Error("Check finds no fault in noise")
				}
			} else {
				t.Fatal(err)
			}
		}
	}
}

// Headers with counts beyond the bytes.
func TestHostileHeaders(t *testing.T) {
	huge := "\xff\xff\xff\x7f"
	for name, c := range map[string]struct{ node, leaf string }{
		"head of 2^28":       {huge, "\x00"},
		"head of 2^24 + 1":   {"\x81\x80\x80\x08", "\x00"},
		"endless integer":    {"\x80\x80\x80\x80\x80\x80", "\x00"},
		"no node":            {"", "\x04\x01\x01\x01\x01bc"},
		"node goes on":       {"\x01a\x00b", "\x04\x01\x01\x01\x01bc"},
		"no leaf":            {"\x01a\x00", ""},
		"headers of 2^28":    {"\x01a\x00", huge},
		"shared of 2^28":     {"\x01a\x00", "\x05" + huge + "\x01"},
		"suffix of 2^28":     {"\x01a\x00", "\x05\x01" + huge},
		"suffix not there":   {"\x01a\x00", "\x02\x01\x09"},
		"half a header":      {"\x01a\x00", "\x01\x01"},
		"shares what is not": {"\x01a\x00", "\x04\x01\x01\x09\x01bc"},
		"leaf goes on":       {"\x01a\x00", "\x04\x01\x01\x01\x01bcd"},
		"one header more":    {"\x01a\x00", "\x06\x01\x01\x01\x01\x01\x01bcd"},
	} {
		table := tableOfPieces(t, []byte(c.node), []byte(c.leaf), 3)
		exercise(table, []extent{{"h", []string{"", "a", "ab", "abc"}}})
		if err := table.Check(nil); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
	good := tableOfPieces(t, []byte("\x01a\x00"), []byte("\x04\x01\x01\x01\x01bc"), 3)
	if err := good.Check(func([]byte) uint64 { return extent{host: "h"}.hash() }); err != nil {
		t.Error(err)
	}
}

// tableOfPieces returns an opened table of count URLs in one block. Its node and leaf are any
// bytes.
func tableOfPieces(t testing.TB, node, leaf []byte, count uint32) *Table {
	t.Helper()
	b := NewBuilder()
	b.runs = []run{{startExtent: true, hash: extent{host: "h"}.hash()}}
	b.n = count
	b.pieces.offsets.Add(0)
	b.pieces.offsets.Add(uint64(len(node)))
	b.pieces.out = slices.Concat(node, leaf)
	return mustOpen(t, b.appendTable(nil))
}

func FuzzOpen(f *testing.F) {
	tables, extents := damageSamples(f)
	for _, b := range tables {
		f.Add(b)
	}
	f.Add(build(f, defaultShift, nil))
	f.Add(build(f, 1, []extent{{"h", []string{"a", "b", "c", "A", "0", "", "x"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Open(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		exercise(table, extents)
	})
}

// FuzzPieces replaces the pieces of a good table.
func FuzzPieces(f *testing.F) {
	f.Add([]byte("\x01a\x00"), []byte("\x04\x01\x01\x02\x01bc"), uint8(3))
	f.Add([]byte("\x81\x80\x80\x08"), []byte("\x06\x00\x00\x00\x01\x00\x02bcd"), uint8(4))
	f.Fuzz(func(t *testing.T, node, leaf []byte, count uint8) {
		if count == 0 || count > 1<<defaultShift {
			return
		}
		table := tableOfPieces(t, node, leaf, uint32(count))
		exercise(table, []extent{{"h", []string{"", "a", "ab", "abc", "\x00"}}})
		if table.Check(nil) != nil {
			return
		}
		// If Check accepts a table, all its URLs must be found, both ways.
		next := uint32(0)
		for ordinal, url := range table.All(0) {
			if ordinal != next || string(table.AppendURL(nil, ordinal)) != string(url) {
				t.Fatalf("URL %d differs", ordinal)
			}
			next++
		}
		if next != table.n {
			t.Fatalf("%d of %d URLs", next, table.n)
		}
	})
}
