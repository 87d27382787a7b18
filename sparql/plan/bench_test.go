// The time of planning.

package plan_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
)

// BenchmarkPlan plans each query of testdata once, over rows and over columns.
func BenchmarkPlan(b *testing.B) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		b.Fatal(err)
	}
	var queries []*sparql.Prepared
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		query, _, _ := strings.Cut(string(text), "----\n")
		p, err := sparql.Prepare(query, withWeb(nil))
		if err != nil {
			b.Fatal(err)
		}
		queries = append(queries, p)
	}
	rows := university(40)
	for _, over := range []struct {
		name string
		src  sparql.Source
	}{{"rows", rows}, {"columns", sparqltest.WithColumns(rows)}} {
		b.Run(over.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range queries {
					if _, err := p.Explain(b.Context(), over.src); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
