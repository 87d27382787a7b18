// Tests of documents of RDF-star.

package turtle

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/rdfload/syntax/blank"
	"github.com/trefoildb/trefoil/triple"
)

// TestRDFStar: equal quoted triples of a document are one reifier.
func TestRDFStar(t *testing.T) {
	nodes := blank.Nodes{Prefix: "d"}
	iri := func(name string) triple.Term { return triple.NewIRI("x:" + name) }
	spo := triple.NewTripleTerm(iri("s"), iri("p"), iri("o"))
	r := nodes.Quoted(spo)
	about := triple.NewTripleTerm(r, iri("q"), triple.NewBlank("d-b"))
	r2 := nodes.Quoted(about)
	line := func(s, p, o triple.Term, g ...triple.Term) string {
		return strings.TrimSuffix(triple.Triple{Subject: s, Predicate: p, Object: o, Graph: append(g, triple.Term{})[0]}.String(), " .")
	}
	for _, test := range []struct {
		name, doc string
		opts      Options
		want      []string
	}{
		{"turtle", "PREFIX : <x:> << :s :p :o >> :q 'z' . :a :b << :s :p :o >> . :s :p :o {| :q 'y' |} .", Options{}, []string{
			line(r, termReifies, spo), line(r, iri("q"), triple.NewString("z")), line(iri("a"), iri("b"), r),
			line(iri("s"), iri("p"), iri("o")), line(r, iri("q"), triple.NewString("y"))}},
		{"nested", "PREFIX : <x:> << << :s :p :o >> :q _:b >> :r << :s :p :o >> .", Options{}, []string{
			line(r, termReifies, spo), line(r2, termReifies, about), line(r, termReifies, spo), line(r2, iri("r"), r)}},
		{"named reifiers stay", "PREFIX : <x:> << :s :p :o ~ :i >> :q << :s :p :o ~ >> .", Options{}, []string{
			line(iri("i"), termReifies, spo), line(triple.NewBlank("d_0"), termReifies, spo), line(iri("i"), iri("q"), triple.NewBlank("d_0"))}},
		{"graphs", "{ << <x:s> <x:p> <x:o> >> <x:q> 'z' } <x:g> { << <x:s> <x:p> <x:o> >> <x:q> 'z' }", Options{TriG: true}, []string{
			line(r, termReifies, spo), line(r, iri("q"), triple.NewString("z")),
			line(r, termReifies, spo, iri("g")), line(r, iri("q"), triple.NewString("z"), iri("g"))}},
		{"N-Triples", "<< <x:s> <x:p> <x:o> >> <x:q> _:b . # comment\n<x:a> <x:b> <<<x:s><x:p><x:o>>>.\n<x:a> <x:b> <<( <x:s> <x:p> <x:o> )>> .", Options{Lines: true}, []string{
			line(r, termReifies, spo), line(r, iri("q"), triple.NewBlank("d-b")), line(iri("a"), iri("b"), r), line(iri("a"), iri("b"), spo)}},
		{"N-Quads", "<< <x:s> <x:p> <x:o> >> <x:q> _:b <x:g> .\n<< <x:s> <x:p> <x:o> >> <x:q> \"z\"@en .\n<< << <x:s> <x:p> <x:o> >> <x:q> _:b >> <x:r> <x:a> _:b .", Options{Lines: true, TriG: true}, []string{
			line(r, termReifies, spo, iri("g")), line(r, iri("q"), triple.NewBlank("d-b"), iri("g")),
			line(r, termReifies, spo), line(r, iri("q"), triple.NewLang("z", "en")),
			line(r, termReifies, spo, triple.NewBlank("d-b")), line(r2, termReifies, about, triple.NewBlank("d-b")), line(r2, iri("r"), iri("a"), triple.NewBlank("d-b"))}},
	} {
		test.opts.RDFStar, test.opts.BlankPrefix = true, "d"
		if got, errs := parse(strings.NewReader(test.doc), test.opts); len(errs) > 0 || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v\nwant %q", test.name, got, errs, test.want)
		}
	}
	// Equal triples of other documents are other nodes.
	if other := (&blank.Nodes{Prefix: "e"}).Quoted(spo); other == r {
		t.Errorf("two documents share the node %s", other)
	}
}

