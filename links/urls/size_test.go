// Bounds of bytes per URL, everything included.

package urls

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func bytesPerURL(t testing.TB, shift uint, extents []extent) float64 {
	t.Helper()
	n, bytes := total(extents)
	size := float64(len(build(t, shift, extents))) / float64(n)
	t.Logf("%d URLs of %d extents, %.1f bytes on an average: %.2f in blocks of %d", n, len(extents), float64(bytes)/float64(n), size, 1<<shift)
	return size
}

func TestSizeOfDenseHosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	if size := bytesPerURL(t, defaultShift, denseHosts(rng, 10, 200_000)); size > 20 {
		t.Errorf("%.2f bytes a URL, at most 20", size)
	}
}

// The names of real data share less. The bound is their size and little more.
func TestSizeOfLinkedData(t *testing.T) {
	extents := linkedData(t, false)
	if size := bytesPerURL(t, defaultShift, extents); size > 22 {
		t.Errorf("%.2f bytes a URL, at most 22", size)
	}
	checkTable(t, mustOpen(t, build(t, defaultShift, extents)), extents, 7)
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
	b := NewBuilder()
	b.StartExtent(1)
	for _, url := range together[0].urls {
		if err := b.Add([]byte(url)); err != nil {
			t.Fatal(err)
		}
	}
	urlsOnly := float64(len(b.pieces.out)) / float64(len(hosts))
	_, bytes := total(hosts)
	all := bytesPerURL(t, defaultShift, hosts)
	t.Logf("hosts of one page of %.1f bytes: %.2f bytes a page, %.2f of them for the extent",
		float64(bytes)/float64(len(hosts)), all, all-urlsOnly)
	if all-urlsOnly > 5 {
		t.Errorf("%.2f bytes for an extent, at most 5", all-urlsOnly)
	}
	scattered := bytesPerURL(t, defaultShift, together)
	t.Logf("the same as one extent in no order: %.2f bytes a page, %.2f of them to find strays", scattered, scattered-urlsOnly)
	if scattered-urlsOnly > 5 {
		t.Errorf("%.2f bytes for a stray, at most 5", scattered-urlsOnly)
	}
}

func ExampleTable_Find() {
	b := NewBuilder()
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
