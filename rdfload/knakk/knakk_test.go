// Conversions there and back, and loads from decoders.

package knakk_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/knakk/rdf"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload/knakk"
	"github.com/trefoildb/trefoil/triple"
)

// text generates strings that are easy to escape wrongly, also invalid UTF-8.
var text = rapid.Custom(func(t *rapid.T) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "a", "\n#", "\r", "\t", "\x00", "\x7f", `"`, `\`, `\u0041`, "é", "😀", "_:", "@en", "^^", "\xff", ".", "-", "%20", "http://ex/"})), 0, 4).Draw(t, "pieces"), "")
})

var tag = rapid.StringMatching(`[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8}){0,4}`)

// term generates terms of which some are malformed.
var term = rapid.Custom(func(t *rapid.T) triple.Term {
	iri := rapid.OneOf(rapid.Map(text, func(s string) string { return "http://ex/" + s }), text)
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return triple.NewIRI(iri.Draw(t, "iri"))
	case 1:
		return triple.NewBlank(rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9_é]([a-z.-]*[a-z])?`), rapid.Just("defaultGraph"), text).Draw(t, "label"))
	case 2:
		return triple.NewString(text.Draw(t, "value"))
	case 3:
		return triple.NewLang(text.Draw(t, "value"), rapid.OneOf(tag, text).Draw(t, "tag"))
	}
	datatype := rapid.OneOf(iri, rapid.SampledFrom([]string{triple.XSDInteger, triple.XSDString, triple.RDFLangString}))
	return triple.NewTyped(text.Draw(t, "value"), datatype.Draw(t, "datatype"))
})

// TestTermsRoundTrip checks that a well-formed term comes back as it was, and that another one is
// an error.
func TestTermsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours := term.Draw(t, "term")
		theirs, err := knakk.FromTerm(ours)
		if malformed := ours.Check(); malformed != nil {
			if !errors.Is(err, triple.ErrBadTerm) {
				t.Fatalf("FromTerm(%q) = %v, %v; it is malformed: %v", ours, theirs, err, malformed)
			}
			return
		}
		if err != nil {
			t.Fatalf("FromTerm(%s): %v", ours, err)
		}
		if back, err := knakk.Term(theirs); err != nil || back != ours {
			t.Fatalf("%s came back as %s, %v", ours, back, err)
		}
	})
}

// TestTheirTermsRoundTrip checks the terms that the constructors of knakk/rdf make.
func TestTheirTermsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var theirs rdf.Term
		var err error
		switch rapid.IntRange(0, 4).Draw(t, "constructor") {
		case 0:
			theirs, err = rdf.NewIRI("a:" + text.Draw(t, "iri"))
		case 1:
			theirs, err = rdf.NewBlank(text.Draw(t, "label"))
		case 2:
			value := rapid.SampledFrom([]any{true, 7, int64(-1), 1e21, "x", []byte("b")})
			theirs, err = rdf.NewLiteral(value.Draw(t, "value"))
		case 3:
			theirs, err = rdf.NewLangLiteral(text.Draw(t, "value"), tag.Draw(t, "tag"))
		case 4:
			var datatype rdf.IRI
			datatype, err = rdf.NewIRI("a:" + text.Draw(t, "datatype"))
			theirs = rdf.NewTypedLiteral(text.Draw(t, "value"), datatype)
		}
		if err != nil {
			t.Skip("knakk/rdf rejects it")
		}
		ours, err := knakk.Term(theirs)
		if err != nil {
			if !errors.Is(err, triple.ErrBadTerm) {
				t.Fatal(err)
			}
			return
		}
		back, err := knakk.FromTerm(ours)
		want := theirs
		if l, ok := theirs.(rdf.Literal); ok && l.Lang() != "" {
			want, _ = rdf.NewLangLiteral(l.String(), strings.ToLower(l.Lang()))
		}
		if err != nil || back.Serialize(rdf.NTriples) != want.Serialize(rdf.NTriples) {
			t.Fatalf("%s came back as %v, %v", theirs.Serialize(rdf.NTriples), back, err)
		}
	})
}

