// Golden file of the format of rows, and tests for damage to it.

package delta

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// emptyCell returns a cell without pages.
func emptyCell(tb testing.TB, epoch uint64) *cell.Cell {
	tb.Helper()
	return newModel().cell(tb, cell.Options{Epoch: epoch})
}

// goldenBatch returns one change of each kind, and pages in more than one block.
func goldenBatch() *Batch {
	var b Batch
	page := func(i uint32) uid.UID { return uid.Make(4, 1+i/20, i%20) }
	for i := range uint32(22) {
		b.Page(page(i), fmt.Appendf(nil, "http://h%d.example/%d", 1+i/20, i))
	}
	b.Replace(page(0), []uid.UID{page(3), page(1), uid.Make(9, 2, 5)}, []cell.Label{{Weight: 2, Anchor: "three"}, cell.NoLabel, {Weight: 0.5}})
	b.Replace(page(1), nil, nil)
	b.AddLabelled(page(2), page(0), cell.Label{Weight: 1, Anchor: "home"})
	b.Add(cell.Forward, page(2), page(21))
	b.Delete(cell.Forward, page(2), page(1))
	b.Delete(cell.Forward, page(2), page(2))
	for i := range uint32(20) {
		b.Add(cell.Backward, page(i), page(i+1))
		b.Delete(cell.Backward, page(i), page(20-i))
	}
	return &b
}

func TestAppendUvarint(t *testing.T) {
	for _, v := range []uint64{0, 1, 0x7f, 0x80, 0x81, 0xff, 1 << 14, math.MaxUint64} {
		if got, want := appendUvarint([]byte("x"), v), binary.AppendUvarint([]byte("x"), v); !bytes.Equal(got, want) {
			t.Errorf("%d: %x, want %x", v, got, want)
		}
	}
}

func TestGoldenRow(t *testing.T) {
	const path = "testdata/row.hex"
	d, err := New(emptyCell(t, 40))
	require.NoError(t, err)
	row, err := d.Append(goldenBatch())
	require.NoError(t, err)
	var out strings.Builder
	for line := range slices.Chunk(row.Bytes(), 32) {
		fmt.Fprintf(&out, "%x\n", line)
	}
	goldenfile.Check(t, path, out.String())
	opened, err := Open(golden(t))
	require.NoError(t, err)
	if opened.First() != 41 || opened.Last() != 41 || opened.Pages() != 22 || opened.Keys(cell.Forward) != 3 ||
		opened.Changes(cell.Forward) != 7 || opened.Keys(cell.Backward) != 20 || opened.Changes(cell.Backward) != 40 {
		t.Errorf("%d to %d, %d pages, %d and %d keys, %d and %d changes", opened.First(), opened.Last(), opened.Pages(),
			opened.Keys(cell.Forward), opened.Keys(cell.Backward), opened.Changes(cell.Forward), opened.Changes(cell.Backward))
	}
}

// golden returns the bytes of the golden file.
func golden(tb testing.TB) []byte {
	tb.Helper()
	text, err := os.ReadFile("testdata/row.hex")
	require.NoError(tb, err)
	data, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	require.NoError(tb, err)
	return data
}

// TestFlippedBits flips every bit, truncates the row at every byte, and makes it longer.
func TestFlippedBits(t *testing.T) {
	data := golden(t)
	for i := range 8 * len(data) {
		data[i/8] ^= 1 << (i % 8)
		if _, err := Open(data); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i/8, err)
		}
		data[i/8] ^= 1 << (i % 8)
	}
	for n := range len(data) {
		if _, err := Open(data[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
	}
	if _, err := Open(append(slices.Clone(data), make([]byte, 8)...)); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("8 bytes more: %v", err)
	}
	if _, err := Open(data); err != nil {
		t.Fatal(err)
	}
}

// reseal recomputes the checksum of data if it has one.
func reseal(data []byte) {
	if end := len(data) - checksumLen; end >= rowHeaderLen {
		copy(data, rowMagic)
		binary.LittleEndian.PutUint64(data[end:], xxhash.Sum64(data[:end]))
	}
}

