// Tests of bulk loads of UIDs.

package linkgraph

import (
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// TestLoadOfUIDsCounts checks that a load counts its new triples, if there were UIDs before,
// none, or only a host.
func TestLoadOfUIDsCounts(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	for name, known := range map[string]bool{"none before": false, "a host before": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, machine.Options{})
			w.load([]triple.Triple{links.Link("urn:other", pageURL(1, 1), pageURL(2, 1))})
			key, seen := weburl.HostKey(pageURL(1, 1)), map[string]bool{}
			if known {
				if _, err := store.Add(ctx, w.store, []triple.Triple{links.HostTriple(uid.MakeExtent(uid.SlotOf(key), 1), key)}); err != nil {
					t.Fatal(err)
				}
			}
			note := func() (last rdfload.Record) {
				loads, err := w.store.Loads(ctx)
				require.NoError(t, err)
				for _, l := range loads {
					if !seen[l.ID] {
						seen[l.ID], last = true, l
					}
				}
				return last
			}
			note()
			unlock, err := w.graph.assigner.Assigning.Lock(ctx)
			require.NoError(t, err)
			defer unlock()
			for i, urls := range [][]string{{pageURL(1, 1), pageURL(1, 2), pageURL(2, 1)}, {pageURL(1, 3), pageURL(3, 1)}} {
				require.NoError(t, w.graph.assigner.Allocators.Load(ctx, slices.Clone(urls), 0))
				last := note()
				want := int64(len(urls) + []int{2, 1}[i]) // hosts
				fresh := want
				if known && i == 0 {
					fresh--
				}
				if last.Read != want || last.New != fresh {
					t.Errorf("load %d: %d triples, %d new; want %d, %d", i, last.Read, last.New, want, fresh)
				}
			}
		})
	}
}
