// Tests of finding the part of a page.

package state

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// TestFindPart compares with a search among the parts.
func TestFindPart(t *testing.T) {
	r := seed.Rand(t)
	for n := range 40 {
		s := &State{}
		var lasts []uid.UID
		for i := range n + 1 {
			last := uid.UID(10*i + 10)
			if i == n {
				last = ^uid.UID(0)
			}
			s.Parts, lasts = append(s.Parts, &Part{Range: uid.Range{Last: last}}), append(lasts, last)
		}
		for u := range uid.UID(10*n + 20) {
			if got, want := FindPart(lasts, u), s.Find(u); got != want {
				t.Fatalf("%d is of part %d of %d, want %d", u, got, n+1, want)
			}
		}
		u := uid.UID(r.Uint64())
		if got, want := FindPart(lasts, u), s.Find(u); got != want {
			t.Fatalf("%d is of part %d of %d, want %d", u, got, n+1, want)
		}
	}
}

// TestSlotOf: the slot of a host's hash is that of its key.
func TestSlotOf(t *testing.T) {
	for _, url := range []string{"http://a.example/", "https://b.example:81/x", "urn:x", ""} {
		if got, want := SlotOf(cell.HostHash(url)), uid.SlotOf(weburl.HostKey(url)); got != want {
			t.Errorf("%q is of slot %d, want %d", url, got, want)
		}
	}
}
