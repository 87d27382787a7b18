// Tests of the sort of terms.

package rdfload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
	"pgregory.net/rapid"
)

// dictionaryOf returns a dictionary of encoded terms; it ends with the test.
func dictionaryOf(t testing.TB, terms [][]byte) *dictionary {
	t.Helper()
	size := int64(1 << 12)
	for _, term := range terms {
		size += int64(len(term)) + 16
	}
	d, err := newDictionary(newSeed(), size, maxTerms)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.release)
	for _, term := range terms {
		hash := d.hash(term[0], term[1:])
		if _, ok := d.find(hash, term[0], term[1:]); ok {
			continue
		}
		if _, err := d.add(hash, term, nil); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// checkSorted sorts the terms of dictionaries and compares with slices.SortFunc.
func checkSorted(t testing.TB, dictionaries []*dictionary, workers int) {
	t.Helper()
	var items []termItem
	var want [][]byte
	for w, d := range dictionaries {
		for id := range uint32(d.len()) {
			items = append(items, termItem{ref: newTermRef(w, id)})
			want = append(want, d.term(id))
		}
	}
	slices.SortFunc(want, bytes.Compare)
	sortTerms(items, dictionaries, workers)
	for i, item := range items {
		if got := dictionaries[item.ref.worker()].term(item.ref.id()); !bytes.Equal(got, want[i]) {
			t.Fatalf("term %d of %d is %q, want %q", i, len(items), got, want[i])
		}
	}
}

// encoded draws a term in its key form: a byte 00 must never be the last.
var encoded = rapid.Custom(func(t *rapid.T) []byte {
	part := rapid.SampledFrom([]string{"\x00\xFF", "\x00\x03", "\x00\x02", "a", "ab", "\xFF", "\x01", "abcdefg", "abcdefgh", "http://example.org/"})
	tag := rapid.SampledFrom([]byte{0x10, 0x20, 0x35}).Draw(t, "tag")
	return append([]byte{tag}, strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "")...)
})

func TestSortTerms(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var dictionaries []*dictionary
		for range rapid.IntRange(1, 30).Draw(rt, "dictionaries") {
			dictionaries = append(dictionaries, dictionaryOf(t, rapid.SliceOfN(encoded, 0, 60).Draw(rt, "terms")))
		}
		checkSorted(t, dictionaries, rapid.IntRange(1, 4).Draw(rt, "workers"))
	})
}

// TestSortTermsShapes sorts sequences that make simple quicksorts quadratic. A quadratic sort would
// take minutes for each.
func TestSortTermsShapes(t *testing.T) {
	n := 50_000
	if testing.Short() {
		n = 10_000
	}
	long := strings.Repeat("p", 1000)
	number := func(i int) []byte { return fmt.Appendf(nil, "\x20http://example.org/%09d", i) }
	shapes := map[string]func(i int) []byte{
		"ascending":    number,
		"descending":   func(i int) []byte { return number(n - i) },
		"organ pipe":   func(i int) []byte { return number(min(i, n-i)*2 + i*2/n) },
		"saw":          func(i int) []byte { return number(i%250*1000 + i/250) },
		"long prefix":  func(i int) []byte { return fmt.Appendf(nil, "\x35%s%06d", long, i) },
		"zeros at 8":   func(i int) []byte { return fmt.Appendf(nil, "\x35abcdef\x00\xFF%07d", i*7919%n) },
		"prefixes":     func(i int) []byte { return append([]byte{0x35}, strings.Repeat("\x00\xFF", i%512)...) },
		"random":       func(i int) []byte { return fmt.Appendf(nil, "\x20%x", rand.Uint64()) },
		"median of 9s": killer(n),
	}
	for name, term := range shapes {
		t.Run(name, func(t *testing.T) {
			terms := make([][]byte, n)
			for i := range terms {
				terms[i] = term(i)
			}
			checkSorted(t, []*dictionary{dictionaryOf(t, terms), dictionaryOf(t, terms[:n/3])}, 2)
		})
	}
}

// killer returns a sequence with the least terms at the places of fixed samples. If they chose the
// pivot, every part would lose only nine terms.
func killer(n int) func(int) []byte {
	rank := make([]int, n)
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	next := 1
	for len(left) > 300 && next < 20_000 {
		e, m := len(left)/8, len(left)
		var taken []int
		for _, i := range []int{0, e, 2 * e, m/2 - e, m / 2, m/2 + e, m - 1 - 2*e, m - 1 - e, m - 1} {
			rank[left[i]] = next
			next++
			taken = append(taken, i)
		}
		slices.Sort(taken)
		for _, i := range slices.Backward(taken) {
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, i := range left {
		rank[i] = next
		next++
	}
	return func(i int) []byte { return fmt.Appendf(nil, "\x20%08d", rank[i]) }
}

func TestPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := rapid.SliceOfN(rapid.Uint64Range(0, 9), smallSort+1, 2*randomSort).Draw(t, "windows")
		items := make([]termItem, len(windows))
		for i, w := range windows {
			items[i].window = w
		}
		less, greater := partition(items)
		if less >= greater {
			t.Fatalf("no item equals the pivot: %d, %d", less, greater)
		}
		pivot := items[less].window
		for i, item := range items {
			if i < less && item.window >= pivot || i >= greater && item.window <= pivot || i >= less && i < greater && item.window != pivot {
				t.Fatalf("item %d is %d, pivot %d, parts %d, %d", i, item.window, pivot, less, greater)
			}
		}
	})
}

func BenchmarkSortTerms(b *testing.B) {
	const n = 1 << 20
	rng := rand.New(rand.NewPCG(1, 2))
	var terms [][]byte
	for i := range n {
		term, _ := triple.AppendTerm(nil, triple.NewIRI(fmt.Sprintf("http://www.department%d.university%d.edu/student%d", rng.IntN(20), rng.IntN(1000), i)))
		terms = append(terms, term)
	}
	d := []*dictionary{dictionaryOf(b, terms)}
	items := make([]termItem, n)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				for i := range items {
					items[i].ref = newTermRef(0, uint32(i))
				}
				b.StartTimer()
				sortTerms(items, d, workers)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "terms/s")
		})
	}
}
