// Golden files of the plans of all queries of the suites.

package peers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestPlans compares the plans of each suite's queries, over rows and over columns of generated data, with
// those in testdata/plans. A changed plan shows as a difference there, with the query's name above it.
func TestPlans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bsbm.nt")
	generate(t, file, dataset.BSBM{Seed: 1, Triples: 60_000})
	market := data{file: file}
	explore, err := embeddedSuite("explore")
	require.NoError(t, err)
	bi, err := embeddedSuite("bi")
	require.NoError(t, err)
	require.NoError(t, market.fill(explore, bi))
	comparePlans(t, file, market.suites...)

	templates, err := embeddedSuite("lubm")
	require.NoError(t, err)
	university, err := fillSuite("lubm", templates, nil)
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "lubm.nt")
	generate(t, file, dataset.LUBM{Seed: 1, Triples: 60_000})
	comparePlans(t, file, university)
}

// generate writes data to a file.
func generate(t *testing.T, file string, from interface {
	Generate(ctx context.Context, w io.Writer) (dataset.Counts, error)
}) {
	t.Helper()
	out, err := os.Create(file)
	require.NoError(t, err)
	if _, err := from.Generate(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, out.Close())
}

// comparePlans compares the plans of suites over the data of a file with their golden files.
func comparePlans(t *testing.T, file string, suites ...suite) {
	t.Helper()
	// 1. The data, as rows and as columns, because each has plans of its own.
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	s, _ := syntax.ByFile(file)
	var all []triple.Triple
	for one, err := range syntax.Parse(t.Context(), in, s, syntax.Options{}) {
		require.NoError(t, err)
		all = append(all, one)
	}
	rows := memsource.New(all)
	sources := []sparql.Source{rows, sparqltest.WithColumns(rows)}
	// 2. A golden file for each suite.
	for _, s := range suites {
		var got strings.Builder
		for _, q := range s.queries {
			p, err := sparql.Prepare(q.text, sparql.Options{})
			if err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
			fmt.Fprintf(&got, "==== %s\n", q.name)
			for i, src := range sources {
				shown, err := p.Explain(t.Context(), src)
				if err != nil {
					t.Fatalf("%s: %v", q.name, err)
				}
				if i > 0 {
					got.WriteString("----\n")
				}
				got.WriteString(shown.String())
			}
		}
		golden := filepath.Join("testdata", "plans", s.name+".txt")
		goldenfile.Check(t, golden, got.String())
	}
}
