// The conformance test of a lone node's graph.

package linkgraph

import (
	"testing"

	"github.com/trefoildb/trefoil/links/linkstest"
)

func TestConformance(t *testing.T) {
	w := newWorld(t, Options{})
	linkstest.TestGraph(t, w.graph, func() {
		if _, err := w.graph.board.caughtUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}
