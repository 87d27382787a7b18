// The W3C suites of RDF 1.2: N-Triples, N-Quads, Turtle, TriG and RDF/XML.

package conformance

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// TestRDF12Suites runs the suites of RDF 1.2 that are shared. None of their tests is known to fail.
func TestRDF12Suites(t *testing.T) {
	for _, suite := range []struct {
		name          string
		parse, result parser
	}{
		{"rdf-n-triples", parseLines(false), nil},
		{"rdf-n-quads", parseLines(true), nil},
		{"rdf-turtle", parseTurtle(false), parseLines(false)},
		{"rdf-trig", parseTurtle(true), parseLines(true)},
		{"rdf-xml", parseRDFXML, parseLines(false)},
	} {
		t.Run(suite.name, func(t *testing.T) {
			for _, test := range Load(t, "rdf/rdf12/"+suite.name) {
				t.Run(path.Base(test.Dir)+"/"+test.ID, func(t *testing.T) {
					if strings.HasSuffix(test.Type, "C14N") {
						runCanonicalTest(t, test, suite.parse)
						return
					}
					runSyntaxTest(t, test, suite.parse, suite.result)
				})
			}
		})
	}
}

// runCanonicalTest compares the canonical form of what a document has with that of the suite.
func runCanonicalTest(t *testing.T, test Test, parse parser) {
	t.Helper()
	input, err := os.Open(test.ActionPath())
	require.NoError(t, err)
	defer input.Close()
	all, err := collect(t, parse(input, test.Action, test.Base+test.Action))
	require.NoError(t, err)
	want, err := os.ReadFile(test.ResultPath())
	require.NoError(t, err)
	var got []byte
	for _, tr := range all {
		got = triple.AppendCanonical(got, tr)
	}
	if string(got) != string(want) {
		t.Errorf("%s: got\n%swant\n%s", test.Comment, got, want)
	}
}
