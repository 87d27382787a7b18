// The W3C suites of N-Triples, N-Quads, Turtle and TriG.

package conformance

import (
	"bytes"
	"io"
	"iter"
	"os"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/rdfload/turtle"
	"github.com/trefoildb/trefoil/triple"
)

// parser parses a document whose IRI is base.
type parser func(r io.Reader, source, base string) iter.Seq2[triple.Triple, error]

func parseLines(quads bool) parser {
	return func(r io.Reader, source, _ string) iter.Seq2[triple.Triple, error] {
		return func(yield func(triple.Triple, error) bool) {
			sc := triple.NewScanner(r, triple.ScanOptions{Source: source, Quads: quads})
			for sc.Scan() {
				if !yield(sc.Triple().Clone(), nil) {
					return
				}
			}
			if err := sc.Err(); err != nil {
				yield(triple.Triple{}, err)
			}
		}
	}
}

func parseTurtle(trig bool) parser {
	return func(r io.Reader, source, base string) iter.Seq2[triple.Triple, error] {
		return turtle.Parse(r, turtle.Options{Source: source, Base: base, TriG: trig})
	}
}

// collect returns all triples, each checked, or the first error.
func collect(t *testing.T, seq iter.Seq2[triple.Triple, error]) ([]triple.Triple, error) {
	t.Helper()
	var all []triple.Triple
	for tr, err := range seq {
		if err != nil {
			return all, err
		}
		if err := tr.Check(); err != nil {
			t.Errorf("%v: %v", tr, err)
		}
		all = append(all, tr)
	}
	return all, nil
}

// runSyntaxTest runs one test of a syntax. A positive or evaluation test must
// parse, a negative one must not, and an evaluation must be isomorphic to the
// result, which parseResult reads.
func runSyntaxTest(t *testing.T, test Test, parse, parseResult parser) {
	t.Helper()
	data, err := os.ReadFile(test.ActionPath())
	require.NoError(t, err)
	got, err := collect(t, parse(bytes.NewReader(data), test.Action, test.Base+test.Action))
	if strings.Contains(test.Type, "Negative") {
		if err == nil {
			t.Fatalf("%s: no error in\n%s", test.Comment, data)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v in\n%s", test.Comment, err, data)
	}
	if test.Result == "" {
		return
	}
	result, err := os.Open(test.ResultPath())
	require.NoError(t, err)
	defer result.Close()
	want, err := collect(t, parseResult(result, test.Result, ""))
	require.NoError(t, err)
	same, err := Isomorphic(got, want)
	require.NoError(t, err)
	if !same {
		t.Fatalf("%s\ngot  %v\nwant %v\nfrom\n%s", test.Comment, got, want, data)
	}
}

// TestLineAndTurtleSuites runs the suites of N-Triples, N-Quads, Turtle and TriG,
// 552 tests in all.
func TestLineAndTurtleSuites(t *testing.T) {
	total := 0
	for _, suite := range []struct {
		name   string
		tests  int
		parse  parser
		result parser
	}{
		{"rdf-n-triples", 50, parseLines(false), nil},
		{"rdf-n-quads", 59, parseLines(true), nil},
		{"rdf-turtle", 208, parseTurtle(false), parseLines(false)},
		{"rdf-trig", 235, parseTurtle(true), parseLines(true)},
	} {
		t.Run(suite.name, func(t *testing.T) {
			tests := Load(t, "rdf/rdf11/"+suite.name)
			if len(tests) != suite.tests {
				t.Errorf("%d tests, want %d", len(tests), suite.tests)
			}
			for _, test := range tests {
				t.Run(test.ID, func(t *testing.T) { runSyntaxTest(t, test, suite.parse, suite.result) })
			}
			total += len(tests)
		})
	}
	if total != 0 && total != 552 && !t.Failed() {
		t.Errorf("%d tests ran, want 552", total)
	}
}
