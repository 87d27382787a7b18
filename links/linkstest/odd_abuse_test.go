// A test of the odd URLs.

package linkstest

import (
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// Each odd URL must be an IRI, and occur once.
func TestOddURLs(t *testing.T) {
	seen := map[string]bool{}
	longest := 0
	for _, url := range OddURLs() {
		if err := triple.CheckIRI(url); err != nil {
			t.Errorf("%.80q: %v", url, err)
		}
		if seen[url] {
			t.Errorf("%.80q is there twice", url)
		}
		seen[url] = true
		longest = max(longest, len(url))
	}
	if longest != 100_000 {
		t.Errorf("the longest has %d bytes", longest)
	}
}
