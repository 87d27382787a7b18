// Tests of the writer.

package turtle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

func TestWriter(t *testing.T) {
	ex := func(local string) triple.Term { return triple.NewIRI("http://ex/" + local) }
	typed := func(s, local string) triple.Term { return triple.NewTyped(s, triple.XSD+local) }
	input := []triple.Triple{
		{Subject: ex("s"), Predicate: triple.NewIRI(triple.RDFType), Object: ex("T")},
		{Subject: ex("s"), Predicate: ex("p"), Object: typed("01", "integer")},
		{Subject: ex("s"), Predicate: ex("p"), Object: typed("1.", "decimal")},
		{Subject: ex("s"), Predicate: ex("p"), Object: typed("-1e5", "double")},
		{Subject: ex("s"), Predicate: ex("p"), Object: typed("1", "boolean")},
		{Subject: ex("s"), Predicate: ex("p"), Object: typed("true", "boolean")},
		{Subject: ex("s"), Predicate: ex("q"), Object: triple.NewString("a\"\n")},
		{Subject: triple.NewBlank("b"), Predicate: ex("q"), Object: triple.NewLang("ä", "de")},
		{Subject: ex("a.b"), Predicate: ex("-x"), Object: ex("")},
		{Subject: triple.NewBlank("r"), Predicate: triple.NewIRI(triple.RDFReifies), Object: triple.NewTripleTerm(ex("s"), triple.NewIRI(triple.RDFType),
			triple.NewTripleTerm(triple.NewBlank("b"), ex("a.b"), typed("-1", "integer")))},
		{Subject: triple.NewBlank("r"), Predicate: ex("p"), Object: triple.NewTripleTerm(ex("s"), ex("p"), triple.NewLang("x", "ar--rtl"))},
	}
	graph := input[8]
	graph.Graph = ex("g")
	prefixes := map[string]string{"": "http://ex/", "xsd": triple.XSD, "unused": "http://unused/"}
	const head = "@prefix : <http://ex/> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
	const body = `:s a :T ;
    :p 01 , "1."^^xsd:decimal , -1e5 , "1"^^xsd:boolean , true ;
    :q "a\"\n" .
_:b :q "ä"@de .
<http://ex/a.b> <http://ex/-x> : .
_:r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( :s a <<( _:b <http://ex/a.b> -1 )>> )>> ;
    :p <<( :s :p "x"@ar--rtl )>> .
`
	got, err := write(append(input, graph), WriterOptions{TriG: true, Prefixes: prefixes})
	want := head + body + ":g {\n<http://ex/a.b> <http://ex/-x> : .\n}\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
	if _, err := write([]triple.Triple{graph}, WriterOptions{}); !errors.Is(err, ErrNamedGraph) {
		t.Errorf("a named graph in Turtle gave %v", err)
	}
	for _, bad := range []map[string]string{{"a b": "http://ex/"}, {"1": "http://ex/"}, {"x": "relative"}} {
		if _, err := NewWriter(&bytes.Buffer{}, WriterOptions{Prefixes: bad}); err == nil {
			t.Errorf("prefixes %v were taken", bad)
		}
	}
}

func write(triples []triple.Triple, opts WriterOptions) (string, error) {
	var out bytes.Buffer
	w, err := NewWriter(&out, opts)
	if err != nil {
		return "", err
	}
	for _, t := range triples {
		if err := w.Write(t); err != nil {
			return "", err
		}
	}
	err = w.Close()
	return out.String(), err
}

