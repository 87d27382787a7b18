// Benchmarks of tries and placements.

package trie

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// realKeys returns n distinct, unsorted keys like the keys of LUBM data in the three orders:
// three IRIs or two and a literal, 60 to 120 bytes, with long common prefixes.
func realKeys(n int) [][]byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	entity := func() string {
		return fmt.Sprintf("\x02http://www.Department%d.University%d.edu/%s%d",
			rnd.IntN(25), rnd.IntN(1000), []string{"UndergraduateStudent", "Course", "FullProfessor"}[rnd.IntN(3)], rnd.IntN(400))
	}
	predicate := func() string {
		return "\x02http://lubm.org/onto#" + []string{"takesCourse", "memberOf", "name", "type", "advisor"}[rnd.IntN(5)]
	}
	const sep = "\x00\x01"
	keys := make(map[string]bool, n)
	for len(keys) < n {
		s, p, o := entity(), predicate(), entity()
		key := [...]string{
			"\x01" + s + sep + p + sep + o[:20] + sep,
			"\x02" + p + sep + o + sep + s[:24] + sep,
			"\x03" + o + sep + s[:20] + sep + p + sep,
		}[rnd.IntN(3)]
		keys[key] = true
	}
	list := make([][]byte, 0, n)
	for key := range keys {
		list = append(list, []byte(key))
	}
	slices.SortFunc(list, slices.Compare[[]byte])
	rnd.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// realTrie returns a trie of n segments and 1<<14 other keys of its kind.
func realTrie(tb testing.TB, n int) (*Trie, [][]byte) {
	keys := realKeys(n + 1<<14)
	t := New(1, 0)
	for i, at := range keys[:n-1] {
		var err error
		if t, err = t.Split(t.Lookup(at).ID, at, uint64(i)+2); err != nil {
			tb.Fatal(err)
		}
	}
	if t.Len() != n {
		tb.Fatalf("%d segments, want %d", t.Len(), n)
	}
	return t, keys[n:][:1<<14]
}

func BenchmarkLookup10000(b *testing.B) {
	t, keys := realTrie(b, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		t.Lookup(keys[i%len(keys)])
	}
}

// BenchmarkBinarySearch10000 measures a sorted slice for comparison.
func BenchmarkBinarySearch10000(b *testing.B) {
	t, keys := realTrie(b, 10_000)
	segments := slices.Collect(t.All())
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		modelFind(segments, keys[i%len(keys)])
	}
}

// BenchmarkSplit10000 adds a segment to 10,000.
func BenchmarkSplit10000(b *testing.B) {
	t, keys := realTrie(b, 10_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := keys[i%len(keys)]
		if _, err := t.Split(t.Lookup(at).ID, at, 1<<40); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAll10000(b *testing.B) {
	t, _ := realTrie(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for range t.All() {
			n++
		}
		if n != t.Len() {
			b.Fatal(n)
		}
	}
}

func BenchmarkParse10000(b *testing.B) {
	t, _ := realTrie(b, 10_000)
	data, _ := t.AppendBinary(nil)
	b.ReportMetric(float64(len(data))/float64(t.Len()), "B/segment")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewPlacement(b *testing.B) {
	for b.Loop() {
		if _, err := NewPlacement(machines(5), PlacementOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
