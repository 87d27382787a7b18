// Tests of the cache of UIDs.

package assign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/links/uid"
)

// TestKnown checks that the cache of pages is bounded and has the latest ones.
func TestKnown(t *testing.T) {
	k := NewKnown()
	url := func(i int) string { return fmt.Sprint("http://example.org/", i) }
	for i := range 3 * MaxKnown {
		k.Add([]string{url(i)}, []uid.UID{uid.UID(i + 1)}, []int{0})
	}
	k.Add([]string{"none", strings.Repeat("x", MaxKnownBytes+1)}, []uid.UID{0, 1}, []int{0, 1})
	urls := []string{url(3*MaxKnown - 1), url(0), url(2*MaxKnown + 1), "none", strings.Repeat("x", MaxKnownBytes+1)}
	uids := make([]uid.UID, len(urls))
	others := k.Get(urls, uids)
	if fmt.Sprint(others) != "[1 3 4]" || uids[0] != 3*MaxKnown || uids[2] != 2*MaxKnown+2 {
		t.Errorf("places %v are not known; %v", others, uids)
	}
	if n := len(k.Now) + len(k.Before); n > 2*MaxKnown {
		t.Errorf("%d pages are kept", n)
	}
}
