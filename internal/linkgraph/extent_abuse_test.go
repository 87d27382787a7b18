// A host with a full extent: its next pages are in another one, and still count as of one host.

package linkgraph

import (
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

// TestAbuseLargeHost fills an extent of one host, and all but two numbers of an extent of
// another. New pages must get the next numbers, and then those of a further extent.
func TestAbuseLargeHost(t *testing.T) {
	w := newWorld(t, machine.Options{CellPages: 10})
	for n, test := range []struct {
		last  uint32 // number of the last page of the host
		pages int    // number of new pages
		fit   int    // number of them that fit into the same extent
	}{
		{99_999_999, 5, 5}, {uid.ExtentPages - 3, 40, 2}, {uid.ExtentPages - 1, 7, 0},
	} {
		site := fmt.Sprintf("http://large%d.example.org/", n)
		key := weburl.HostKey(site)
		first := uid.MakeExtent(uid.SlotOf(key), 1)
		known := uid.Make(first.Slot(), first.Host(), test.last)
		old := site + "0"
		if _, err := store.Add(ctx, w.store, []triple.Triple{links.HostTriple(first, key), links.UIDTriple(old, known)}); err != nil {
			t.Fatal(err)
		}
		w.reopen() // the numbers in use are read once
		var urls []string
		for i := range test.pages {
			urls = append(urls, fmt.Sprintf("%s%03d", site, i))
		}
		elsewhere := pageURL(n, n)
		w.update(links.Change{Source: old, Targets: append([]string{old, elsewhere}, urls...)},
			links.Change{Source: urls[len(urls)-1], Targets: append([]string{elsewhere, old}, urls[:3]...)})
		w.compare()
		uids, err := w.graph.UIDs(ctx, append([]string{old}, urls...))
		if err != nil || uids[0] != known {
			t.Fatalf("%s is %s, %v; it was %s", old, uids[0], err, known)
		}
		extents := map[uid.Extent]int{}
		for i, u := range uids[1:] {
			if i < test.fit && u != known+uid.UID(i+1) || i >= test.fit && (u.Extent() == first || u.Slot() != first.Slot() || u.Page() != uint32(i-test.fit)) {
				t.Errorf("page %d of the host is %s: extent %d, page %d", i, u, u.Extent(), u.Page())
			}
			extents[u.Extent()]++
		}
		if want := min(test.fit, 1) + min(test.pages-test.fit, 1); len(extents) != want {
			t.Errorf("extents of the new pages: %v", extents)
		}
		far, err := w.graph.UIDs(ctx, []string{elsewhere})
		require.NoError(t, err)
		others := func(page uid.UID) []uid.UID {
			t.Helper()
			some, err := w.graph.SampleLinks(ctx, links.Forward, []uid.UID{page}, sample.Spec{N: 100, Mode: sample.ModeConsistent, Class: sample.InterHost})
			require.NoError(t, err)
			return some.At(0)
		}
		check := func() {
			t.Helper()
			w.compare()
			for _, page := range []uid.UID{known, uids[len(urls)]} {
				if got := others(page); !slices.Equal(got, far) {
					t.Errorf("links of %s to other hosts: %v, want %v", page, got, far)
				}
			}
		}
		next := func(n int) {
			t.Helper()
			url := fmt.Sprint(site, "next", n)
			w.update(links.Change{Source: old, Targets: []string{url}})
			if more, err := w.graph.UIDs(ctx, []string{url}); err != nil || more[0] != uids[len(urls)]+uid.UID(n) {
				t.Errorf("page %d behind %s is %v, %v", n, uids[len(urls)], more, err)
			}
		}
		next(1) // from memory
		check()
		w.settle()
		check()
		w.reopen() // from files
		check()
		w.fromStore()
		check()
		next(2) // from the store
		w.compare()
	}
}