// TestTriplesRoundTrip checks triples and quads of any terms, also at wrong positions.
func TestTriplesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ours := triple.Triple{Subject: term.Draw(t, "s"), Predicate: term.Draw(t, "p"), Object: term.Draw(t, "o")}
		if rapid.Bool().Draw(t, "named") {
			ours.Graph = term.Draw(t, "g")
		}
		theirs, err := knakk.FromQuad(ours)
		if malformed := ours.Check(); malformed != nil || ours.Graph == triple.NewBlank("defaultGraph") {
			if !errors.Is(err, triple.ErrBadTerm) {
				t.Fatalf("FromQuad(%q) = %v; it is malformed: %v", ours, err, malformed)
			}
			return
		}
		if err != nil {
			t.Fatalf("FromQuad(%s): %v", ours, err)
		}
		if back, err := knakk.Quad(theirs); err != nil || back != ours {
			t.Fatalf("%s came back as %s, %v", ours, back, err)
		}
		single, err := knakk.FromTriple(ours)
		if !ours.Graph.IsZero() {
			if !errors.Is(err, triple.ErrBadTerm) {
				t.Fatalf("FromTriple(%s) = %v, which loses the graph", ours, err)
			}
			return
		}
		if back, err2 := knakk.Triple(single); err != nil || err2 != nil || back != ours {
			t.Fatalf("%s came back as %s, %v, %v", ours, back, err, err2)
		}
	})
}

// TestRDF12 checks that what knakk/rdf cannot hold is an error that says so.
func TestRDF12(t *testing.T) {
	iri := triple.NewIRI("x:a")
	for want, object := range map[string]triple.Term{
		"knakk/rdf is RDF 1.1 and has no triple terms":                  triple.NewTripleTerm(iri, iri, iri),
		"knakk/rdf is RDF 1.1 and has no strings with a base direction": triple.NewLang("a", "ar--rtl"),
	} {
		if _, err := knakk.FromTriple(triple.Triple{Subject: iri, Predicate: iri, Object: object}); !errors.Is(err, triple.ErrBadTerm) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", object, err, want)
		}
	}
}

