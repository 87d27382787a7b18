// Tests of the writer: what it writes is read as the same triples.

package jsonld

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

func TestWriter(t *testing.T) {
	ex := func(name string) triple.Term { return triple.NewIRI("http://ex/" + name) }
	var out bytes.Buffer
	w := NewWriter(&out)
	for _, one := range []triple.Triple{
		{Subject: ex("a"), Predicate: triple.NewIRI(triple.RDFType), Object: ex("C")},
		{Subject: ex("a"), Predicate: ex("p"), Object: triple.NewString("x\"\n")},
		{Subject: ex("a"), Predicate: ex("p"), Object: triple.NewLang("y", "en")},
		{Subject: triple.NewBlank("b"), Predicate: ex("p"), Object: triple.NewTyped("1", "http://www.w3.org/2001/XMLSchema#integer"), Graph: ex("g")},
	} {
		if err := w.Write(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const want = `[
{"@id":"http://ex/a","@type":["http://ex/C"],"http://ex/p":[{"@value":"x\"\n"},{"@value":"y","@language":"en"}]},
{"@id":"http://ex/g","@graph":[
{"@id":"_:b","http://ex/p":[{"@value":"1","@type":"http://www.w3.org/2001/XMLSchema#integer"}]}]}
]
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

// TestWriterTripleTerm: a triple term is an error, and the document stays whole.
func TestWriterTripleTerm(t *testing.T) {
	s := triple.NewIRI("http://ex/s")
	var out bytes.Buffer
	w := NewWriter(&out)
	good := triple.Triple{Subject: s, Predicate: s, Object: triple.NewString("x")}
	err1 := w.Write(good)
	bad := w.Write(triple.Triple{Subject: s, Predicate: s, Object: triple.NewTripleTerm(s, s, s)})
	if !errors.Is(bad, ErrTripleTerm) || !strings.Contains(bad.Error(), "<<( <http://ex/s>") {
		t.Errorf("a triple term: %v", bad)
	}
	if err := errors.Join(err1, w.Write(good), w.Close()); err != nil {
		t.Fatal(err)
	}
	if lines, err := parseLines(&out, Options{}); len(lines) != 2 || err != nil {
		t.Errorf("the rest is %q, %v", lines, err)
	}
}

// TestWriterRoundTrip writes random triples, in any order, and reads them again.
func TestWriterRoundTrip(t *testing.T) {
	r := seed.Rand(t)
	pick := func(terms ...triple.Term) triple.Term { return terms[r.IntN(len(terms))] }
	iri := func(n int) triple.Term { return triple.NewIRI(fmt.Sprintf("http://ex/%d?ü=1", r.IntN(n))) }
	for range 300 {
		var want []string
		var out bytes.Buffer
		w := NewWriter(&out)
		for range r.IntN(200) {
			one := triple.Triple{Subject: iri(4), Predicate: pick(iri(100), triple.NewIRI(triple.RDFType)), Graph: pick(triple.Term{}, iri(3)),
				Object: pick(iri(5), triple.NewString("\u0001\\\"\uFFFE"), triple.NewLang("x", "de-at"), triple.NewLang("x", "ar-eg--rtl"), triple.NewTyped("{}", triple.RDF+"JSON"),
					triple.NewTyped("01", "http://www.w3.org/2001/XMLSchema#integer"), triple.NewTyped("true", "http://ex/dt"))}
			want = append(want, one.String())
			if err := w.Write(one); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for one, err := range Parse(strings.NewReader(out.String()), Options{}) {
			if err != nil {
				t.Fatalf("%v in %s", err, out.String())
			}
			got = append(got, one.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		if want, got = slices.Compact(want), slices.Compact(got); !slices.Equal(want, got) {
			t.Fatalf("%q\nwant %q\nin %s", got, want, out.String())
		}
	}
}
