// The conformance test of a lone node's graph.

package linkgraph

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links/linkstest"
)

func TestConformance(t *testing.T) {
	w := newWorld(t, machine.Options{})
	linkstest.TestGraph(t, w.graph, func() {
		if _, err := w.graph.Board.CaughtUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
