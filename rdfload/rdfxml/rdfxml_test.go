// Tests of the parser.

package rdfxml

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/triple"
)

const (
	head = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">`
	tail = `</rdf:RDF>`
)

// parse returns the triples as N-Triples without " ." and the first error.
func parse(r io.Reader, opts Options) (lines []string, err error) {
	for t, err := range Parse(r, opts) {
		if err != nil {
			return lines, err
		}
		lines = append(lines, strings.TrimSuffix(t.String(), " ."))
	}
	return lines, nil
}

// TestParse has cases that W3C's suite lacks.
func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		opts      Options
		want      []string
	}{
		{"typed node in a property, no white space", head + `<e:T rdf:about="http://s"><e:p><e:U rdf:about="urn:x:y"/></e:p></e:T>` + tail, Options{}, []string{
			"<http://s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/T>",
			"<urn:x:y> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/U>",
			"<http://s> <http://e/p> <urn:x:y>"}},
		{"collection of anything", head + `<rdf:Description rdf:about="http://s"><e:p rdf:parseType="Collection"><e:T/><rdf:Description rdf:nodeID="n"/></e:p></rdf:Description>` + tail, Options{}, []string{
			"_:genid_0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/T>",
			"<http://s> <http://e/p> _:genid_1",
			"_:genid_1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> _:genid_0",
			"_:genid_1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:genid_2",
			"_:genid_2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> _:n",
			"_:genid_2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil>"}},
		{"blank nodes", head + `<rdf:Description rdf:nodeID="a."><e:p rdf:nodeID="genid_0"/><e:p e:q="1"/></rdf:Description>` + tail, Options{BlankPrefix: "d"}, []string{
			"_:d_x612e <http://e/p> _:d-genid_0", "_:d_x612e <http://e/p> _:d_0", `_:d_0 <http://e/q> "1"`}},
		{"entities", `<!DOCTYPE rdf:RDF [ <!ENTITY e "http://e/"> <!ENTITY f '&e;f&#x41;'> <!ENTITY e "ignored"> <!ENTITY % p "x"> <!ENTITY x SYSTEM "file:///x"> ]>` +
			head + `<rdf:Description rdf:about="&f;"><e:p>&e;</e:p></rdf:Description>` + tail, Options{}, []string{`<http://e/fA> <http://e/p> "http://e/"`}},
		{"namespaces in a literal", head + `<rdf:Description rdf:about="http://s"><e:p rdf:parseType="Literal" xmlns:z="http://z/" xmlns="http://d/">` +
			`<b z:y="1" a="&lt;&#10;&quot;"><z:c/><z:c/><b xmlns=""/></b>&amp;<!--c--><?p i?></e:p></rdf:Description>` + tail, Options{}, []string{
			`<http://s> <http://e/p> "<b xmlns=\"http://d/\" xmlns:z=\"http://z/\" a=\"&lt;&#xA;&quot;\" z:y=\"1\"><z:c></z:c><z:c></z:c><b xmlns=\"\"></b></b>&amp;<!--c--><?p i?>"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>`}},
		{"language and base go inwards", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/" xml:lang="de" xml:base="http://b/x">` +
			`<rdf:Description rdf:about="y"><e:p>1</e:p><e:p xml:lang="">2</e:p><e:p xml:lang="en"><rdf:Description rdf:ID="z" xml:base="c/" e:q="3"/></e:p></rdf:Description>` + tail, Options{}, []string{
			`<http://b/y> <http://e/p> "1"@de`, `<http://b/y> <http://e/p> "2"`, `<http://b/c/#z> <http://e/q> "3"@en`, `<http://b/y> <http://e/p> <http://b/c/#z>`}},
		{"byte order mark", "\uFEFF<?xml version='1.0' encoding='UTF-8'?>" + head + tail, Options{}, nil},
		{"one node as the root", `<e:T xmlns:e="http://e/"/>`, Options{}, []string{"_:genid_0 <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/T>"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.doc), iotest.OneByteReader(strings.NewReader(test.doc))} {
				got, err := parse(r, test.opts)
				if err != nil || !slices.Equal(got, test.want) {
					t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
				}
			}
		})
	}
}