// TestRDFStarErrors: what N-Triples and N-Quads do not have is an error, and a rejected statement takes
// no reifying triple with it.
func TestRDFStarErrors(t *testing.T) {
	for _, test := range []struct {
		doc  string
		opts Options
		want string
	}{
		{"<x:s> <x:p> 1 .", Options{}, "1:13: expected an object (an IRI, a blank node, a literal, << triple >> or <<( triple )>>), found '1'"},
		{"'x' <x:p> <x:o> .", Options{}, "1:1: expected a subject (an IRI, a blank node or << triple >>)"},
		{"<x:s> a <x:o> .", Options{}, "1:7: expected a predicate (an IRI), found 'a'"},
		{"<x:s> << <x:a> <x:b> <x:c> >> <x:o> .", Options{}, "1:7: a triple cannot be a predicate"},
		{"<x:s> <x:p> <x:o> <x:g> .", Options{}, "1:19: expected '.', found '<'"},
		{"<x:s> <x:p> <x:o> << <x:a> <x:b> <x:c> >> .", Options{TriG: true}, "1:19: a triple cannot be a graph name"},
		{"<s> <x:p> <x:o> .", Options{}, "1:1: relative IRI <s> and no base"},
		{triple.AnnotationsHeader + "\n<x:s> <x:p> <x:o> .", Options{}, "read it without --rdf-star"},
		{triple.AnnotationsHeader + "\n<x:s> <x:p> <x:o> .", Options{TriG: true}, "read it without --rdf-star"},
	} {
		test.opts.RDFStar, test.opts.Lines = true, true
		if _, errs := parse(strings.NewReader(test.doc), test.opts); len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.doc, errs, test.want)
		}
	}
	got, errs := parse(strings.NewReader("<< <x:s> <x:p> <x:o> >> <x:q> .\n<< <x:s> <x:p> <x:o> >> <x:q> <x:z> ."), Options{RDFStar: true, Lines: true, KeepGoing: true})
	if len(errs) != 1 || len(got) != 2 || !strings.Contains(got[0], triple.RDFReifies) {
		t.Errorf("after a rejected statement: %q, %v", got, errs)
	}
}

// FuzzRDFStar: documents of RDF-star end without a panic, their triples pass their check, and come back
// from N-Quads. Every reifier of a hash has its triple.
func FuzzRDFStar(f *testing.F) {
	f.Add([]byte("<< << <x:s> <x:p> _:o >> <x:q> \"z\"@en--ltr >> <x:q> <<( <x:s> <x:p> <x:o> )>> <x:g> .\nVERSION \"1.2\" << <x:s> <x:p> <x:o> >> <x:q> 1 ."), true, true, true)
	f.Add([]byte("PREFIX : <x:> { << :s :p << :s :p :o >> >> :q 'z' {| :q << :s :p :o >> |} } :g { << :s :p :o >> :q [] }"), true, false, false)
	f.Fuzz(func(t *testing.T, doc []byte, quads, lines, keepGoing bool) {
		opts := Options{TriG: quads, Lines: lines, KeepGoing: keepGoing, RDFStar: true, MaxToken: 1 << 12, MaxDepth: 50, BlankPrefix: "d"}
		var text []byte
		reified, used := map[triple.Term]bool{}, map[triple.Term]bool{}
		n := 0
		for tr, err := range Parse(bytes.NewReader(doc), opts) {
			if err != nil {
				continue
			}
			if err := tr.Check(); err != nil {
				t.Fatalf("%v: %v", tr, err)
			}
			if tr.Predicate == termReifies {
				reified[tr.Subject] = true
			}
			if strings.HasPrefix(tr.Subject.Value(), "d_t") && tr.Subject.Kind() == triple.Blank {
				used[tr.Subject] = true
			}
			text = triple.AppendNQuad(text, tr)
			n++
		}
		for node := range used {
			if !reified[node] {
				t.Fatalf("%v reifies nothing in\n%s", node, text)
			}
		}
		sc := triple.NewScanner(bytes.NewReader(text), triple.ScanOptions{Quads: true})
		for sc.Scan() {
			n--
		}
		if sc.Err() != nil || n != 0 {
			t.Fatalf("%d triples are lost, %v, in\n%s", n, sc.Err(), text)
		}
	})
}
