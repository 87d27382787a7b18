// Tests of tables of URLs, and of dividing keys.

package build

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

func TestBetween(t *testing.T) {
	for _, test := range []struct{ lo, hi, want string }{
		{"a", "c", "b"},
		{"aa", "ac", "ab"},
		{"a", "b", "a\x80"},
		{"ab\x00\x01x", "ab\x00\x01z", "ab\x00\x01y"},
		{"abc", "abcd", "abc2"},
	} {
		got := strings.TrimRight(string(middleKey([]byte(test.lo), []byte(test.hi))), "\x00")
		if got != test.want || got < test.lo || got >= test.hi {
			t.Errorf("between %q and %q: %q, want %q", test.lo, test.hi, got, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	rng := seed.Rand(t)
	tab, words := newTable(newSeeds(), 0), wordSet{}
	words = *newWordSet(tab.seeds)
	want := map[string]uint32{}
	var order []string
	for range 20_000 {
		url := fmt.Sprintf("http://h%d.example.org/%d", rng.IntN(10), rng.IntN(1000))
		of := tab.Sum([]byte(url))
		ordinal, known := want[url]
		if got := tab.Find(of); known && got != ordinal+1 || !known && got != 0 {
			t.Fatalf("%s is at %d, want %d, %t", url, got, ordinal, known)
		}
		if got := tab.Add(of, uint32(len(want))); got == known {
			t.Fatalf("%s is known: %t; added: %t", url, known, got)
		}
		words.Add([]byte(url), of)
		if !known {
			want[url] = uint32(len(want))
			order = append(order, url)
		}
	}
	if got := words.List(); !slices.Equal(got, order) {
		t.Errorf("%d words, want %d", len(got), len(order))
	}
}
