// Bounds of bytes per URL, everything included.

package urls

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func bytesPerURL(t testing.TB, o Options, extents []extent) float64 {
	t.Helper()
	n, _ := total(extents)
	return float64(len(build(t, o, extents))) / float64(n)
}

// logSizes logs the sizes with some strides and returns those of the default one.
func logSizes(t *testing.T, extents []extent, strides ...int) (plain, coded float64) {
	t.Helper()
	n, bytes := total(extents)
	t.Logf("%d URLs of %d extents, %.1f bytes on an average", n, len(extents), float64(bytes)/float64(n))
	for _, stride := range append(strides, DefaultStride) {
		p := bytesPerURL(t, Options{Stride: stride}, extents)
		c := bytesPerURL(t, Options{Stride: stride, Symbols: true}, extents)
		t.Logf("stride %3d: %.2f bytes a URL, with symbols %.2f", stride, p, c)
		if stride == DefaultStride {
			plain, coded = p, c
		}
	}
	return plain, coded
}

func TestSizeOfDenseHosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	plain, coded := logSizes(t, denseHosts(rng, 10, 200_000), 16, 64)
	if plain > 20 {
		t.Errorf("%.2f bytes a URL, at most 20", plain)
	}
	if coded > 15 {
		t.Errorf("%.2f bytes a URL with symbols, at most 15", coded)
	}
}

// The names of real data share less. The bounds are their sizes and little more.
func TestSizeOfLinkedData(t *testing.T) {
	extents := linkedData(t, false)
	plain, coded := logSizes(t, extents)
	if plain > 22 || coded > 11 {
		t.Errorf("%.2f bytes a URL, with symbols %.2f: at most 22 and 11", plain, coded)
	}
	for _, o := range []Options{{}, {Symbols: true}} {
		checkTable(t, mustOpen(t, build(t, o, extents)), extents, 7)
	}
}

// An extent must not cost much more than its URLs: hosts of one page, against
// the same URLs as one extent.
func TestCostOfAnExtent(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	hosts := onePageHosts(rng, 100_000)
	together := []extent{{host: "all"}}
	for _, e := range hosts {
		together[0].urls = append(together[0].urls, e.urls...)
	}
	b, err := NewBuilder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	b.StartExtent(1)
	for _, url := range together[0].urls {
		if err := b.Add([]byte(url)); err != nil {
			t.Fatal(err)
		}
	}
	urlsOnly := float64(len(b.pieces.out)) / float64(len(hosts))
	_, bytes := total(hosts)
	all := bytesPerURL(t, Options{}, hosts)
	t.Logf("hosts of one page of %.1f bytes: %.2f bytes a page, %.2f of them for the extent",
		float64(bytes)/float64(len(hosts)), all, all-urlsOnly)
	if all-urlsOnly > 5 {
		t.Errorf("%.2f bytes for an extent, at most 5", all-urlsOnly)
	}
	scattered := bytesPerURL(t, Options{}, together)
	t.Logf("the same as one extent in no order: %.2f bytes a page, %.2f of them to find strays", scattered, scattered-urlsOnly)
	if scattered-urlsOnly > 5 {
		t.Errorf("%.2f bytes for a stray, at most 5", scattered-urlsOnly)
	}
}

func ExampleTable_Find() {
	b, err := NewBuilder(Options{})
	if err != nil {
		panic(err)
	}
	b.StartExtent(4711) // the hash of www.letters.org, by any function
	for _, url := range []string{"http://www.letters.org/", "http://www.letters.org/alep", "http://www.letters.org/aleph"} {
		if err := b.Add([]byte(url)); err != nil {
			panic(err)
		}
	}
	table, err := Open(b.AppendTo(nil))
	if err != nil {
		panic(err)
	}
	ordinal, ok := table.Find("http://www.letters.org/aleph", 4711)
	fmt.Println(ordinal, ok)
	fmt.Printf("%s\n", table.AppendURL(nil, 1))
	// Output:
	// 2 true
	// http://www.letters.org/alep
}