func TestInvalid(t *testing.T) {
	iri, err := rdf.NewIRI("http://ex/a")
	relative, err2 := rdf.NewIRI("a")
	blank, err3 := rdf.NewBlank("a b")
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	bytes, err := rdf.NewLiteral([]byte{0xff})
	if err != nil {
		t.Fatal(err)
	}
	langString, err := rdf.NewIRI(triple.RDFLangString)
	if err != nil {
		t.Fatal(err)
	}
	for name, theirs := range map[string]rdf.Term{
		"nil": nil, "a pointer": &iri, "no IRI": rdf.IRI{}, "a relative IRI": relative, "no label": rdf.Blank{}, "a label with a space": blank,
		"no datatype": rdf.Literal{}, "no UTF-8": bytes, "no language": rdf.NewTypedLiteral("a", langString),
	} {
		if got, err := knakk.Term(theirs); !errors.Is(err, triple.ErrBadTerm) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := knakk.Triple(rdf.Triple{Subj: iri, Obj: iri}); !errors.Is(err, triple.ErrBadTerm) || !strings.HasPrefix(err.Error(), "predicate: ") {
		t.Errorf("no predicate: %v", err)
	}
	if _, err := knakk.FromTerm(triple.NewString(strings.Repeat("x", triple.MaxTermBytes+1))); !errors.Is(err, triple.ErrTermTooLong) {
		t.Errorf("a long term: %v", err)
	}
	quad, err := knakk.Quad(rdf.Quad{Triple: rdf.Triple{Subj: iri, Pred: iri, Obj: iri}})
	if err != nil || !quad.Graph.IsZero() {
		t.Errorf("without a context: %s, %v", quad, err)
	}
}

// TestXMLLang: the RDF/XML decoder leaves the element's language on a literal of another datatype.
func TestXMLLang(t *testing.T) {
	const document = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">
<rdf:Description rdf:about="http://ex/s">
<e:size xml:lang="en" rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">7</e:size>
<e:name xml:lang="zh-Hant-TW">七</e:name>
</rdf:Description></rdf:RDF>`
	var objects []triple.Term
	for got, err := range knakk.Triples(rdf.NewTripleDecoder(strings.NewReader(document), rdf.RDFXML), nil) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, got.Object)
	}
	if len(objects) != 2 || objects[0] != triple.NewTyped("7", triple.XSDInteger) || objects[1] != triple.NewLang("七", "zh-Hant-TW") {
		t.Errorf("got %s", objects)
	}
}

// TestQuadDecoder: a named graph _:defaultGraph of the document stays one.
func TestQuadDecoder(t *testing.T) {
	const document = "<a:s> <a:p> \"1\" .\n<a:s> <a:p> \"2\" <a:g> .\n<a:s> <a:p> \"3\" _:defaultGraph .\n"
	got, err := io.ReadAll(iotest.OneByteReader(knakk.QuadReader(rdf.NewQuadDecoder(strings.NewReader(document), rdf.NQuads), nil)))
	if err != nil || string(got) != document {
		t.Errorf("%v\n%s", err, got)
	}
	named := rdf.NewQuadDecoder(strings.NewReader("<a:s> <a:p> <a:o> .\n"), rdf.NQuads)
	if named.DefaultGraph, err = rdf.NewIRI("a:mine"); err != nil {
		t.Fatal(err)
	}
	for got, err := range knakk.Quads(named, nil) {
		if err != nil || got.Graph != triple.NewIRI("a:mine") {
			t.Errorf("a decoder with a default graph of its own: %s, %v", got, err)
		}
	}
}

// TestLoadFails: a load from a decoder whose document is malformed or whose reader fails stores
// nothing, and returns the cause.
func TestLoadFails(t *testing.T) {
	store, err := node.Open(t.TempDir(), node.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const good = "<http://ex/a> <http://ex/p> \"1\" .\n"
	broken := errors.New("the connection broke")
	for name, test := range map[string]struct {
		in   io.Reader
		want string
	}{
		"broken":       {io.MultiReader(strings.NewReader(good), iotest.ErrReader(broken)), "statement 2: read: the connection broke"},
		"in a line":    {io.MultiReader(strings.NewReader(good+"<http://ex/"), iotest.ErrReader(broken)), "statement 2: read: the connection broke"},
		"malformed":    {strings.NewReader(good + "<http://ex/a> \"p\" <http://ex/o> .\n"), "statement 2: "},
		"relative IRI": {strings.NewReader(good + "<a> <b> <c> .\n"), "statement 2: "},
	} {
		in := knakk.NewInput(test.in)
		_, err := store.LoadReader(t.Context(), "decoder.nq", knakk.TripleReader(rdf.NewTripleDecoder(in, rdf.NTriples), in))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		if n, err := store.Count(t.Context(), triple.Pattern{}); err != nil || n != 0 {
			t.Errorf("%s: %d triples are stored, %v", name, n, err)
		}
	}
}

// TestPanic: a panic of a decoder is an error.
func TestPanic(t *testing.T) {
	for _, err := range knakk.Triples(panics{}, nil) {
		if err == nil || !strings.Contains(err.Error(), "statement 1: knakk/rdf cannot decode it: index") {
			t.Error(err)
		}
	}
}

type panics struct{ rdf.TripleDecoder }

func (panics) Decode() (rdf.Triple, error) { panic("index out of range") }

// TestNoGoroutine: a converted language tag of several parts leaves no goroutine.
func TestNoGoroutine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	if _, err := knakk.FromTerm(triple.NewLang("a\n#b", "zh-Hant-TW")); err != nil {
		t.Fatal(err)
	}
}
