// Golden files: texts, their algebra and its simplification.

package algebra_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// TestGolden walks through testdata/*.txt: each has cases parted by a line "====", and each
// case a query or an update, its algebra and, if they differ, the simplified one, parted by
// lines "----". Prefixes : and e: are declared.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out []string
			for _, text := range strings.Split(string(data), "====\n") {
				text, _, _ = strings.Cut(text, "----\n")
				out = append(out, text+"----\n"+translated(t, text))
			}
			got := strings.Join(out, "====\n")
			goldenfile.Check(t, file, got)
		})
	}
}

var testPrefixes = []ast.Prefix{{Name: "", IRI: "x:"}, {Name: "e", IRI: "http://e.example/"}}

// translated returns the algebra of a query or an update, and the simplified one.
func translated(t *testing.T, text string) string {
	t.Helper()
	var bodies []algebra.Body
	opts := parser.Options{Prefixes: testPrefixes}
	if q, err := parser.ParseQuery(text, opts); err == nil {
		bodies = append(bodies, algebra.Translate(q).Body)
	} else if u, updateErr := parser.ParseUpdate(text, opts); updateErr == nil {
		for _, op := range u.Operations {
			if m, ok := op.(*ast.Modify); ok {
				bodies = append(bodies, algebra.TranslateModify(m).Body)
			}
		}
	} else {
		t.Fatalf("neither a query (%v) nor an update (%v):\n%s", err, updateErr, text)
	}
	out, simpler := "", ""
	for _, body := range bodies {
		simple := body.Simplify()
		out += body.String()
		simpler += simple.String()
	}
	if simpler != out {
		out += "----\n" + simpler
	}
	return out
}
