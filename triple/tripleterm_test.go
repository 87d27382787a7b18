// Tests of triple terms and of base directions.

package triple

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/race"
)

func mustTerm(t *testing.T, text string) Term {
	t.Helper()
	term, err := ParseTerm(text)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// TestTripleTermText: text of users must have the canonical form, and JSON the parts.
func TestTripleTermText(t *testing.T) {
	for _, test := range []struct{ text, canonical, json string }{
		{"<<(<a:s><a:p><a:o>)>>", "<<( <a:s> <a:p> <a:o> )>>",
			`{"type":"triple","value":{"subject":{"type":"uri","value":"a:s"},"predicate":{"type":"uri","value":"a:p"},"object":{"type":"uri","value":"a:o"}}}`},
		{"<<( _:b a <<( <a:s> rdf:value 5)>>)>>", "<<( _:b <" + RDFType + "> <<( <a:s> <" + RDF + `value> "5"^^<` + XSDInteger + "> )>> )>>",
			`{"type":"triple","value":{"subject":{"type":"bnode","value":"b"},"predicate":{"type":"uri","value":"` + RDFType + `"},"object":` +
				`{"type":"triple","value":{"subject":{"type":"uri","value":"a:s"},"predicate":{"type":"uri","value":"` + RDF + `value"},"object":` +
				`{"type":"literal","value":"5","datatype":"` + XSDInteger + `"}}}}}`},
		{`"x"@ar-EG--rtl`, `"x"@ar-eg--rtl`, `{"type":"literal","value":"x","xml:lang":"ar-eg","its:dir":"rtl"}`},
	} {
		term := mustTerm(t, test.text)
		if got := term.String(); got != test.canonical {
			t.Errorf("%s: got %s, want %s", test.text, got, test.canonical)
		}
		if got := string(AppendJSON(nil, term)); got != test.json {
			t.Errorf("%s: got %s, want %s", test.text, got, test.json)
		}
	}
}

// TestTripleTermErrors: an error must say what is wrong. N-Triples have a column.
func TestTripleTermErrors(t *testing.T) {
	for text, want := range map[string]string{
		"<< <a:s> <a:p> <a:o> >>":                       "--rdf-star reads it",
		"<<( <a:s> <a:p> <a:o> )":                       "expected )>>",
		"<<( <a:s> <a:p> <a:o> >>":                      "expected )>>",
		"<<( <a:s> <a:p> )>>":                           "expected a term",
		`<<( "s" <a:p> <a:o> )>>`:                       "a literal cannot be a subject",
		"<<( <a:s> _:p <a:o> )>>":                       "a blank node cannot be a predicate",
		"<<( <<( <a:s> <a:p> <a:o> )>> <a:p> <a:o> )>>": "a triple term cannot be a subject",
		"<<( <a:s> <a:p> <s> )>>":                       "relative IRI",
		`<<( <a:s> <a:p> "o"@en--up )>>`:                "is not ltr or rtl",
		`"o"@en--LTR`:                                   "is not ltr or rtl",
		`"o"^^<` + RDFDirLangString + ">":               "language tag",
	} {
		if got, err := ParseTerm(text); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), want) && want != "expected a term" {
			t.Errorf("%s: got %v, %v, want %s", text, got, err, want)
		}
		events := scanBlock([]byte("<a:s> <a:p> "+text+" ."), ScanOptions{})
		if len(events) != 1 || events[0].column < 13 || !strings.Contains(events[0].msg, want) {
			t.Errorf("%s: got %+v, want %s", text, events, want)
		}
	}
	for _, doc := range []string{"<<( <a:s> <a:p> <a:o> )>> <a:p> <a:o> .", "<a:s> <<( <a:s> <a:p> <a:o> )>> <a:o> .", "<a:s> <a:p> <a:o> <<( <a:s> <a:p> <a:o> )>> ."} {
		events := scanBlock([]byte(doc), ScanOptions{Quads: true})
		if len(events) != 1 || !strings.Contains(events[0].msg, "a triple term cannot be a ") {
			t.Errorf("%s: got %+v", doc, events)
		}
	}
}

