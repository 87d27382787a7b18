// Tests of the parser.

package jsonld

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// parseLines returns the triples as N-Quads without " ." and the first error.
func parseLines(r io.Reader, opts Options) (lines []string, err error) {
	for t, err := range Parse(r, opts) {
		if err != nil {
			return lines, err
		}
		lines = append(lines, strings.TrimSuffix(t.String(), " ."))
	}
	return lines, nil
}

// contextsOf returns a loader of contexts by URL.
func contextsOf(all map[string]string) Loader {
	return func(url string) (*Context, error) {
		text, ok := all[url]
		if !ok {
			return nil, ErrRemoteContext
		}
		return ParseContext([]byte(text), url)
	}
}

const xsd, rdf = triple.XSD, triple.RDF

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		opts      Options
		want      []string
	}{
		{"empty", `{}`, Options{}, nil},
		{"values", `{"@id":"x:s","x:p":[1,true,"a",null,{"@value":"b","@language":"de"},{"@value":"c","@type":"x:t"}]}`, Options{}, []string{
			`<x:s> <x:p> "1"^^<` + xsd + `integer>`, `<x:s> <x:p> "true"^^<` + xsd + `boolean>`, `<x:s> <x:p> "a"`, `<x:s> <x:p> "b"@de`, `<x:s> <x:p> "c"^^<x:t>`}},
		{"directions", `{"@context":{"@direction":"rtl","@language":"ar"},"@id":"x:s","x:p":["a",{"@value":"b","@direction":"ltr","@language":"en-GB"},{"@value":"c","@language":"de"},{"@value":"d","@direction":"ltr"}]}`, Options{}, []string{
			`<x:s> <x:p> "a"@ar--rtl`, `<x:s> <x:p> "b"@en-gb--ltr`, `<x:s> <x:p> "c"@de`, `<x:s> <x:p> "d"`}},
		{"numbers", `{"@context":{"d":{"@id":"x:d","@type":"` + xsd + `double"}},"@id":"x:s","x:p":[9007199254740993,-0,1.0,2.5e3,1.5,1e21,123456789012345678901234567890,0.1],"d":3}`, Options{}, []string{
			`<x:s> <x:d> "3.0E0"^^<` + xsd + `double>`,
			`<x:s> <x:p> "9007199254740993"^^<` + xsd + `integer>`, `<x:s> <x:p> "0"^^<` + xsd + `integer>`, `<x:s> <x:p> "1"^^<` + xsd + `integer>`,
			`<x:s> <x:p> "2500"^^<` + xsd + `integer>`, `<x:s> <x:p> "1.5E0"^^<` + xsd + `double>`, `<x:s> <x:p> "1.0E21"^^<` + xsd + `double>`,
			`<x:s> <x:p> "1.234567890123457E29"^^<` + xsd + `double>`, `<x:s> <x:p> "1.0E-1"^^<` + xsd + `double>`}},
		{"blank nodes", `{"@id":"_:genid_0","x:p":[{"x:q":1},{"@id":"_:a b"}],"_:r":2}`, Options{}, []string{
			`_:genid_0 <x:q> "1"^^<` + xsd + `integer>`, `_:genid__0 <x:p> _:genid_0`, `_:genid__0 <x:p> _:genid_x612062`}},
		{"blank nodes with a prefix", `{"@id":"_:a","x:p":{"x:q":{"@id":"_:a"}}}`, Options{BlankPrefix: "d"}, []string{
			`_:d_0 <x:q> _:d-a`, `_:d-a <x:p> _:d_0`}},
		{"lists", `{"@id":"x:s","x:p":[{"@list":[]},{"@list":["a",{"@list":["b"]}]}]}`, Options{}, []string{
			`<x:s> <x:p> <` + rdf + `nil>`, `_:genid_0 <` + rdf + `first> "a"`, `_:genid_1 <` + rdf + `first> "b"`, `_:genid_1 <` + rdf + `rest> <` + rdf + `nil>`,
			`_:genid_0 <` + rdf + `rest> _:genid_2`, `_:genid_2 <` + rdf + `first> _:genid_1`, `_:genid_2 <` + rdf + `rest> <` + rdf + `nil>`, `<x:s> <x:p> _:genid_0`}},
		{"graphs", `[{"@id":"x:g","x:p":1,"@graph":[{"@id":"x:s","@type":"x:T","@reverse":{"x:r":{"@id":"x:o"}}}]},{"@id":"x:s","@included":[{"@id":"x:i","x:p":2}]}]`, Options{}, []string{
			`<x:o> <x:r> <x:s> <x:g>`, `<x:s> <` + rdf + `type> <x:T> <x:g>`, `<x:g> <x:p> "1"^^<` + xsd + `integer>`, `<x:i> <x:p> "2"^^<` + xsd + `integer>`}},
		{"a graph's @graph", `{"@graph":[{"@id":"x:s","x:p":"1"}]}`, Options{}, []string{`<x:s> <x:p> "1"`}},
		{"JSON literal", `{"@context":{"j":{"@id":"x:j","@type":"@json"}},"@id":"x:s","j":{"b":[1.0,1e30,null],"a":"\u20ac\u0001\n","\ufb33":1,"\ud83d\ude00":2}}`, Options{}, []string{
			`<x:s> <x:j> "{\"a\":\"€\\u0001\\n\",\"b\":[1,1e+30,null],\"😀\":2,\"` + "\ufb33" + `\":1}"^^<` + rdf + `JSON>`}},
		{"base and vocabulary", `{"@context":{"@version":1.1,"@vocab":"http://v/"},"@id":"s","p":{"@id":"../o"}}`, Options{Base: "http://b/c/d"}, []string{`<http://b/c/s> <http://v/p> <http://b/o>`}},
		{"context at hand", `{"@context":"http://c/","p":1}`, Options{Contexts: contextsOf(map[string]string{"http://c/": `{"@context":{"p":"x:p"}}`})}, []string{`_:genid_0 <x:p> "1"^^<` + xsd + `integer>`}},
		{"the context of an alias of @nest", `{"@context":{"@vocab":"x:","n":{"@id":"@nest","@context":{"@vocab":"x:n/"}}},"@id":"x:s","n":{"p":1},"p":2}`, Options{}, []string{
			`<x:s> <x:n/p> "1"^^<` + xsd + `integer>`, `<x:s> <x:p> "2"^^<` + xsd + `integer>`}},
		{"words that look like keywords", `{"@context":{"@base":"http://b/","r":{"@reverse":"@foo"},"i":"@bar"},"@id":"x:s","x:p":[{"@id":"@foo"},{"@id":"@"},{"@id":"@f.b"}],"r":{"x:p":1},"i":1,"@baz":2}`, Options{}, []string{
			`<x:s> <x:p> <http://b/@>`, `<x:s> <x:p> <http://b/@f.b>`}},
		{"a null name", `[{"@id":"@foo","x:p":{"@id":"x:o","x:q":"1"}},{"@id":"x:s","@graph":[{"@id":"@foo","x:p":"1"}]}]`, Options{}, []string{`<x:o> <x:q> "1"`}},
		{"two number signs", `{"@context":{"@vocab":"x:v#"},"@id":"x:s","#p":1,"p":{"@id":"x:a#b#c"}}`, Options{}, []string{`<x:s> <x:v#p> <x:a#b#c>`}},
		{"a context ends at the next node", `{"@context":{"@vocab":"x:","T":{"@id":"x:T","@context":{"p":"x:other"}}},"@id":"x:s","@type":"T","p":{"@id":"x:o","p":"1"}}`, Options{}, []string{
			`<x:s> <` + rdf + `type> <x:T>`, `<x:o> <x:p> "1"`, `<x:s> <x:other> <x:o>`}},
		{"an index", `{"@context":{"@vocab":"x:","p":{"@container":["@index","@set"],"@index":"i"},"q":{"@container":"@id"},"r":{"@container":"@type"}},"@id":"x:s","p":{"a":{"@id":"x:1"},"@none":{"@id":"x:2"}},"q":{"x:3":{}},"r":{"T":{"@id":"x:4"}}}`, Options{}, []string{
			`<x:s> <x:p> <x:2>`, `<x:1> <x:i> "a"`, `<x:s> <x:p> <x:1>`, `<x:s> <x:q> <x:3>`, `<x:4> <` + rdf + `type> <x:T>`, `<x:s> <x:r> <x:4>`}},
		{"an import", `{"@context":{"@import":"http://c/","q":"x:r"},"@id":"x:s","p":"1","q":"2"}`, Options{Contexts: contextsOf(map[string]string{"http://c/": `{"@context":{"p":"x:p","q":"x:q"}}`})}, []string{
			`<x:s> <x:p> "1"`, `<x:s> <x:r> "2"`}},
		{"contexts of contexts", `{"@context":"http://c/a/b","@id":"s","p":"1"}`, Options{Base: "http://b/", Contexts: contextsOf(map[string]string{
			"http://c/a/b": `{"@context":["../d",{"@base":"http://not/"}]}`, "http://c/d": `{"@context":{"p":"x:p"}}`})}, []string{`<http://b/s> <x:p> "1"`}},
		{"a scoped context of itself", `{"@context":"http://c/","@id":"x:s","p":{"@id":"x:o","p":{"@id":"x:s"}}}`, Options{Contexts: contextsOf(map[string]string{
			"http://c/": `{"@context":{"p":{"@id":"x:p","@context":"http://c/"}}}`})}, []string{`<x:o> <x:p> <x:s>`, `<x:s> <x:p> <x:o>`}},
		{"an IRI that some take for malformed", `{"@id":"http://a_b/` + strings.Repeat("x", 3000) + `","x:p":"1"}`, Options{}, []string{`<http://a_b/` + strings.Repeat("x", 3000) + `> <x:p> "1"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parseLines(strings.NewReader(test.doc), test.opts)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v\n%s\nwant\n%s", err, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestErrors(t *testing.T) {
	seed.Slow(t)
	itself := contextsOf(map[string]string{"http://c/": `{"@context":["http://c/","http://c/"]}`})
	var chain, scoped strings.Builder
	for i := range maxTerms + 1 {
		fmt.Fprintf(&chain, `"t%d":"t%d:x",`, i, i+1)
	}
	for i := range 3000 {
		fmt.Fprintf(&scoped, `"t%d":"x:t%d",`, i, i)
	}
	for _, test := range []struct{ name, doc, want string }{
		{"empty", ``, "1:1: the document ends within a JSON value"},
		{"scalar", `"http://x/"`, "1:1: a JSON-LD document is an object or an array"},
		{"cut", "{\n\"a\":", "2:5: the document ends"},
		{"syntax", "{\n\"a\": x}", "2:6: invalid character 'x'"},
		{"behind", "{} {}", "something stands behind the document"},
		{"twice", "{\"a\":1,\n\"a\":2}", "2:1: the name \"a\" stands twice"},
		{"bad UTF-8", "{\"ä\":\"\xff\"}", "1:7: invalid UTF-8 (byte 0xFF)"},
		{"surrogate", `{"a":"\\\ud83d\u0041"}`, "1:9: escape of an unpaired surrogate"},
		{"low surrogate", `{"a":"\ude00"}`, "1:7: escape of an unpaired surrogate"},
		{"deep", strings.Repeat("[", 100_000), "nested more than 500 deep"},
		{"remote", `{"@context":"http://c/"}`, "context <http://c/>: remote contexts are not fetched"},
		{"remote import", `{"@context":{"@import":"http://c/"}}`, "remote contexts are not fetched"},
		{"relative", `{"@id":"s","x:p":1}`, "relative IRI"},
		{"bad IRI", `{"@id":"x:a b","x:p":1}`, "not allowed in an IRI"},
		{"huge number", `{"@id":"x:s","x:p":1e999}`, "beyond xsd:double"},
		{"bad language", `{"@id":"x:s","x:p":{"@value":"a","@language":"a b"}}`, "language tag"},
		{"a chain of terms", `{"@context":{` + chain.String() + `"z":"x:z"}}`, "at most 50000 are supported"},
		{"contexts times terms", `{"@context":{` + scoped.String() + `"z":"x:z"},"@graph":[` + strings.Repeat(`{"@context":{"y":"x:y"}},`, 40_000) + `{}]}`, "too many to process"},
		{"scoped contexts times terms", `{"@context":{` + scoped.String() + `"p":{"@id":"x:p","@context":{"q":{"@id":"x:q","@context":{"r":"x:r"}}}}},"@graph":[` +
			strings.Repeat(`{"@context":{"y":"x:y"},"p":{"q":{"r":1}}},`, 10_000) + `{}]}`, "too many to process"},
		{"a long chain of terms", `{"@context":{` + strings.Join(strings.SplitAfter(chain.String(), ",")[:20_000], "") + `"z":"x:z"}}`, "terms depend on each other"},
		{"a context of itself", `{"@context":"http://c/"}`, "context overflow"},
		{"two types", `{"x:p":{"@value":"a","@type":["x:a","x:b"]}}`, "invalid typed value"},
		{"a type that is an object", `{"x:p":{"@value":"a","@type":{}}}`, "invalid type value"},
		{"an empty term", `{"@context":{"":"x:p"}}`, "invalid term definition"},
		{"an unused scoped context", `{"@context":{"a":{"@id":"x:a","@context":{"b":{"@context":{"c":null,"d":{"@type":1}}}}}}}`, "invalid scoped context"},
		{"a protected null", `{"@context":[{"@protected":true,"a":null},{"a":"x:a"}]}`, "protected term redefinition"},
		{"a bad base", `{"@context":{"@base":"http://b/<>/"},"@id":"s","x:p":1}`, "invalid base IRI"},
		{"an error names its term", `{"@context":{"a":{"@id":"b:c"},"b":{"@id":1}}}`, "invalid IRI mapping: term \"b\": @id is an IRI or null, not 1"},
		{"bad version", `{"@context":{"@version":"1.1"}}`, "version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := Options{}
			if test.name == "a context of itself" {
				opts.Contexts = itself
			}
			got, err := parseLines(strings.NewReader(test.doc), opts)
			var syntax *triple.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) || len(got) > 0 {
				t.Errorf("got %.300v, %d triples\nwant %s", err, len(got), test.want)
			}
			if remote := strings.HasPrefix(test.name, "remote"); remote != errors.Is(err, ErrRemoteContext) {
				t.Errorf("%.300v is ErrRemoteContext: %v", err, !remote)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	if _, err := parseLines(strings.NewReader(`{"x:p":1}`), Options{MaxBytes: 5}); err == nil || !strings.Contains(err.Error(), "more than 5 bytes") {
		t.Errorf("got %v", err)
	}
	broken := errors.New("disk on fire")
	if _, err := parseLines(io.MultiReader(strings.NewReader("{}"), iotest.ErrReader(broken)), Options{}); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

// TestLinear: many values of one property, and many nodes, must not take quadratic time.
func TestLinear(t *testing.T) {
	const n = 50_000
	var doc strings.Builder
	doc.WriteString(`{"@id":"x:s","x:p":[`)
	for i := range n {
		fmt.Fprintf(&doc, `{"@id":"x:o%d"},`, i)
	}
	doc.WriteString(`1]}`)
	got, err := parseLines(strings.NewReader(doc.String()), Options{})
	if len(got) != n+1 || err != nil {
		t.Errorf("%d triples, %v", len(got), err)
	}
}

// FuzzParse: the parser must end without a panic, and its terms must pass their check.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"@context":{"@version":1.1,"@vocab":"x:","p":{"@type":"@id","@container":"@set"}},"@id":"s","p":["a:b"],"q":{"@list":[1,2.5,{"@value":"c","@language":"de"}]}}`))
	f.Add([]byte(`[{"@id":"_:a","@graph":[{"@type":"x:T","@reverse":{"x:r":{"@id":"x:o"}}}]},{"@included":[{"x:p":{"@value":{"a":[null]},"@type":"@json"}}]}]`))
	f.Add([]byte(`{"@context":[{"t":{"@id":"x:t","@context":{"u":"x:u"},"@container":["@graph","@index"]}},{"n":"@nest"}],"t":{"i":{"u":1}},"n":{"t":2}}`))
	f.Add([]byte(`{"@context":{"@direction":"rtl","@language":"ar"},"@id":"x:s","x:p":["a",{"@value":"b","@direction":"ltr"},{"@value":"c","@language":"a--b"}]}`))
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
