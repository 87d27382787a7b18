// Tests of New, lookups, ranges, splits and merges.

package trie

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// splitAt returns the trie of segments 1, 2, ... with the bounds "", keys[0], ...
func splitAt(tb testing.TB, keys ...string) *Trie {
	tb.Helper()
	t := New(1, 7)
	for i, key := range keys {
		var err error
		if t, err = t.Split(t.Lookup([]byte(key)).ID, []byte(key), uint64(i)+2); err != nil {
			tb.Fatal(err)
		}
	}
	check(tb, t)
	return t
}

func check(tb testing.TB, t *Trie) {
	tb.Helper()
	require.NoError(tb, t.Check())
}

func show(t *Trie) string {
	var list []string
	for s := range t.All() {
		list = append(list, s.String())
	}
	return strings.Join(list, " ")
}

func TestNew(t *testing.T) {
	tr := New(5, 9)
	check(t, tr)
	if got, want := show(tr), `5@9["", end)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, key := range []string{"", "\x00", "a", "\xff\xff\xff"} {
		if s := tr.Lookup([]byte(key)); s.ID != 5 || !s.Contains([]byte(key)) {
			t.Errorf("Lookup(%q) = %s", key, s)
		}
	}
}

func TestLookup(t *testing.T) {
	// Segments 2 to 8. Some bounds are prefixes of others, some differ in the middle of a
	// compressed prefix, one has all bytes of 0xFF.
	tr := splitAt(t, "abc", "abcdef", "abcdxx", "abd\x00", "b", "b\x00", "\xff\xff")
	for _, c := range []struct {
		key  string
		want uint64
	}{
		{"", 1}, {"\x00", 1}, {"a", 1}, {"ab", 1}, {"abb\xff", 1},
		{"abc", 2}, {"abc\x00", 2}, {"abcd", 2}, {"abcdee", 2},
		{"abcdef", 3}, {"abcdef\x00", 3}, {"abcdf", 3}, {"abcdxw\xff", 3},
		{"abcdxx", 4}, {"abcdxy", 4}, {"abce", 4}, {"abd", 4},
		{"abd\x00", 5}, {"abd\x00\x00", 5}, {"abd\x01", 5}, {"ac", 5}, {"a\xff", 5},
		{"b", 6}, {"b\x00", 7}, {"b\x00\x00", 7}, {"c", 7}, {"\xff", 7}, {"\xff\xfe\xff", 7},
		{"\xff\xff", 8}, {"\xff\xff\xff", 8},
	} {
		if s := tr.Lookup([]byte(c.key)); s.ID != c.want || !s.Contains([]byte(c.key)) {
			t.Errorf("Lookup(%q) = %s, want segment %d", c.key, s, c.want)
		}
	}
}

func TestRange(t *testing.T) {
	tr := splitAt(t, "b", "d", "f")
	for _, c := range []struct {
		lo, hi string // hi "end" is nil
		want   []uint64
	}{
		{"", "end", []uint64{1, 2, 3, 4}},
		{"", "", nil},
		{"", "a", []uint64{1}},
		{"", "b", []uint64{1}},
		{"", "b\x00", []uint64{1, 2}},
		{"b", "d", []uint64{2}},
		{"a", "e", []uint64{1, 2, 3}},
		{"c", "c", nil},
		{"e", "c", nil},
		{"e", "e\x00", []uint64{3}},
		{"g", "end", []uint64{4}},
	} {
		hi := []byte(c.hi)
		if c.hi == "end" {
			hi = nil
		}
		var got []uint64
		for s := range tr.Range([]byte(c.lo), hi) {
			got = append(got, s.ID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Range(%q, %s) = %d, want %d", c.lo, c.hi, got, c.want)
		}
	}
	for s := range tr.All() { // a consumer may stop
		if s.ID == 2 {
			break
		}
	}
}

func TestSplit(t *testing.T) {
	tr := splitAt(t, "b", "d")
	at := []byte("c")
	got, err := tr.Split(2, at, 9)
	require.NoError(t, err)
	at[0] = 'z' // the trie has its own copy
	check(t, got)
	if got, want := show(got), `1@7["", "b") 2@7["b", "c") 9@7["c", "d") 3@7["d", end)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := show(tr), `1@7["", "b") 2@7["b", "d") 3@7["d", end)`; got != want {
		t.Errorf("the old trie is %s, want %s", got, want)
	}
	if s, ok := got.Get(9); !ok || string(s.Lo) != "c" {
		t.Errorf("Get(9) = %s, %t", s, ok)
	}
	if s, ok := tr.Get(9); ok {
		t.Errorf("the old trie has %s", s)
	}
}

