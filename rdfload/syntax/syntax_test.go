// Tests of the names of syntaxes.

package syntax

import (
	"strings"
	"testing"
)

func TestByFile(t *testing.T) {
	for name, want := range map[string]Syntax{
		"a.nt": NTriples, "dir/A.NT.GZ": NTriples, "x.nq.zst": NQuads, "x.ttl": Turtle, `c:\x\y.trig.xz`: TriG,
		"a.rdf": RDFXML, "a.owl.bz2": RDFXML, "a.jsonld": JSONLD, "a.nt.gz.gz": 0, "a.json": 0, "nt": 0, ".gz": 0, "": 0,
	} {
		if got, ok := ByFile(name); got != want || ok != (want != 0) {
			t.Errorf("%q: got %v, %v; want %v", name, got, ok, want)
		}
	}
}

func TestByMediaType(t *testing.T) {
	for contentType, want := range map[string]Syntax{
		"application/n-triples": NTriples, "text/turtle; charset=UTF-8": Turtle, "Application/N-Quads;x=y": NQuads,
		"application/trig": TriG, "application/rdf+xml": RDFXML, `application/ld+json; profile="http://www.w3.org/ns/json-ld#expanded"`: JSONLD,
		"text/turtle; charset=latin1": 0, "application/rdf+xml; charset=UTF-16": RDFXML, "text/html": 0, "": 0, "text/turtle;;;": 0,
	} {
		if got, err := ByMediaType(contentType); got != want && !(contentType == "text/turtle;;;" && got == Turtle) || (got == 0) != (err != nil) {
			t.Errorf("%q: got %v, %v; want %v", contentType, got, err, want)
		}
	}
}

func TestByMediaTypeStar(t *testing.T) {
	if _, err := ByMediaType("text/x-turtlestar"); err == nil || !strings.Contains(err.Error(), "/load?rdf-star=true") {
		t.Errorf("the media type of RDF-star: %v", err)
	}
}

func TestByName(t *testing.T) {
	for name, want := range map[string]Syntax{
		"nt": NTriples, "NQ": NQuads, "ttl": Turtle, "trig": TriG, "rdf": RDFXML, "xml": RDFXML, "jsonld": JSONLD, "n3": 0, "": 0,
	} {
		if got, err := ByName(name); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: got %v, %v; want %v", name, got, err, want)
		}
	}
	for _, s := range All() {
		if got, err := ByName(s.Name()); got != s || err != nil {
			t.Errorf("%v by its name: %v, %v", s, got, err)
		}
		if got, err := ByMediaType(s.MediaType()); got != s || err != nil {
			t.Errorf("%v by its media type: %v, %v", s, got, err)
		}
	}
}

func TestSniff(t *testing.T) {
	for _, test := range []struct {
		head string
		want Syntax
	}{
		{"<x:s> <x:p> <x:o> .\n<x:s>", NQuads},
		{"# hello\n\n_:a <x:p> \"a\" <x:g> .\n", NQuads},
		{"<x:s> a <x:o> .\n", TriG},
		{"<x:s>\n <x:p> <x:o> .", TriG},
		{"\xEF\xBB\xBF@prefix e: <x:> .", TriG},
		{"PREFIX e: <x:>", TriG},
		{"VERSION \"1.2\"\n# hello\n<x:s> <x:p> <<( <x:s> <x:p> \"o\"@ar--rtl )>> <x:g> .\n", NQuads},
		{"VERSION \"1.2\" # Turtle\nPREFIX e: <x:>", TriG},
		{"@version '1.2' .\n<x:s> <x:p> <x:o> .", TriG},
		{"<< <x:s> <x:p> <x:o> >> <x:q> <x:z> .\n", TriG},
		{":s :p :o .", TriG},
		{"[] <x:p> <x:o> .", TriG},
		{"{ <x:s> <x:p> <x:o> }", TriG},
		{"<?xml version=\"1.0\"?>", RDFXML}, {"\xff\xfe<\x00?\x00x\x00", RDFXML}, {"\xfe\xff\x00<\x00r", RDFXML}, {"<\x00r\x00", RDFXML}, {"\x00<\x00r", RDFXML}, {"\xff\xfe_\x00", 0},
		{"<!-- x --><rdf:RDF>", RDFXML},
		{"<rdf:RDF\n xmlns:rdf='...'>", RDFXML},
		{"{ \"@context\": {} }", JSONLD},
		{"[ { \"@id\": \"x:y\" } ]", JSONLD},
		{"", 0},
		{"# only a comment", 0},
		{"%PDF", 0},
	} {
		got, ok := Sniff([]byte(test.head), true)
		if got != test.want || ok != (test.want != 0) {
			t.Errorf("%q: got %v, %v; want %v", test.head, got, ok, test.want)
		}
	}
	// The first line of a dump may have megabytes of annotations behind its statement.
	for head, want := range map[string]Syntax{
		"#@trefoil-annotations 1\n<x:s> <x:p> <x:o> . #@ \"app\" AAAA": NQuads, `{"s":{"type":"uri","value":"x:s"},"p":{"ty`: NDJSON,
	} {
		if got, ok := Sniff([]byte(head), false); !ok || got != want {
			t.Errorf("%q without its end: %v, %t", head, got, ok)
		}
	}
	if got, ok := Sniff([]byte("<x:s> <x:p> \"long"), false); ok {
		t.Errorf("a cut line was taken for %v", got)
	}
}
