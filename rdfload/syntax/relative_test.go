// Relative references mean the same IRI in all syntaxes.

package syntax

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
)

// TestRelative resolves references at bases in Turtle, RDF/XML and JSON-LD. Without an IRI it is an
// error in each.
func TestRelative(t *testing.T) {
	for _, test := range []struct{ base, ref, want string }{
		{"http://a/bb/ccc/d;p?q", "g", "http://a/bb/ccc/g"},
		{"http://a/bb/ccc/d;p?q", "../../../g", "http://a/g"},
		{"http://a/bb/ccc/d;p?q", "//g/../h", "http://g/h"},
		{"http://a/bb/ccc/d;p?q", "?y", "http://a/bb/ccc/d;p?y"},
		{"http://a/bb/ccc/./d;p?q", "#s", "http://a/bb/ccc/./d;p?q#s"},
		{"http://ab//de//ghi", "xyz", "http://ab//de//xyz"},
		{"http://ab//de//ghi", "./xyz", "http://ab//de//xyz"},
		{"http://ab//de//ghi", "../xyz", "http://ab//de/xyz"},
		{"http://ab", "xyz", "http://ab/xyz"},
		{"http://h/é/x", "ü", "http://h/é/ü"},
		{"http://b/x", "é", "http://b/é"},
		{"http://b/x", "#ö", "http://b/x#ö"},
		{"http://b/x", "%c3%a9%7E", "http://b/%c3%a9%7E"},
		{"http://b/x", "a:b", "a:b"},
		{"http://b/x", "./a:b", "http://b/a:b"},
		{"https://web.archive.org/web/2020/https://x.org/a/b", "c", "https://web.archive.org/web/2020/https://x.org/a/c"},
		{"tag:example/foo", "a", "tag:example/a"},
		{"ex:x", "test", "ex:test"},
		{"urn:a:b", "#c", "urn:a:b#c"},
		{"file:///a/b", "c", "file:///a/c"},
		{"http://h/a/b", "?", "http://h/a/b?"},
		{"http://h/a/b", "#", "http://h/a/b#"},
		{"http://h/a/b#f", "", "http://h/a/b"},
		{"http://h/a/b?q#f", "", "http://h/a/b?q"},
		{"http://h:80/a", "HTTP://H/%7e", "HTTP://H/%7e"},
		{"http://h/a", "b c", ""},
		{"http://h/a", "http://h/b c", ""},
		{"http://h/a", "<b>", ""},
		{"http://h/a", "b^c", ""},
		{"http://h/<a>/", "b", ""},
	} {
		var escaped, base strings.Builder
		_ = xml.EscapeText(&escaped, []byte(test.ref))
		_ = xml.EscapeText(&base, []byte(test.base))
		document, err := json.Marshal(map[string]any{"@context": map[string]string{"@base": test.base}, "@id": "urn:s", "urn:x#p": map[string]string{"@id": test.ref}})
		if err != nil {
			t.Fatal(err)
		}
		for s, doc := range map[Syntax]string{
			Turtle: fmt.Sprintf("@base <%s> . <urn:s> <urn:x#p> <%s> .", test.base, test.ref),
			RDFXML: fmt.Sprintf(`<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:u="urn:x#" xml:base="%s"><rdf:Description rdf:about="urn:s"><u:p rdf:resource="%s"/></rdf:Description></rdf:RDF>`, &base, &escaped),
			JSONLD: string(document),
		} {
			got := ""
			var failed error
			for one, err := range Parse(context.Background(), strings.NewReader(doc), s, Options{}) {
				if failed = err; err == nil {
					got = one.Object.Value()
				}
			}
			if got != test.want || (failed != nil) != (test.want == "") {
				t.Errorf("%v: <%s> at <%s> is <%s>, %v; want <%s>", s, test.ref, test.base, got, failed, test.want)
			}
		}
	}
}