// TestTripleTermScratch: a decoded triple term must not overwrite terms of its statement that are in
// the same scratch.
func TestTripleTermScratch(t *testing.T) {
	line := `<a:\u0073> <a:\u0070> <<( <a:\u00e9> <a:\u00e8> <<( <a:x\u00e9> <a:\u00e8y> "o\n" )>> )>> <a:\u0067> .`
	checkTriple(t, `<a:s> <a:p> <<( <a:é> <a:è> <<( <a:xé> <a:èy> "o\n" )>> )>> <a:g> .`)
	sc := NewScanner(strings.NewReader(line), ScanOptions{Quads: true})
	if !sc.Scan() || sc.Triple().String() != `<a:s> <a:p> <<( <a:é> <a:è> <<( <a:xé> <a:èy> "o\n" )>> )>> <a:g> .` {
		t.Errorf("got %v, %v", sc.Triple(), sc.Err())
	}
}

// TestVersionLines: VERSION must be skipped in N-Triples.
func TestVersionLines(t *testing.T) {
	doc := "VERSION \"1.2\" # c\n<a:s> <a:p> <a:o> .\n\tVERSION \"1.1\"\nVERSION 1.2\n"
	events := scanBlock([]byte(doc), ScanOptions{})
	if len(events) != 2 || events[0].msg != "" || events[1].line != 4 || events[1].column != 9 || !strings.Contains(events[1].msg, "expected a version in quotes") {
		t.Errorf("got %+v", events)
	}
}

// TestDeepTripleTerm: a term of many levels must take time linear in its size and no stack.
func TestDeepTripleTerm(t *testing.T) {
	race.Skip(t)
	raiseNesting(t, MaxTermBytes)
	const depth = 200_000
	text := strings.Repeat("<<(<a:><a:>", depth) + "_:b" + strings.Repeat(")>>", depth)
	sc := NewScanner(strings.NewReader("<a:s> <a:p> "+text+" .\n"), ScanOptions{})
	if !sc.Scan() {
		t.Fatal(sc.Err())
	}
	term := sc.Triple().Object.Clone()
	if err := term.Check(); err != nil {
		t.Fatal(err)
	}
	again, err := ParseTerm(term.String())
	if err != nil || again != term {
		t.Fatalf("it comes back different: %v", err)
	}
	whole := AppendWholeTerm(nil, term)
	decoded, err := DecodeTerm(whole)
	if err != nil || decoded != term {
		t.Fatalf("it is decoded different: %v", err)
	}
	if !term.HasBlanks() {
		t.Error("its blank node is not found")
	}
	mapped, err := term.MapBlanks(func(Term) (Term, error) { return NewBlank("c"), nil })
	if want := strings.Replace(term.Value(), "b", "c", 1); err != nil || mapped.Value() != want {
		t.Errorf("its blank node is not mapped: %v", err)
	}
	if got := AppendJSON(nil, term); len(got) < depth {
		t.Error("its JSON is short")
	}
	text = strings.Repeat("<<(<a:><a:>", MaxTermBytes/8) + "_:b" + strings.Repeat(")>>", MaxTermBytes/8)
	if _, err := ParseTerm(text); !errors.Is(err, ErrTermTooLong) {
		t.Errorf("a term that is too long: %v", err)
	}
}

// TestTermJSONRoundTrip: a term must come back from its JSON.
func TestTermJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		term := genTerm(true).Draw(t, "term")
		if term.Check() != nil {
			return
		}
		if again, err := ParseTermJSON(AppendJSON(nil, term)); err != nil || again != term {
			t.Fatalf("%s comes back as %s, %v", AppendJSON(nil, term), again, err)
		}
	})
}

