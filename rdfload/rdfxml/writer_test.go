// Tests of the writer.

package rdfxml

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/triple"
)

func write(t interface{ Fatal(...any) }, triples []triple.Triple) string {
	var out bytes.Buffer
	w, err := NewWriter(&out, map[string]string{"ex": "http://ex/", "": "http://ex/ns#", "xmlish": "http://bad/", "1": "http://one/", "rdf": "http://not-rdf/"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range triples {
		if err := w.Write(tr); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Written triples must be parsed to the same triples.
func TestWriterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.Custom(func(t *rapid.T) triple.Term {
			if rapid.Bool().Draw(t, "blank") {
				return triple.NewBlank(rapid.StringMatching(`[a-w_][a-z0-9.-]{0,2}[0-9_]`).Draw(t, "label"))
			}
			return triple.NewIRI("http://ex/" + rapid.StringMatching(`[a-z0-9&'?;=#ü]{0,5}`).Draw(t, "local"))
		})
		predicates := rapid.Custom(func(t *rapid.T) triple.Term {
			return triple.NewIRI(rapid.SampledFrom([]string{"http://ex/", "http://ex/ns#", "x:", triple.RDF, "http://ex/a&b/", "http://bad/"}).Draw(t, "ns") +
				rapid.StringMatching(`([0-9.%/-]{0,3})[a-zü_][a-z0-9.ü_-]{0,3}`).Draw(t, "local"))
		}).Filter(func(predicate triple.Term) bool {
			return predicate.Value() != triple.RDF+"li" // the only name of this pattern that XML cannot express
		})
		objects := rapid.Custom(func(t *rapid.T) triple.Term {
			text := rapid.StringOf(rapid.OneOf(rapid.Rune().Filter(func(r rune) bool {
				return r >= ' ' && r != 0xFFFE && r != 0xFFFF
			}), rapid.SampledFrom([]rune("\r\n\t<>&\"' ]")))).Draw(t, "text")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				return nodes.Draw(t, "node")
			case 4:
				return triple.NewLang(text, rapid.SampledFrom([]string{"ar--rtl", "en-GB--ltr"}).Draw(t, "tag"))
			case 1:
				return triple.NewLang(text, rapid.StringMatching(`[a-zA-Z]{1,3}(-[a-z0-9]{1,3})?`).Draw(t, "tag"))
			case 2:
				return triple.NewTyped(text, triple.XSD+rapid.SampledFrom([]string{"integer", "string", "x&y"}).Draw(t, "datatype"))
			}
			return triple.NewString(text)
		})
		// Some objects are triple terms, nested.
		plain := objects
		objects = rapid.Custom(func(t *rapid.T) triple.Term {
			object := plain.Draw(t, "object")
			for range max(rapid.IntRange(-3, 3).Draw(t, "depth"), 0) {
				object = triple.NewTripleTerm(nodes.Draw(t, "subject"), predicates.Draw(t, "predicate"), object)
			}
			return object
		})
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) triple.Triple {
			return triple.Triple{Subject: nodes.Draw(t, "subject"), Predicate: predicates.Draw(t, "predicate"), Object: objects.Draw(t, "object")}
		})).Draw(t, "triples")
		doc := write(t, want)
		var got []triple.Triple
		for tr, err := range Parse(strings.NewReader(doc), Options{}) {
			if err != nil {
				t.Fatalf("%v in\n%s", err, doc)
			}
			got = append(got, tr)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v\nwant %v\nfrom\n%s", got, want, doc)
		}
	})
}

// If XML cannot express a triple, it must be rejected, and the document so far must stay whole.
func TestWriterInexpressible(t *testing.T) {
	s, p, o := triple.NewIRI("http://ex/s"), triple.NewIRI("http://ex/p"), triple.NewString("o")
	deep := o
	for range maxTripleDepth + 1 {
		deep = triple.NewTripleTerm(s, p, deep)
	}
	for _, bad := range []triple.Triple{
		{Subject: s, Predicate: p, Object: deep},
		{Subject: s, Predicate: p, Object: triple.NewTripleTerm(s, triple.NewIRI("http://ex/12"), o)},
		{Subject: s, Predicate: p, Object: triple.NewTripleTerm(s, p, triple.NewString("\x01"))},
		{Subject: s, Predicate: triple.NewIRI(triple.RDF + "annotation"), Object: o},
		{Subject: s, Predicate: triple.NewIRI("http://ex/"), Object: o},
		{Subject: s, Predicate: triple.NewIRI("http://ex/12"), Object: o},
		{Subject: s, Predicate: triple.NewIRI(triple.RDF + "li"), Object: o},
		{Subject: s, Predicate: triple.NewIRI(triple.RDF + "Description"), Object: o},
		{Subject: triple.NewIRI("http://ex/other"), Predicate: p, Object: triple.NewString("a\x01b")},
		{Subject: s, Predicate: p, Object: triple.NewString("\uFFFE")},
	} {
		var out bytes.Buffer
		w, err := NewWriter(&out, nil)
		if err != nil {
			t.Fatal(err)
		}
		good := triple.Triple{Subject: s, Predicate: p, Object: o}
		err1, errBad, err2, err3 := w.Write(good), w.Write(bad), w.Write(good), w.Close()
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(errBad, ErrInexpressible) || len(errBad.Error()) > 1000 {
			t.Errorf("%.300s: %.2000v", bad, errBad)
		}
		lines, err := parse(&out, Options{})
		if len(lines) != 2 || err != nil {
			t.Errorf("after %v: %q, %v", bad, lines, err)
		}
	}
}

// TestWriterDeep: what the writer takes, the parser takes, too, if its limit is raised.
func TestWriterDeep(t *testing.T) {
	triple.SetMaxNesting(maxTripleDepth)
	t.Cleanup(func() { triple.SetMaxNesting(0) })
	s, p := triple.NewIRI("http://ex/s"), triple.NewIRI("http://ex/p")
	deep := triple.NewLang("x", "ar--rtl")
	for range maxTripleDepth {
		deep = triple.NewTripleTerm(s, p, deep)
	}
	want := triple.Triple{Subject: s, Predicate: p, Object: deep}
	lines, err := parse(strings.NewReader(write(t, []triple.Triple{want})), Options{})
	if err != nil || len(lines) != 1 || lines[0]+" ." != want.String() {
		t.Errorf("%d triples, %v", len(lines), err)
	}
}

// Labels are replaced if they are no names of XML, and must stay distinct.
func TestWriterLabels(t *testing.T) {
	var triples []triple.Triple
	for _, label := range []string{"1", "x-31", "x-", "a", "31"} {
		triples = append(triples, triple.Triple{Subject: triple.NewBlank(label), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString(label)})
	}
	seen := map[triple.Term]bool{}
	for tr, err := range Parse(strings.NewReader(write(t, triples)), Options{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[tr.Subject] = true
	}
	if len(seen) != len(triples) {
		t.Errorf("%d blank nodes of %d: %v", len(seen), len(triples), seen)
	}
}
