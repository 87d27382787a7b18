// A test of the parameters that BSBM's queries get.

package peers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestShop reads a small data set, whose last products are cut off, and checks that the parameters
// of each product are of that product.
func TestShop(t *testing.T) {
	var data strings.Builder
	if _, err := (dataset.BSBM{Seed: 1, Triples: 23_700}).Generate(t.Context(), &data); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "data.nt")
	require.NoError(t, os.WriteFile(file, []byte(data.String()), 0o644))
	s, err := readShop(file)
	require.NoError(t, err)
	has := func(subject, predicate, object string) bool {
		return strings.Contains(data.String(), "\n"+subject+" <"+predicate+"> "+object+" .\n")
	}
	for n := range s.ids {
		for _, broad := range []bool{false, true} {
			p := s.parameters(n, broad)
			id := p["Product"]
			if !has(id, rdfType, "<"+bsbm+"Product>") || !has(id, rdfType, p["ProductType"]) || !has(id, bsbm+"producer", p["Producer"]) ||
				!has(id, bsbm+"productFeature", p["ProductFeature1"]) || !has(id, bsbm+"productFeature", p["ProductFeature3"]) ||
				!has(p["OfferXYZ"], rdfType, "<"+bsbm+"Offer>") || !has(p["ReviewXYZ"], rdfType, "<"+bsbm+"Review>") {
				t.Fatalf("product %d of %d has %v", n, len(s.ids), p)
			}
		}
		if s.populated[s.parameters(n, true)["ProductType"]] <= s.populated[s.parameters(n, false)["ProductType"]] {
			t.Errorf("product %d: the broad type has no more products", n)
		}
	}
}
