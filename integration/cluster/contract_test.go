// The conformance of members: a machine alone, and clusters.

package cluster

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

// TestTriples: a program sees the same store alone and through any member of a cluster.
func TestTriples(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				if machines == 1 {
					w.machines[0].run()
				} else {
					w.form()
				}
				storetest.TestTriples(t, func(*testing.T) store.Triples { return w.any().node })
			})
		})
	}
}
