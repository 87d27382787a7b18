// Tests of join orders kept for the next runs.

package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// TestOrdersAreKept: with the orders of an earlier run a query has the same plan, over the same columns and
// over others.
func TestOrdersAreKept(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	small, large := sparqltest.WithColumns(university(2)), sparqltest.WithColumns(university(40))
	used := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		query, _, _ := strings.Cut(string(text), "----\n")
		p, err := sparql.Prepare(query, withWeb(nil))
		if err != nil {
			t.Fatal(err)
		}
		var keeper atomic.Pointer[order.Kept]
		kept, err := p.With(withWeb(&keeper))
		if err != nil {
			t.Fatal(err)
		}
		// Rows have no orders to keep, and must not use those of columns.
		for i, src := range []sparql.Source{small, small, large, large, university(2), large, small} {
			before := keeper.Load()
			want, err := p.Explain(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := kept.Explain(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Fatalf("%s: run %d has the plan\n%swant\n%s", file, i, got, want)
			}
			after := keeper.Load()
			if same := i == 1 || i == 3 || i == 4 || i == 5; same && after != before || !same && after == before && before != nil {
				t.Errorf("%s: run %d: orders are kept anew: %t", file, i, after != before)
			}
			if i == 1 && after != nil {
				used++
			}
		}
	}
	if used < 5 {
		t.Errorf("%d of %d queries keep orders", used, len(files))
	}
}
