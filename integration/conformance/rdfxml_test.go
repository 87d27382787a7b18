// The W3C suite of RDF/XML.

package conformance

import (
	"io"
	"iter"
	"testing"

	"github.com/trefoildb/trefoil/rdfload/rdfxml"
	"github.com/trefoildb/trefoil/triple"
)

func parseRDFXML(r io.Reader, source, base string) iter.Seq2[triple.Triple, error] {
	return rdfxml.Parse(r, rdfxml.Options{Source: source, Base: base})
}

// TestRDFXMLSuite runs all 110 tests of the suite; none is known to fail.
func TestRDFXMLSuite(t *testing.T) {
	tests := Load(t, "rdf/rdf11/rdf-xml")
	if len(tests) != 110 {
		t.Errorf("%d tests, want 110", len(tests))
	}
	for _, test := range tests {
		t.Run(test.ID, func(t *testing.T) { runSyntaxTest(t, test, parseRDFXML, parseLines(false)) })
	}
}