// TestRoundTrip: what is written is parsed to the same triples.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		iris := rapid.Custom(func(t *rapid.T) triple.Term {
			return triple.NewIRI(rapid.SampledFrom([]string{"http://ex/", "http://ex/ns#", "x:", triple.RDF}).Draw(t, "ns") +
				rapid.StringMatching(`[a-z0-9._:%/~ü-]{0,4}|type`).Draw(t, "local"))
		})
		blanks := rapid.Custom(func(t *rapid.T) triple.Term {
			return triple.NewBlank(rapid.StringMatching(`[a-z0-9_]([a-z.-]{0,2}[0-9_])?`).Draw(t, "label"))
		})
		literals := rapid.Custom(func(t *rapid.T) triple.Term {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return triple.NewString(rapid.String().Draw(t, "string"))
			case 1:
				return triple.NewLang(rapid.StringMatching(`["'\\\n\r\ta]*`).Draw(t, "string"), rapid.StringMatching(`[a-zA-Z]{1,3}(-[a-z0-9]{1,3})?(--(ltr|rtl))?`).Draw(t, "tag"))
			case 2:
				return triple.NewTyped(rapid.StringMatching(`[+-]?[0-9]{0,2}\.?[0-9]{0,2}([eE][+-]?[0-9]{0,2})?|true|false`).Draw(t, "number"),
					triple.XSD+rapid.SampledFrom([]string{"integer", "decimal", "double", "boolean", "float", "string"}).Draw(t, "datatype"))
			}
			return triple.NewTyped(rapid.String().Draw(t, "string"), iris.Draw(t, "datatype").Value())
		})
		nodes := rapid.OneOf(iris, blanks)
		objects := rapid.Custom(func(t *rapid.T) triple.Term {
			object := rapid.OneOf(nodes, literals).Draw(t, "innermost")
			for range max(rapid.IntRange(-3, 3).Draw(t, "depth"), 0) {
				object = triple.NewTripleTerm(nodes.Draw(t, "subject"), iris.Draw(t, "predicate"), object)
			}
			return object
		})
		opts := WriterOptions{TriG: rapid.Bool().Draw(t, "trig"), Prefixes: map[string]string{"ex": "http://ex/", "": "http://ex/ns#", "rdf": triple.RDF}}
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) triple.Triple {
			tr := triple.Triple{Subject: nodes.Draw(t, "subject"), Predicate: iris.Draw(t, "predicate"), Object: objects.Draw(t, "object")}
			if opts.TriG && rapid.Bool().Draw(t, "named") {
				tr.Graph = nodes.Draw(t, "graph")
			}
			return tr
		})).Draw(t, "triples")
		doc, err := write(want, opts)
		if err != nil {
			t.Fatal(err)
		}
		var got []triple.Triple
		for tr, err := range Parse(strings.NewReader(doc), Options{TriG: opts.TriG}) {
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

func ExampleWriter() {
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Prefixes: map[string]string{"ex": "http://ex/"}})
	if err != nil {
		panic(err)
	}
	for _, o := range []string{"1", "2"} {
		w.Write(triple.Triple{Subject: triple.NewIRI("http://ex/s"), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewTyped(o, triple.XSDInteger)})
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	fmt.Print(out.String())
	// Output:
	// @prefix ex: <http://ex/> .
	// ex:s ex:p 1 , 2 .
}

// TestWriterDeclaresLate: prefixes that are used behind the document's start are declared there, also
// within graphs and beside annotations, and all is read back.
func TestWriterDeclaresLate(t *testing.T) {
	prefixes := map[string]string{}
	for i := range 50 {
		prefixes[fmt.Sprintf("p%d", i)] = fmt.Sprintf("http://ex/%d/", i)
	}
	var text bytes.Buffer
	w, err := NewWriter(&text, WriterOptions{TriG: true, Annotations: true, Prefixes: prefixes})
	if err != nil {
		t.Fatal(err)
	}
	var want, got []triple.Triple
	r := seed.Rand(t)
	for i := range 2000 {
		one := triple.Triple{Subject: triple.NewIRI("http://ex/0/s"), Predicate: triple.NewIRI(fmt.Sprintf("http://ex/%d/p", i/40)), Object: triple.NewTyped(fmt.Sprint("o", i), fmt.Sprintf("http://ex/%d/d", i/50))}
		if i/100%2 == 1 {
			one.Graph = triple.NewIRI("http://ex/g")
		}
		var annotations []triple.ApplicationData
		if r.IntN(10) == 0 {
			annotations = []triple.ApplicationData{{ApplicationID: "a", Data: []byte{1, 2}}, {ApplicationID: "b", Data: []byte{1, 2}}}
		}
		if err := w.WriteAnnotated(one, annotations); err != nil {
			t.Fatal(err)
		}
		want = append(want, one)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "}\n@prefix") || strings.Contains(text.String(), "<http://ex/49/p>") {
		t.Errorf("no prefix is declared behind a graph:\n%s", text.String())
	}
	for one, err := range Parse(&text, Options{TriG: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, one)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read back %d triples, want %d", len(got), len(want))
	}
}
