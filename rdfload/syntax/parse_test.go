// Tests of parsing by syntax.

package syntax

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// documents holds one document in all syntaxes, and in some syntaxes also a wrong one.
var documents = map[Syntax]struct{ good, bad string }{
	NTriples: {"<x:s> <x:p> _:b .\n", "<x:s> <x:p> bad .\n"},
	NQuads:   {"<x:s> <x:p> _:b .\n", "<x:s> <x:p> bad .\n"},
	Turtle:   {"<x:s> <x:p> _:b .\n", "<x:s> <x:p> bad .\n"},
	TriG:     {"{ <x:s> <x:p> _:b }\n", "<x:s> <x:p> bad .\n"},
	RDFXML: {`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="x:s"><p xmlns="x:" rdf:nodeID="b"/></rdf:Description>`,
		"<bad/>"},
	NDJSON: {`{"s":"<x:s>","p":"<x:p>","o":"_:b"}` + "\n", `{"s":"<x:s>","p":"<x:p>","o":"bad"}` + "\n"},
	JSONLD: {`[{"@id":"x:s","x:p":{"@id":"_:b"}}`, `,{"@id":"bad bad","x:p":1}`},
}

var ends = map[Syntax]string{RDFXML: "</rdf:RDF>", JSONLD: "]"}

func parseAll(doc string, s Syntax, opts Options) (lines []string, errs []error) {
	for t, err := range Parse(context.Background(), strings.NewReader(doc), s, opts) {
		if err != nil {
			errs = append(errs, err)
		} else {
			lines = append(lines, t.String())
		}
	}
	return lines, errs
}

func TestParse(t *testing.T) {
	for _, s := range All() {
		doc := documents[s]
		t.Run(s.Name(), func(t *testing.T) {
			for prefix, want := range map[string]string{"": "<x:s> <x:p> _:b .", "d": "<x:s> <x:p> _:d-b ."} {
				for _, keepGoing := range []bool{false, true} {
					got, errs := parseAll(doc.good+ends[s], s, Options{BlankPrefix: prefix, KeepGoing: keepGoing})
					if len(errs) > 0 || !slices.Equal(got, []string{want}) {
						t.Errorf("prefix %q, keep going %v: got %q, %v", prefix, keepGoing, got, errs)
					}
				}
			}
			_, errs := parseAll(doc.good+doc.bad+ends[s], s, Options{Source: "f"})
			var syntax *triple.SyntaxError
			var reject *Reject
			if len(errs) != 1 || !errors.As(errs[0], &syntax) || errors.As(errs[0], &reject) || syntax.Source != "f" {
				t.Errorf("strict: got %v", errs)
			}
			got, errs := parseAll(doc.good+doc.bad+doc.good+ends[s], s, Options{Source: "f", KeepGoing: true})
			if s == JSONLD {
				got, errs = parseAll(doc.good+doc.bad+ends[s], s, Options{Source: "f", KeepGoing: true})
			}
			want := 2
			if s == RDFXML || s == JSONLD {
				want = 0
			}
			if len(errs) != 1 || !errors.As(errs[0], &reject) || reject.Source != "f" || len(got) != want {
				t.Errorf("keep going: got %q, %v", got, errs)
			}
			if want == 2 && strings.TrimSpace(reject.Text) != strings.TrimSpace(doc.bad) {
				t.Errorf("rejected %q", reject.Text)
			}
		})
	}
	if _, errs := parseAll("", 0, Options{}); len(errs) != 1 {
		t.Errorf("no syntax: %v", errs)
	}
	if _, errs := parseAll("", NTriples, Options{BlankPrefix: "a b"}); len(errs) != 1 {
		t.Errorf("bad prefix: %v", errs)
	}
}

func TestParseContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, s := range All() {
		for _, err := range Parse(ctx, strings.NewReader(documents[s].good+ends[s]), s, Options{KeepGoing: true}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v: got %v", s, err)
			}
		}
	}
}

// TestSpill: a document must come back whole if it is larger than the held part, and must leave no
// file.
func TestSpill(t *testing.T) {
	dir := t.TempDir()
	const values = 20
	var doc strings.Builder
	doc.WriteString(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="x:s" xmlns:e="x:">`)
	for i := range values {
		fmt.Fprintf(&doc, "<e:p>%d%s\n</e:p>", i, strings.Repeat("a", 1<<20))
	}
	doc.WriteString(`</rdf:Description></rdf:RDF>`)
	got, errs := parseAll(doc.String(), RDFXML, Options{KeepGoing: true, TempDir: dir})
	if len(got) != values || len(errs) > 0 {
		t.Errorf("%d triples, %v", len(got), errs)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestNewWriter(t *testing.T) {
	plain := triple.Triple{Subject: triple.NewIRI("x:s"), Predicate: triple.NewIRI("x:p"), Object: triple.NewString("a")}
	named := plain
	named.Graph = triple.NewIRI("x:g")
	for _, s := range All() {
		var out bytes.Buffer
		w, err := NewWriter(&out, s, map[string]string{"e": "x:"})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(plain); err != nil {
			t.Error(err)
		}
		if err := w.Write(named); s.HasGraphs() == errors.Is(err, ErrNamedGraph) {
			t.Errorf("%v: a named graph gave %v", s, err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		want := []string{plain.String()}
		if s.HasGraphs() {
			want = append(want, named.String())
		}
		if got, errs := parseAll(out.String(), s, Options{}); !slices.Equal(got, want) || len(errs) > 0 {
			t.Errorf("%v: got %q, %v from\n%s", s, got, errs, out.String())
		}
	}
}
