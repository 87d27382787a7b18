// Helpers of the tests.

package linkgen

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var newRand = seed.Rand

func mustNew(t testing.TB, o Options) *Graph {
	t.Helper()
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// orderKey returns the sort key of a page: the reversed name of the host, and the URL.
func orderKey(t testing.TB, url string) (host, rest string) {
	t.Helper()
	_, after, ok := strings.Cut(url, "://")
	name, _, slash := strings.Cut(after, "/")
	if !ok || !slash {
		t.Fatalf("%s is no URL", url)
	}
	labels := strings.Split(name, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, "."), url
}