// TestTermJSONErrors: a wrong object must be rejected.
func TestTermJSONErrors(t *testing.T) {
	const s, p, o = `"subject":{"type":"uri","value":"a:s"}`, `"predicate":{"value":"a:p","type":"uri"}`, `"object":{"type":"uri","value":"a:o"}`
	const inner = `{"type":"triple","value":{` + s + "," + p + "," + o + `}}`
	for text, want := range map[string]string{
		`{"type":"triple","value":"x"}`:                                             "belong together",
		`{"type":"uri","value":{` + s + "," + p + "," + o + `}}`:                    "belong together",
		`{"type":"triple","value":{` + s + "," + p + `}}`:                           "needs subject, predicate and object",
		`{"type":"triple","value":{` + s + "," + s + `}}`:                           "occurs twice",
		`{"type":"triple","value":{"x":1}}`:                                         "unknown member",
		`{"type":"triple","value":{"subject":` + inner + "," + p + "," + o + `}}`:   "a triple term cannot be a subject",
		`{"type":"triple","value":{` + s + `,"predicate":` + inner + "," + o + `}}`: "a triple term cannot be a predicate",
		`{"type":"literal","value":"x","its:dir":"rtl"}`:                            "members that do not go with it",
		`{"type":"literal","value":"x","xml:lang":"ar","its:dir":"up"}`:             "not ltr or rtl",
		`{"type":"literal","value":"x","xml:lang":"ar--rtl"}`:                       "which its:dir gives",
		`{"type":"literal","value":5}`:                                              "no string",
		`{"type":"literal","value":"a","value":"b"}`:                                "occurs twice",
		strings.Repeat(`{"type":"triple","value":{`+s+","+p+`,"object":`, 101):      "nested more than 100 deep",
	} {
		if got, err := ParseTermJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestTripleTermBounds: bounds and starts must select triple terms by their terms.
func TestTripleTermBounds(t *testing.T) {
	reifies := NewIRI(RDFReifies)
	texts := []string{"<<( <a:s> <a:p> 5 )>>", "<<( <a:s> <a:p> 5.0 )>>", "<<( <a:s> <a:p> 6 )>>", "<<( <a:s> <a:p> 7 )>>", `<<( <a:s> <a:p> "x1" )>>`, `<<( <a:s> <a:p> "x2" )>>`,
		"<<( <a:s> <a:p> <<( <a:s> <a:p> 1 )>> )>>", "<<( <a:s> <a:p> <<( <a:s> <a:q> 1 )>> )>>", "<<( <a:s> <a:pp> 5 )>>", "<<( <a:s2> <a:p> 5 )>>", "<<( _:s <a:p> 5 )>>",
		"<<( <a:s> <a:p> <a:" + strings.Repeat("x", 2000) + "1> )>>", "<<( <a:s> <a:p> <a:" + strings.Repeat("x", 2000) + "2> )>>", "<a:s>", "5"}
	var triples []Triple
	for _, text := range texts {
		triples = append(triples, Triple{Subject: NewBlank("r"), Predicate: reifies, Object: mustTerm(t, text)})
	}
	rows := rowsOf(POS, triples)
	numbers := "<<( <a:s> <a:p> 5.0 )>> <<( <a:s> <a:p> 5 )>>"
	for _, test := range []struct{ ge, gt, le, lt, starts, want string }{
		{ge: "<<( <a:s> <a:p> 5 )>>", lt: "<<( <a:s> <a:p> 7 )>>", want: numbers + " <<( <a:s> <a:p> 6 )>>"},
		{ge: "<<( <a:s> <a:p> 5 )>>", le: "<<( <a:s> <a:p> 5 )>>", want: numbers},
		{gt: "<<( <a:s> <a:p> 6 )>>", le: "<<( <a:s> <a:p> 7 )>>", want: "<<( <a:s> <a:p> 7 )>>"},
		{gt: "<<( <a:s> <a:pp> 4 )>>", want: "<<( <a:s> <a:pp> 5 )>> <<( <a:s2> <a:p> 5 )>>"},
		{starts: "<<( <a:s> <a:p> \"x", want: `<<( <a:s> <a:p> "x1" )>> <<( <a:s> <a:p> "x2" )>>`},
		{starts: "<<( <a:s> <a:p> 5", want: numbers},
		{starts: "<<( <a:s> <a:p> 5 )>>", want: numbers},
		{starts: "<<( <a:s> <a:p> <<( <a:s> <a:p", want: "<<( <a:s> <a:p> <<( <a:s> <a:p> 1 )>> )>>"},
		{starts: "<<( <a:s> <a:p> <<(", want: "<<( <a:s> <a:p> <<( <a:s> <a:p> 1 )>> )>> <<( <a:s> <a:p> <<( <a:s> <a:q> 1 )>> )>>"},
		{starts: "<<( <a:s> <a:pp", want: "<<( <a:s> <a:pp> 5 )>>"},
		{starts: "<<( <a:s2> ", want: "<<( <a:s2> <a:p> 5 )>>"},
		{starts: "<<( <a:s2", want: "<<( <a:s2> <a:p> 5 )>>"},
		{starts: "<<( _:", want: "<<( _:s <a:p> 5 )>>"},
		{starts: "<<( <a:s> <a:p> <a:" + strings.Repeat("x", 2000) + "2", want: texts[12]},
	} {
		b := Bounds{Order: POS, Prefix: []Term{reifies}}
		for _, bound := range []struct {
			text string
			to   *Term
		}{{test.ge, &b.GE}, {test.gt, &b.GT}, {test.le, &b.LE}, {test.lt, &b.LT}} {
			if bound.text != "" {
				*bound.to = mustTerm(t, bound.text)
			}
		}
		if test.starts != "" {
			var err error
			if b.Starts, err = ParseStarts(test.starts); err != nil {
				t.Fatal(err)
			}
		}
		kr, err := b.KeyRange()
		if err != nil {
			t.Fatal(err)
		}
		want, err := ParseTerms(test.want)
		if err != nil {
			t.Fatal(err)
		}
		var got []Term
		for _, row := range rows {
			if !row.annotation && kr.Range.Contains(row.key) {
				_, terms, _ := SplitKey(row.key)
				if ok, err := kr.Accept(terms, row.value); err != nil {
					t.Fatal(err)
				} else if ok {
					got = append(got, row.triple.Object)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%.200v:\ngot  %.400v\nwant %.400v", test, got, want)
		}
	}
	// Ends may be missing, but not be too many (below).
	nested := "<<( <a:s> <a:p> <<( <a:s> <a:p> <a:o> "
	for _, ends := range []string{")>>", ")>> )>>", ")>>)>> "} {
		with, err := ParseStarts(nested + ends)
		if without, _ := ParseStarts(nested); err != nil || with.Text != without.Text {
			t.Errorf("%q: %q, %v, want %q", ends, with.Text, err, without.Text)
		}
	}
	// The text of starts must make the same starts.
	for _, text := range []string{"<<( ", "<<( <a:s> ", "<<( <a:s", "<<( _:s ", "<<( _:s", "<<( <a:s> <a:p> ", "<<( <a:s> <a:p", `<<( <a:s> <a:p> "x\"y`, `<<( <a:s> <a:p> "x"@ar--rtl`, `<<( <a:s> <a:p> 5`,
		"<<( <a:s> <a:p> <<( ", "<<( <a:s> <a:p> <<( _:b <a:", "<<( <a:s> <a:p> <<( _:b <a:p> <a:o", `"x"@ar--rtl`, `"x`, "<a:", "_:b"} {
		starts, err := ParseStarts(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseStarts(starts.String()); err != nil || again != starts {
			t.Errorf("%q becomes %q: %+v, %v, want %+v", text, starts.String(), again, err, starts)
		}
	}
	for _, text := range []string{"<<", "<< <a:s>", "<<( 5 <a:p>", "<<( <a:s> _:p", `<<( <a:s> <a:p> "x"@en`, "<<( <a:s> <a:p> 5 )>> )>>", "<<( <a:s> <a:p> 5)>>)>>",
		"<<( <a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> )>> )>>", `<<( <a:s> <a:p> "x" )>> 5`} {
		if starts, err := ParseStarts(text); err == nil && text != `<<( <a:s> <a:p> "x"@en` || err != nil && !errors.Is(err, ErrBadTerm) {
			t.Errorf("%s: got %+v, %v", text, starts, err)
		}
	}
}