// TestErrors: each error with its place.
func TestErrors(t *testing.T) {
	deep := strings.Repeat(`<rdf:Description><e:p>`, 600)
	var bomb strings.Builder
	bomb.WriteString(`<!DOCTYPE x [ <!ENTITY a0 "aaaaaaaaaa">`)
	for i := range 10 {
		fmt.Fprintf(&bomb, `<!ENTITY a%d "&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;">`, i+1, i, i, i, i, i, i, i, i, i, i)
	}
	bomb.WriteString(" ]>" + head + "<e:T e:p='&a9;'/>" + tail)
	for _, test := range []struct{ name, doc, want string }{
		{"empty", "", "1:1: the document ends here; expected a root element"},
		{"no XML", "hello", "1:1: text outside of the root element"},
		{"cut", head + "\n<e:T", "2:5: the document ends here, within a tag"},
		{"open", head + "\r\n<e:T>\n", "3:1: the document ends here; <e:T> is not closed"},
		{"crossed", head + "\n<e:T></e:U>" + tail, "2:6: </e:U> closes <e:T>"},
		{"undeclared", head + "\n ä<x:T/>", "1:"},
		{"undeclared prefix", head + "\n  <x:T/>" + tail, "2:3: the namespace prefix x is not declared"},
		{"twice", head + "\n<e:T e:p='1' e:p='2'/>" + tail, "2:1: the attribute e:p stands twice in <e:T>"},
		{"twice by namespace", head + "<e:T xmlns:f='http://e/' e:p='1' f:p='2'/>" + tail, "1:86: the attribute f:p stands twice"},
		{"no namespace", head + "<T/>" + tail, "1:86: the node element T has no namespace"},
		{"attribute without namespace", head + "<e:T p='1'/>" + tail, "1:86: the attribute p has no namespace"},
		{"relative", head + "<rdf:Description rdf:about='x' e:p='1'/>" + tail, `1:86: relative IRI "x" and no base`},
		{"two nodes", head + "<e:T><e:p><e:T/><e:T/></e:p></e:T>" + tail, "1:102: a second node <e:T> in one property"},
		{"text among nodes", head + "x" + tail, `1:86: text "x" where only elements may stand`},
		{"bad UTF-8", head + "<e:T e:p='\xff'/>" + tail, "1:"},
		{"deep", head + deep, "elements nested more than 1000 deep"},
		{"bomb", bomb.String(), "1:1: entity a3: the value is longer than 4096 bytes"},
		{"unknown entity", head + "<e:T e:p='&x;'/>" + tail, "invalid character entity &x;"},
		{"second root", head + tail + head + tail, "a second root element"},
		{"same ID twice", head + "<e:T xml:base='x:y' rdf:ID='a'/><e:T xml:base='x:y' rdf:ID='a'/>" + tail, `rdf:ID "a" is used twice`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(strings.NewReader(test.doc), Options{})
			var syntax *triple.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	doc := head + "<e:T><e:p>" + strings.Repeat("a", triple.MaxTermBytes+1) + "</e:p></e:T>" + tail
	if _, err := parse(strings.NewReader(doc), Options{}); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("long term: %v", err)
	}
	if _, err := parse(strings.NewReader(doc), Options{MaxBytes: 1000}); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("large document: %v", err)
	}
	// Entities make the limit of a token smaller, so that they cannot blow it up.
	doc = "<!DOCTYPE x [<!ENTITY a '" + strings.Repeat("a", 3000) + "'>]>" + head + "<e:T e:p='" + strings.Repeat("&a;", 30_000) + "'/>" + tail
	if _, err := parse(strings.NewReader(doc), Options{}); err == nil || !strings.Contains(err.Error(), "tag or text of more than") {
		t.Errorf("entities: %v", err)
	}
}

func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, doc := range []string{"", head, head + "<e:T", head + tail} {
		_, err := parse(io.MultiReader(strings.NewReader(doc), iotest.ErrReader(broken)), Options{})
		if !errors.Is(err, broken) {
			t.Errorf("%q: got %v", doc, err)
		}
	}
}