func TestSplitErrors(t *testing.T) {
	tr := splitAt(t, "b", "d")
	long := bytes.Repeat([]byte("c"), MaxBoundLen+1)
	for _, c := range []struct {
		id, newID uint64
		at        string
		want      error
	}{
		{4, 9, "c", ErrNoSegment},
		{2, 9, "b", ErrOutside}, // its lower bound: the left half would be empty
		{2, 9, "d", ErrOutside},
		{2, 9, "a", ErrOutside},
		{2, 9, "e", ErrOutside},
		{1, 9, "", ErrOutside},
		{2, 2, "c", ErrIDTaken},
		{2, 3, "c", ErrIDTaken},
		{2, 9, string(long), ErrTooLong},
	} {
		got, err := tr.Split(c.id, []byte(c.at), c.newID)
		if got != nil || !errors.Is(err, c.want) {
			t.Errorf("Split(%d, %.8q, %d): %v, want %v", c.id, c.at, c.newID, err, c.want)
		} else if len(err.Error()) > 500 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
	if _, err := tr.Split(2, long[:MaxBoundLen], 9); err != nil {
		t.Errorf("a bound of the greatest length: %v", err)
	}
}

func TestSplitLimitsTheTotal(t *testing.T) {
	tr := New(1, 0)
	tr.boundBytes = MaxBoundBytes - 2 // as if there were many more segments
	if _, err := tr.Split(1, []byte("abc"), 2); !errors.Is(err, ErrTooLong) {
		t.Errorf("one byte over the total: %v", err)
	}
	if _, err := tr.Split(1, []byte("ab"), 2); err != nil {
		t.Errorf("the greatest total: %v", err)
	}
}

func TestMerge(t *testing.T) {
	tr := splitAt(t, "b", "d")
	got, err := tr.Merge(1, 2)
	require.NoError(t, err)
	check(t, got)
	if got, want := show(got), `1@7["", "d") 3@7["d", end)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, err = got.Merge(1, 3); err != nil {
		t.Fatal(err)
	}
	check(t, got)
	if got, want := show(got), `1@7["", end)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := show(tr), `1@7["", "b") 2@7["b", "d") 3@7["d", end)`; got != want {
		t.Errorf("the old trie is %s, want %s", got, want)
	}
}

func TestMergeErrors(t *testing.T) {
	tr, err := splitAt(t, "b", "d").Assign(3, 8)
	require.NoError(t, err)
	check(t, tr)
	for _, c := range []struct {
		left, right uint64
		want        error
	}{
		{1, 9, ErrNoSegment}, {9, 1, ErrNoSegment},
		{1, 1, ErrNotNeighbours}, {1, 3, ErrNotNeighbours}, {2, 1, ErrNotNeighbours},
		{3, 1, ErrNotNeighbours}, // the end of the space is not its begin
		{2, 3, ErrPartitions},
	} {
		if got, err := tr.Merge(c.left, c.right); got != nil || !errors.Is(err, c.want) {
			t.Errorf("Merge(%d, %d): %v, want %v", c.left, c.right, err, c.want)
		}
	}
}

func TestAssign(t *testing.T) {
	tr := splitAt(t, "b", "d")
	got, err := tr.Assign(2, 8)
	require.NoError(t, err)
	check(t, got)
	if got, want := show(got), `1@7["", "b") 2@8["b", "d") 3@7["d", end)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s, _ := tr.Get(2); s.Partition != 7 {
		t.Errorf("the old trie has %s", s)
	}
	if _, err := tr.Assign(4, 8); !errors.Is(err, ErrNoSegment) {
		t.Errorf("Assign(4): %v", err)
	}
}

func TestLookupDoesNotAllocate(t *testing.T) {
	tr, keys := realTrie(t, 1000)
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		tr.Lookup(keys[i])
		i++
	}); n != 0 {
		t.Errorf("%v allocations in a lookup", n)
	}
}

func TestSegmentString(t *testing.T) {
	long := bytes.Repeat([]byte{'k'}, 1000)
	s := Segment{Lo: []byte("a\x00"), Hi: long, ID: 1 << 63, Partition: 3}
	want := fmt.Sprintf(`9223372036854775808@3["a\x00", "%s"... (1000 bytes))`, long[:96])
	if got := s.String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
