// Tests of loads of UIDs.

package assign

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// TestUIDReader checks that loaded triples of UIDs equal committed ones, however they are read.
func TestUIDReader(t *testing.T) {
	first := uid.Make(7, 3, uid.ExtentPages-2)
	host := func(n int) (pages []Keyed) {
		for i := range n {
			pages = append(pages, Keyed{Slot: 7, Key: "org.example", URL: "http://example.org/" + strings.Repeat("x", i%900) + strconv.Itoa(i)})
		}
		return pages
	}
	for _, n := range []int{0, 1, 3000} {
		runs := []Numbered{{First: first, Pages: host(2)}, {First: uid.Make(7, 4, 0), Pages: host(n)}, {First: uid.Make(8, 1, 5), Pages: host(3)}}
		var want []byte
		for _, r := range runs {
			for i, p := range r.Pages {
				u := r.First + uid.UID(i)
				if u.Page() == 0 {
					want = triple.AppendNQuad(want, links.HostTriple(u.Extent(), p.Key))
				}
				want = triple.AppendNQuad(want, links.UIDTriple(p.URL, u))
			}
		}
		runs = slices.DeleteFunc(runs, func(r Numbered) bool { return len(r.Pages) == 0 })
		for _, wrap := range []func(io.Reader) io.Reader{iotest.HalfReader, func(r io.Reader) io.Reader { return r }} {
			got, err := io.ReadAll(wrap(&uidReader{Runs: slices.Clone(runs)}))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d pages: %d bytes, want %d: %v", n, len(got), len(want), err)
			}
		}
	}
}
