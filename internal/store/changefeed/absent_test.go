// Tests of the recent changes in memory.

package changefeed

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// If the changes since a request are forgotten, claims do not count.
func TestRecentBounded(t *testing.T) {
	var r recent
	key := func(i int) []byte { return fmt.Append([]byte{byte(triple.POS)}, i) }
	n := 0
	for entry := uint64(1); entry <= 10; entry++ {
		for range maxRecent / 2 {
			r.touched(key(n), entry)
			n++
		}
		for _, at := range []int{0, n / 2, n - 1} {
			changed := uint64(at/(maxRecent/2)) + 1
			for since := range entry + 1 {
				if got := r.untouchedSince(key(at), since); got && since < changed {
					t.Fatalf("what request %d changed is said to be as it was since %d", changed, since)
				}
			}
			if !r.untouchedSince(key(at), entry) {
				t.Fatalf("nothing has changed since the last request, %d", entry)
			}
		}
		if entry > 1 && !r.untouchedSince(key(-1), entry-1) {
			t.Fatalf("what the last request has not changed is not known at request %d", entry)
		}
		if size := len(r.now) + len(r.before); size > 2*maxRecent {
			t.Fatalf("%d are kept", size)
		}
	}
}