// TestSecondOpinion: if knakk/rdf can read a document, both must read the same triples.
func TestSecondOpinion(t *testing.T) {
	for _, doc := range []string{
		head + `<rdf:Description rdf:about="http://s"><e:p>text</e:p><e:p xml:lang="de">Text</e:p><e:q rdf:resource="http://o"/></rdf:Description>` + tail,
		head + `<e:T rdf:about="http://s" e:p="1"/><rdf:Description rdf:about="http://s"><e:p rdf:datatype="http://d">1</e:p></rdf:Description>` + tail,
		head + `<rdf:Seq rdf:about="http://s"><rdf:li>1</rdf:li><rdf:li rdf:resource="http://o"/></rdf:Seq>` + tail,
		head + `<rdf:Description rdf:about="http://s"><e:p rdf:ID="r">1</e:p></rdf:Description>` + tail,
	} {
		got, err := parse(strings.NewReader(doc), Options{Base: "http://base/"})
		if err != nil {
			t.Errorf("%v in %s", err, doc)
			continue
		}
		decoder := rdf.NewTripleDecoder(strings.NewReader(doc), rdf.RDFXML)
		base, err := rdf.NewIRI("http://base/")
		if err != nil {
			t.Fatal(err)
		}
		if err := decoder.SetOption(rdf.Base, base); err != nil {
			t.Fatal(err)
		}
		triples, err := decoder.DecodeAll()
		if err != nil {
			t.Errorf("knakk/rdf: %v in %s", err, doc)
		}
		var want []string
		for _, tr := range triples {
			want = append(want, strings.TrimSuffix(tr.Serialize(rdf.NTriples), " .\n"))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q\nfrom %s", got, want, doc)
		}
	}
}

// FuzzParse: the parser must end without a panic, and its terms must pass their check.
func FuzzParse(f *testing.F) {
	f.Add([]byte(head + `<e:T rdf:ID="a" e:p="1"><e:p rdf:parseType="Literal"><b xmlns="x:">&amp;</b></e:p><rdf:li rdf:nodeID="n"/></e:T>` + tail))
	f.Add([]byte(`<!DOCTYPE x [<!ENTITY e "x:">]>` + head + `<rdf:Description><e:p rdf:parseType="Collection"><e:T rdf:about="&e;"/></e:p></rdf:Description>` + tail))
	f.Add([]byte(head + `<rdf:Description xml:lang="de" xml:base="../c"><e:p rdf:parseType="Resource"><e:q rdf:datatype="t">1</e:q></e:p></rdf:Description>` + tail))
	f.Add([]byte(head + `<rdf:Description rdf:version="1.2" xml:lang="ar" xmlns:its="http://www.w3.org/2005/11/its" its:dir="rtl"><e:p rdf:annotation="r" rdf:parseType="Triple"><e:T rdf:nodeID="n"/></e:p><e:p rdf:annotationNodeID="a">x</e:p></rdf:Description>` + tail))
	f.Add([]byte(head + `<rdf:Description rdf:version="1.2"><e:p rdf:parseType="Triple"><e:T><e:p rdf:parseType="Triple" rdf:ID="i"><rdf:Description e:q="1"/></e:p></e:T></e:p></rdf:Description>` + tail))
	f.Add([]byte(utf16Bytes(binary.BigEndian, "\uFEFF<?xml version='1.1' encoding='UTF-16'?>"+head+"<e:T e:p='\U0001F600'/>"+tail)))
	f.Add([]byte("<?xml version='1.0' encoding='windows-1252'?>" + head + "<e:T e:p='\x80'/>" + tail))
	f.Fuzz(func(t *testing.T, doc []byte) {
		for tr, err := range Parse(bytes.NewReader(doc), Options{Base: "http://b/", BlankPrefix: "d"}) {
			if err != nil {
				var syntax *triple.SyntaxError
				if !errors.As(err, &syntax) {
					t.Fatalf("%T: %v", err, err)
				}
				return
			}
			if err := tr.Check(); err != nil {
				t.Fatalf("%v: %v", tr, err)
			}
		}
	})
}

// BenchmarkParse parses 20,000 nodes of five triples.
func BenchmarkParse(b *testing.B) {
	var doc bytes.Buffer
	doc.WriteString(head)
	const nodes = 20_000
	for i := range nodes {
		fmt.Fprintf(&doc, "\n  <e:Student rdf:about=\"http://e/s%d\">\n    <e:name xml:lang=\"de\">Name %d</e:name>\n    <e:age rdf:datatype=\"http://www.w3.org/2001/XMLSchema#integer\">%d</e:age>\n"+
			"    <e:knows rdf:resource=\"http://e/s%d\"/>\n    <e:note>Text &amp; more</e:note>\n  </e:Student>", i, i, i%40, i/2)
	}
	doc.WriteString(tail)
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, err := range Parse(bytes.NewReader(doc.Bytes()), Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "triples/s")
}
