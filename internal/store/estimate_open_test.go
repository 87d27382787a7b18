// Estimates of a store that was just opened.

package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// Estimates must be right at once, although Pebble reads the statistics of its tables some time
// after opening. A second load of the same triples changes none.
func TestEstimateAfterOpen(t *testing.T) {
	race.Skip(t)
	const n = 20_000
	var doc strings.Builder
	for i := range n {
		fmt.Fprintf(&doc, "<http://e.x/s%d> <http://e.x/p> \"%d\" .\n", i, i)
	}
	dir := t.TempDir()
	for round := range 2 {
		s, err := Open(dir, Options{MinFreeBytes: -1})
		require.NoError(t, err)
		source := input.Document("doc", strings.NewReader(doc.String()), int64(doc.Len()), syntax.NTriples)
		if _, err := rdfload.Load(context.Background(), s.Sink(), []input.Source{source}, rdfload.Options{Memory: rdfload.MinMemory}); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, s.Close())
		if s, err = Open(dir, Options{MinFreeBytes: -1}); err != nil {
			t.Fatal(err)
		}
		sn, err := s.Snapshot()
		require.NoError(t, err)
		for _, p := range []triple.Pattern{{}, {Predicate: triple.NewIRI("http://e.x/p")}} {
			got, exact, err := sn.Estimate(t.Context(), p)
			if err != nil || exact || got < n/2 || got > 2*n {
				t.Errorf("round %d: estimate %d, exact %v, error %v; there are %d", round, got, exact, err, n)
			}
		}
		require.NoError(t, sn.Close())
		require.NoError(t, s.Close())
	}
}
