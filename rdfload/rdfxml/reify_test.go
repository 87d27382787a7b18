// Tests of triple terms, annotations and base directions.

package rdfxml

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/triple"
)

const (
	head12  = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/" xmlns:its="http://www.w3.org/2005/11/its" xml:base="http://b/" rdf:version="1.2">`
	rdfType = "<" + triple.RDFType + ">"
	reifies = "<" + triple.RDFReifies + ">"
)

// TestRDF12 has cases that W3C's suite lacks. warns is the beginning of the warning.
func TestRDF12(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		want      []string
		warns     string
	}{
		{"typed node inside", head12 + `<e:T rdf:about="s"><e:p rdf:parseType="Triple"><e:U rdf:nodeID="n"/></e:p></e:T>` + tail, []string{
			`<http://b/s> ` + rdfType + ` <http://e/T>`, `<http://b/s> <http://e/p> <<( _:n ` + rdfType + ` <http://e/U> )>>`}, ""},
		{"property attribute inside", head12 + `<rdf:Description rdf:about="s"><e:p rdf:parseType="Triple"><rdf:Description e:q="x" xml:lang="en"/></e:p></rdf:Description>` + tail, []string{
			`<http://b/s> <http://e/p> <<( _:genid_0 <http://e/q> "x"@en )>>`}, ""},
		{"the same triple twice", head12 + `<rdf:Description rdf:about="s"><e:p rdf:parseType="Triple"><rdf:Description rdf:about="a"><e:q rdf:parseType="Triple"><e:T rdf:about="x"/></e:q><e:q rdf:parseType="Triple"><e:T rdf:about="x"/></e:q></rdf:Description></e:p></rdf:Description>` + tail, []string{
			`<http://b/s> <http://e/p> <<( <http://b/a> <http://e/q> <<( <http://b/x> ` + rdfType + ` <http://e/T> )>> )>>`}, ""},
		{"annotated and reified", head12 + `<rdf:Description rdf:about="s"><e:p rdf:ID="i" rdf:annotation="a" rdf:parseType="Triple"><e:T rdf:about="x"/></e:p></rdf:Description>` + tail, []string{
			`<http://b/s> <http://e/p> <<( <http://b/x> ` + rdfType + ` <http://e/T> )>>`,
			`<http://b/a> ` + reifies + ` <<( <http://b/s> <http://e/p> <<( <http://b/x> ` + rdfType + ` <http://e/T> )>> )>>`,
			`<http://b/#i> ` + rdfType + ` <` + triple.RDF + `Statement>`,
			`<http://b/#i> <` + triple.RDF + `subject> <http://b/s>`,
			`<http://b/#i> <` + triple.RDF + `predicate> <http://e/p>`,
			`<http://b/#i> <` + triple.RDF + `object> <<( <http://b/x> ` + rdfType + ` <http://e/T> )>>`}, ""},
		{"annotated text and node", head12 + `<rdf:Description rdf:about="s"><e:p rdf:annotationNodeID="a" rdf:datatype="t">x</e:p><rdf:li rdf:annotation="b"><e:T rdf:about="o"/></rdf:li></rdf:Description>` + tail, []string{
			`<http://b/s> <http://e/p> "x"^^<http://b/t>`, `_:a ` + reifies + ` <<( <http://b/s> <http://e/p> "x"^^<http://b/t> )>>`,
			`<http://b/o> ` + rdfType + ` <http://e/T>`,
			`<http://b/s> <` + triple.RDF + `_1> <http://b/o>`, `<http://b/b> ` + reifies + ` <<( <http://b/s> <` + triple.RDF + `_1> <http://b/o> )>>`}, ""},
		{"directions go inwards", head12 + `<rdf:Description rdf:about="s" xml:lang="ar" its:dir="rtl" e:q="1"><e:p>2</e:p><e:p its:dir="">3</e:p><e:p xml:lang="">4</e:p><e:p xml:lang="en" its:dir="ltr"/><e:p rdf:version="1.1">5</e:p></rdf:Description>` + tail, []string{
			`<http://b/s> <http://e/q> "1"@ar--rtl`, `<http://b/s> <http://e/p> "2"@ar--rtl`, `<http://b/s> <http://e/p> "3"@ar`, `<http://b/s> <http://e/p> "4"`, `<http://b/s> <http://e/p> ""@en--ltr`,
			`<http://b/s> <http://e/p> "5"@ar--rtl`}, ""},
		{"direction without a version", head + `<rdf:Description xmlns:its="http://www.w3.org/2005/11/its" rdf:about="x:s" its:dir="up"><e:p xml:lang="ar" its:dir="rtl" its:version="2.0">1</e:p></rdf:Description>` + tail,
			[]string{`<x:s> <http://e/p> "1"@ar`}, "f.rdf:1:86: its:dir is ignored"},
		{"triple without a version", head + `<rdf:Description rdf:about="x:s" rdf:version="1.1"><e:p rdf:parseType="Triple">any<b><c/>thing</b></e:p><e:p>1</e:p></rdf:Description>` + tail,
			[]string{`<x:s> <http://e/p> "1"`}, `f.rdf:1:137: rdf:parseType="Triple" is ignored with its content`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.doc), iotest.OneByteReader(strings.NewReader(test.doc))} {
				var warnings []string
				got, err := parse(r, Options{Source: "f.rdf", Warn: func(message string) { warnings = append(warnings, message) }})
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
				}
				if test.warns == "" && len(warnings) > 0 || test.warns != "" && (len(warnings) != 1 || !strings.HasPrefix(warnings[0], test.warns)) {
					t.Errorf("warnings %q, want %q", warnings, test.warns)
				}
			}
		})
	}
}

