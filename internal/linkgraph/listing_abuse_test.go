// Flipped bits in the listing of a graph's files.

package linkgraph

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestAbuseListing flips bits in the listing. Either its meaning stays the same, or the damage
// is found; then the graph must be built from the store and be right.
func TestAbuseListing(t *testing.T) {
	seed.Long(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	rng := random(t)
	w := damagedWorld(t, rng)
	defer w.open()
	path := filepath.Join(w.dir, "links", keep.GraphFile)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want, err := w.graph.files.ReadListing()
	require.NoError(t, err)
	flip := func(bit int) {
		damaged := bytes.Clone(text)
		damaged[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(path, damaged, 0o644))
	}
	for bit := range 8 * len(text) {
		flip(bit)
		if got, err := w.graph.files.ReadListing(); err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("bit %d of byte %d is flipped, and it says %+v", bit%8, bit/8, got)
		}
	}
	// Rows that are intact, but not complete.
	for _, c := range want.Cells {
		if c.Rows == "" {
			continue
		}
		require.NoError(t, os.WriteFile(path, text, 0o644))
		require.NoError(t, os.Truncate(filepath.Join(w.dir, "links", c.Rows), 0))
		break
	}
	w.open()
	w.compare()
	w.close()
	flip(8*bytes.Index(text, []byte(`"rows"`)) + 8)
	w.open()
	w.compare()
	w.close()
}
