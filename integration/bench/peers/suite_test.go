// A test of the suite with little data and without peers, and of all queries.

package peers

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// TestSuite answers all queries, and writes ratios and tables. The figures mean nothing at this
// size.
func TestSuite(t *testing.T) {
	binary, remove, err := testbinary.Trefoil(filepath.Join("..", "..", ".."))
	require.NoError(t, err)
	defer remove()
	dir := t.TempDir()
	docs, ratios := filepath.Join(dir, "docs.md"), filepath.Join(dir, "ratios.txt")
	require.NoError(t, os.WriteFile(docs, []byte(tableBegin+tableEnd), 0o644))
	measure := func(args ...string) error {
		flags := flag.NewFlagSet(t.Name(), flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		run := Suite(flags)
		args = append(args, "-dir", dir, "-trefoil", binary, "-triples", "30000", "-mix=false", "-time", "0", "-peers", dir, "-docs", docs, "-ratios", ratios)
		require.NoError(t, flags.Parse(args))
		return run(t.Context(), nil)
	}
	require.NoError(t, measure("-update"))
	text, err := os.ReadFile(docs)
	if err != nil || !strings.Contains(string(text), "| bi-30000/02-shared-features | 10 |") {
		t.Errorf("%v in the document:\n%s", err, text)
	}
}

// TestForms reads the forms of the embedded queries.
func TestForms(t *testing.T) {
	for text, want := range map[string]query{
		"PREFIX a: <http://a>\nSELECT * { ?s ?p ?o }": {form: solutions},
		"ASK {}": {form: solutions},
		anyRows + "\nSELECT ?s { ?s ?p ?o } LIMIT 1":           {form: solutions, compared: rowCounts},
		"# select\n  construct { ?s ?p ?o } where { ?s ?p ?o}": {form: graph},
		"Describe ?x { ?x ?y ?z }":                             {form: graph, compared: nothing},
	} {
		want.text = text
		if got := newQuery("", text); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if _, err := (parameters{"a": "b"}).fill("%a% %c%"); err == nil {
		t.Error("a parameter without a value is no error")
	}
}