// TestRDF12Errors: each error with its place.
func TestRDF12Errors(t *testing.T) {
	in := func(property string) string {
		return head12 + "\n<rdf:Description rdf:about='s'>\n" + property + "</rdf:Description>" + tail
	}
	deep := ""
	long := strings.Repeat("a", triple.MaxTermBytes/8)
	for range 10 {
		deep += `<e:p rdf:parseType="Triple"><rdf:Description rdf:about="x:` + long + `">`
	}
	for _, test := range []struct{ name, doc, want string }{
		{"empty", in(`<e:p rdf:parseType="Triple"/>`), `3:1: rdf:parseType="Triple" has no triple inside`},
		{"node alone", in(`<e:p rdf:parseType="Triple"><rdf:Description rdf:about="x"/></e:p>`), `3:1: rdf:parseType="Triple" has no triple inside`},
		{"text", in(`<e:p rdf:parseType="Triple">x</e:p>`), `3:29: text "x" where only elements may stand`},
		{"two nodes", in(`<e:p rdf:parseType="Triple"><e:T rdf:about="x"/><e:T rdf:about="y"/></e:p>`), `3:49: rdf:parseType="Triple" has more than one triple inside; the second is <http://b/y>`},
		{"annotated inside", in(`<e:p rdf:parseType="Triple"><rdf:Description><e:q rdf:annotation="a">x</e:q></rdf:Description></e:p>`), `has more than one triple inside; the second is <http://b/a>`},
		{"annotated triple inside", in(`<e:p rdf:parseType="Triple"><rdf:Description><e:q rdf:parseType="Triple" rdf:annotation="a"><e:T/></e:q></rdf:Description></e:p>`), `because <e:q> is annotated`},
		{"two in a row", in(`<e:p rdf:parseType="Triple"><rdf:Description><e:q rdf:parseType="Triple"><e:T/></e:q><e:q rdf:parseType="Triple"><e:U/></e:q></rdf:Description></e:p>`), `has more than one triple inside`},
		{"two reifiers", in(`<e:p rdf:annotation="a" rdf:annotationNodeID="b"/>`), `3:1: <e:p> has both rdf:annotation and rdf:annotationNodeID`},
		{"bad label", in(`<e:p rdf:annotationNodeID="1"/>`), `3:1: rdf:nodeID "1" is no XML name`},
		{"annotated node", head12 + "\n" + `<rdf:Description rdf:annotation="a"/>` + tail, `2:1: rdf:annotation may not stand as a property attribute`},
		{"as an element", in(`<rdf:annotation/>`), `3:1: rdf:annotation may not stand as a property element`},
		{"version as an element", in(`<rdf:version/>`), `3:1: rdf:version may not stand as a property element`},
		{"direction", in(`<e:p its:dir="up"/>`), `3:1: its:dir is ltr, rtl or empty, not "up"`},
		{"direction in a language", in(`<e:p xml:lang="ar--rtl"/>`), `3:1: xml:lang: "ar--rtl" has a base direction, which its:dir gives`},
		{"long", in(deep), `longer than 16 MiB`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parse(strings.NewReader(test.doc), Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v\nwant %s", err, test.want)
			}
		})
	}
}
