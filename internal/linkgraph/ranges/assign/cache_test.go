// Tests of the cache of UIDs and URLs.

package assign

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/links/uid"
)

// TestKnown fills the cache beyond its bounds: hits must be right, recent entries must stay,
// and memory must be bounded.
func TestKnown(t *testing.T) {
	const pages = 1000
	url := func(i int) string { return fmt.Sprintf("http://example.org/%06d", i) }
	number := func(i int) uid.UID { return uid.Make(1, 1, uint32(i)) }
	var k cache
	k.init(2 * pages * int64(len(url(0))+knownBytes))
	if u, _ := k.uid([]byte(url(1))); u != 0 {
		t.Fatalf("a page that was not put is %v", u)
	}
	k.put(url(0), number(0))
	for i := 1; i < 10*pages; i++ {
		if i%2 == 0 {
			k.put(url(i), number(i))
		} else {
			k.putURL(number(i), url(i))
		}
		u, old := k.uid([]byte(url(0)))
		if u != number(0) {
			t.Fatalf("the page that is asked for all the time is forgotten after %d others", i)
		}
		if old {
			k.put(url(0), u)
		}
		if n := len(k.young.urls) + len(k.old.urls); n > 2*pages+2 {
			t.Fatalf("%d pages are remembered", n)
		}
		got, _ := k.url(number(i))
		if u, _ := k.uid([]byte(url(i))); got != url(i) || i%2 == 0 && u != number(i) || i%2 == 1 && u != 0 {
			t.Fatalf("page %d is %q and %v", i, got, u)
		}
	}
	if u, _ := k.uid([]byte(url(2))); u != 0 {
		t.Error("nothing is forgotten")
	}
}