// TestResealed changes every byte of a row in several ways and recomputes the checksum. If the
// row opens, it must be readable, mergeable and open again.
func TestResealed(t *testing.T) {
	data := golden(t)
	base := emptyCell(t, 40)
	for i := range data {
		for _, change := range []byte{0x01, 0x80, 0xff, data[i]} {
			changed := slices.Clone(data)
			changed[i] ^= change
			reseal(changed)
			useRow(t, base, changed)
		}
	}
}

// useRow opens data as a row. If it is one, it uses all of it.
func useRow(t *testing.T, base *cell.Cell, data []byte) {
	before := bytes.Clone(data)
	r, err := Open(data)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
		return
	}
	merged, err := mergeRows([]*Row{r, r})
	require.NoError(t, err)
	if _, err := Open(merged.Bytes()); err != nil {
		t.Fatalf("merged with itself: %v", err)
	}
	v := newView(base, nil, []*Row{r}, r.last, r.Pages())
	for d := range cell.Backward + 1 {
		for m := newMerger(v.rows, d); m.next(); {
			links := v.AppendLinks(nil, d, m.key)
			if !slices.IsSorted(links) || len(links) != v.Degree(d, m.key) || len(slices.Compact(links)) != len(links) {
				t.Fatalf("links %v", links)
			}
			// Over an empty cell the links must be the adds, and every key must be found.
			if want := m.entry().adds; !slices.Equal(links, want) {
				t.Fatalf("links %v, want %v", links, want)
			}
			v.AppendLabels(nil, m.key)
		}
	}
	count := 0
	for p := range v.Pages() {
		if u, ok := v.Find(string(p.URL)); !ok || u != p.UID {
			t.Fatalf("%q is found as %s, %t, and is %s", p.URL, u, ok, p.UID)
		}
		count++
	}
	if count != r.Pages() {
		t.Fatalf("%d pages of %d", count, r.Pages())
	}
	if !bytes.Equal(data, before) {
		t.Fatal("reading changed the row")
	}
}

// TestReadEntry reads invalid entries of key 100.
func TestReadEntry(t *testing.T) {
	varint := func(v int64) string { return string(binary.AppendVarint(nil, v)) }
	whole, deletes, labels, one := byte(headWhole), byte(headDeletes), byte(headLabels), byte(1<<headShift)
	for _, test := range []struct {
		name, body string
		want       bool
	}{
		{"an add", string(one) + varint(5), true},
		{"an empty list", string(whole), true},
		{"an add and a delete", string(one|deletes) + "\x01" + varint(5) + varint(6), true},
		{"an add with a label", string(one|labels) + varint(5) + "\x02\x01\x02", true},
		{"nothing", "", false},
		{"no target", string(one), false},
		{"target 0", string(one) + varint(-100), false},
		{"a byte more", string(one) + varint(5) + "\x00", false},
		{"two adds, the second one the first", string(2*one) + varint(5) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false},
		{"two adds, the second one missing", string(2*one) + varint(5), false},
		{"far more adds than bytes", "\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01" + varint(5), false},
		{"no delete", string(deletes) + "\x00", false},
		{"a whole list with deletes", string(whole|deletes) + "\x01" + varint(5), false},
		{"a label that ends too early", string(one|labels) + varint(5) + "\x03\x01\x02", false},
		{"no label", string(one|labels) + varint(5), false},
	} {
		var e entry
		if got := readEntry([]byte(test.body), 100, &e); got != test.want {
			t.Errorf("%s: %t, %s", test.name, got, showEntry(&e))
		}
	}
}

func FuzzOpen(f *testing.F) {
	data := golden(f)
	f.Add(data)
	for i := 0; i < len(data); i += 16 {
		changed := slices.Clone(data)
		changed[i] ^= 0x41
		f.Add(changed)
	}
	base := emptyCell(f, 40)
	f.Fuzz(func(t *testing.T, data []byte) {
		useRow(t, base, data)
		reseal(data)
		useRow(t, base, data)
	})
}
