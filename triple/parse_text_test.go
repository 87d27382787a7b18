// Tests of terms from text.

package triple

import (
	"errors"
	"strings"
	"testing"
)

func TestParseTerm(t *testing.T) {
	tests := []struct {
		text string
		want Term
	}{
		{"<http://ex/a>", NewIRI("http://ex/a")},
		{" <http://ex/\\u00e9>\n", NewIRI("http://ex/é")},
		{"_:b.1", NewBlank("b.1")},
		{`"a \"b\" \\"`, NewString(`a "b" \`)},
		{`"Mü"@de-AT`, NewLang("Mü", "de-AT")},
		{`"01"^^<` + XSDInteger + `>`, NewTyped("01", XSDInteger)},
		{`"01"^^xsd:integer`, NewTyped("01", XSDInteger)},
		{`"a b"^^rdfs:x`, NewTyped("a b", "http://www.w3.org/2000/01/rdf-schema#x")},
		{`"x"^^xsd:string`, NewString("x")},
		{"xsd:integer", NewIRI(XSDInteger)},
		{"rdf:type", NewIRI(RDFType)},
		{"42", NewTyped("42", XSDInteger)},
		{"-007", NewTyped("-007", XSDInteger)},
		{"1.50", NewTyped("1.50", XSDDecimal)},
		{"-.5", NewTyped("-.5", XSDDecimal)},
		{"1e3", NewTyped("1e3", XSDDouble)},
		{"5.E-1", NewTyped("5.E-1", XSDDouble)},
		{"true", NewTyped("true", XSDBoolean)},
		{"false", NewTyped("false", XSDBoolean)},
	}
	for _, test := range tests {
		if got, err := ParseTerm(test.text); err != nil || got != test.want {
			t.Errorf("%q: %v, %v, want %v", test.text, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"":                          "expected a term, found nothing",
		"  ":                        "expected a term, found nothing",
		"foo":                       "is neither <IRI>",
		"foaf:name":                 "is neither <IRI>",
		"xsd:":                      "is neither <IRI>",
		"INF":                       "is neither <IRI>",
		"5.":                        `"." after the term`,
		"<a:b> <a:c>":               `"<a:c>" after the term`,
		"<a:b":                      "at byte 0 of \"<a:b\": this IRI has no closing '>'",
		"<b>":                       "relative IRI",
		"<a:b>x":                    "at byte 5",
		`"a`:                        "no closing",
		"\"a\nb\"":                  "no closing",
		`"a\`:                       "no closing",
		`"a"^^`:                     "expected ^^<datatype IRI>",
		`"a"^^foo`:                  "expected <datatype IRI> or a name with the prefix xsd",
		`"a\q"^^xsd:int`:            "bad escape in a literal",
		`"a"^^xsd:a|b`:              "character '|'",
		`"a"^^rdf:langString`:       "without a language tag",
		`"\uD83D\uDE00"`:            "surrogates",
		`"a"@`:                      "expected a language tag",
		"_:":                        "expected a blank node label",
		"\xFF":                      "is neither",
		"\"\xFF\"":                  "invalid UTF-8",
		"rdf:\xFF":                  "UTF-8",
		"xsd:a b":                   `"b" after the term`,
		strings.Repeat("x", 100000): "...",
	} {
		if got, err := ParseTerm(text); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.80q: %v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParsePattern(t *testing.T) {
	s, p, o, g := NewIRI("a:s"), NewIRI("a:p"), NewTyped("5", XSDInteger), NewIRI("a:g")
	tests := []struct {
		text string
		want Pattern
	}{
		{"", Pattern{}},
		{" . ", Pattern{}},
		{"? * ?o", Pattern{}},
		{"<a:s> <a:p> 5", Pattern{Subject: s, Predicate: p, Object: o}},
		{"<a:s> <a:p> 5.", Pattern{Subject: s, Predicate: p, Object: o}},
		{"<a:s> <a:p> 5 <a:g> .", Pattern{Subject: s, Predicate: p, Object: o, Graph: g}},
		{"? a ? default", Pattern{Predicate: NewIRI(RDFType), DefaultGraph: true}},
		{"? ? ? ?g", Pattern{}},
	}
	for _, test := range tests {
		if got, err := ParsePattern(test.text); err != nil || got != test.want {
			t.Errorf("%q: %+v, %v, want %+v", test.text, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"<a:s>":         "this has 1; write ? for any",
		"? <a:p>":       "this has 2",
		"? ? ? ? ?":     "more than four terms",
		"a ? ?":         "is neither",
		"? ? default":   "is neither",
		"? ? <a:o":      "no closing",
		"? ? \"o\"@en-": "",
	} {
		if got, err := ParsePattern(text); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseStarts(t *testing.T) {
	tests := []struct {
		text string
		want Starts
	}{
		{"<http://ex/", Starts{Kind: IRI, Text: "http://ex/"}},
		{"<http://ex/>", Starts{Kind: IRI, Text: "http://ex/"}},
		{"<", Starts{Kind: IRI}},
		{"<ex\uFFFD", Starts{Kind: IRI, Text: "ex\uFFFD"}},
		{`"Mü`, Starts{Kind: Literal, Text: "Mü"}},
		{`"Mü"`, Starts{Kind: Literal, Text: "Mü"}},
		{`"M\u00fc\n"@de`, Starts{Kind: Literal, Text: "Mü\n", Lang: "de"}},
		{`"`, Starts{Kind: Literal}},
		{`"\"`, Starts{Kind: Literal, Text: `"`}},
		{"_:", Starts{Kind: Blank}},
		{"_:a.", Starts{Kind: Blank, Text: "a."}},
	}
	for _, test := range tests {
		if got, err := ParseStarts(test.text); err != nil || got != test.want {
			t.Errorf("%q: %+v, %v, want %+v", test.text, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"":           "starts begins with",
		"5":          "starts begins with",
		"<a b":       "character ' '",
		"<a:\xFF":    "UTF-8",
		`"a\`:        "bad escape",
		`"a\q`:       "bad escape",
		"\"\xFF":     "UTF-8",
		`"a"@`:       "only a language tag",
		`"a"@de x`:   "only a language tag",
		`"a"^^<a:t>`: "only a language tag",
		"_:a b":      "does not begin a blank node label",
		"_:-":        "does not begin a blank node label",
	} {
		if got, err := ParseStarts(text); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseOrder(t *testing.T) {
	for _, o := range Orders {
		for _, name := range []string{o.String(), strings.ToUpper(o.String())} {
			if got, err := ParseOrder(name); err != nil || got != o {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
	if _, err := ParseOrder("sop"); err == nil || !strings.Contains(err.Error(), "it is spo, pos, osp or gspo") {
		t.Error(err)
	}
	if Order(0).Valid() || Order(5).Valid() {
		t.Error("orders that are none")
	}
}

func TestParseNamedPattern(t *testing.T) {
	p, names, err := ParseNamedPattern(`?s a ? ?g .`)
	if err != nil || names != [4]string{"s", "", "", "g"} || p != (Pattern{Predicate: NewIRI(RDFType)}) {
		t.Errorf("%v, %q, %v", p, names, err)
	}
}

// TestTextPrefixes: names with given prefixes are terms, datatypes and beginnings, and those of the package
// cannot be replaced.
func TestTextPrefixes(t *testing.T) {
	x := Text{Prefix: func(name string) (string, bool) {
		return map[string]string{"ex": "http://ex/", "xsd": "http://wrong/", "http": "http://wrong/"}[name], name == "ex" || name == "xsd" || name == "http"
	}}
	for text, want := range map[string]string{
		"ex:age": "<http://ex/age>", "ex:": "<http://ex/>", "ex:a/b.c": "<http://ex/a/b.c>", `"x"^^ex:t`: `"x"^^<http://ex/t>`,
		"xsd:date": "<http://www.w3.org/2001/XMLSchema#date>", "_:b": "_:b", "no:x": "", "http://a/": "", "ex:a b": "", "ex:<": "",
	} {
		got, err := x.Term(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
	if p, err := x.Pattern("ex:s a ex:T ."); err != nil || p.Subject != NewIRI("http://ex/s") || p.Object != NewIRI("http://ex/T") {
		t.Errorf("%v, %v", p, err)
	}
	for text, want := range map[string]Starts{"ex:a": {Kind: IRI, Text: "http://ex/a"}, "<ex:a": {Kind: IRI, Text: "ex:a"}, `"ex:a`: {Kind: Literal, Text: "ex:a"}} {
		if got, err := x.Starts(text); err != nil || got != want {
			t.Errorf("%s is %v, %v", text, got, err)
		}
	}
	if _, err := ParseTerm("ex:age"); err == nil {
		t.Error("ex is a prefix without Text")
	}
}
