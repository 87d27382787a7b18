// Reads of triples: ranges, patterns, formats, pages and HEAD.

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/triple"
)

// subjects returns the last parts of the subjects of N-Quads text.
func subjects(t testing.TB, nquads string) string {
	t.Helper()
	var names []string
	for _, tr := range parseQuads(t, nquads) {
		names = append(names, strings.TrimPrefix(tr.Subject.Value(), exampleIRI))
	}
	return strings.Join(names, " ")
}

func TestRange(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	size := "<" + exampleIRI + "size>"
	for _, test := range []struct {
		parameters []string
		want       string
	}{
		{[]string{"order", "pos", "prefix", size}, "c a b d"},
		{[]string{"order", "POS", "prefix", size}, "c a b d"},
		{[]string{"order", "pos", "prefix", size, "reverse", "true"}, "d b a c"},
		{[]string{"order", "pos", "prefix", size, "reverse", "false"}, "c a b d"},
		{[]string{"order", "pos", "prefix", size, "ge", "1"}, "c a b"}, // NaN meets no bound
		{[]string{"order", "pos", "prefix", size, "gt", "1"}, "b"},     // nor 1.0
		{[]string{"order", "pos", "prefix", size, "le", "1"}, "c a"},
		{[]string{"order", "pos", "prefix", size, "lt", "2.5"}, "c a"},
		{[]string{"order", "pos", "prefix", size, "ge", "1.0", "le", "2.5e0"}, "c a b"},
		{[]string{"order", "pos", "prefix", size, "ge", "3"}, ""},
		{[]string{"order", "pos", "prefix", size + " 1"}, "a"},
		{[]string{"order", "osp", "starts", `"M`}, "c a"},
		{[]string{"order", "osp", "starts", `"Mü`}, "a"},
		{[]string{"order", "osp", "starts", `"Mü"@de`}, "b"},
		{[]string{"order", "osp", "starts", `"Mü"@DE`}, "b"},
		{[]string{"order", "spo", "starts", "<" + exampleIRI + "c"}, "c c"},
		{[]string{"order", "spo", "from", "<" + exampleIRI + "c>"}, "c c d"},
		{[]string{"order", "spo", "from", "<" + exampleIRI + "b>", "until", "<" + exampleIRI + "c>"}, "b b"},
		{[]string{"order", "gspo"}, "a"},
		{[]string{"order", "gspo", "prefix", "<" + exampleIRI + "g> <" + exampleIRI + "a>"}, "a"},
		{[]string{"order", "spo", "prefix", "<" + exampleIRI + "zzz>"}, ""},
	} {
		got := s.get(target("/range", test.parameters...))
		if got.status != 200 || subjects(t, got.body) != test.want {
			t.Errorf("%q: %d %s, want %s", test.parameters, got.status, got.body, test.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	for _, test := range []struct {
		parameters []string
		count      int
	}{
		{nil, 10},
		{[]string{"s", "<" + exampleIRI + "a>"}, 4},
		{[]string{"s", "<" + exampleIRI + "a>", "g", "default"}, 3},
		{[]string{"s", "<" + exampleIRI + "a>", "g", "<" + exampleIRI + "g>"}, 1},
		{[]string{"g", "default"}, 9},
		{[]string{"g", "<" + exampleIRI + "none>"}, 0},
		{[]string{"p", "a"}, 1},
		{[]string{"p", "rdf:type"}, 1},
		{[]string{"o", "1"}, 1}, // the term 1, not the value
		{[]string{"o", "1.0"}, 1},
		{[]string{"o", `"1"^^xsd:integer`}, 1},
		{[]string{"o", `"Mücke"@de`}, 1},
		{[]string{"s", "_:n1"}, 1},
		{[]string{"s", "_:n2"}, 0},
		{[]string{"s", `"no subject"`}, 0},
	} {
		got := s.get(target("/triples", test.parameters...))
		if got.status != 200 || strings.Count(got.body, "\n") != test.count || got.header.Get("Content-Type") != response.NQuads {
			t.Errorf("%q: %d %s, want %d triples", test.parameters, got.status, got.body, test.count)
		}
		if got := s.get(target("/count", test.parameters...)); got.body != fmt.Sprintf(`{"count":%d,"exact":true}`+"\n", test.count) {
			t.Errorf("count of %q: %s, want %d", test.parameters, got.body, test.count)
		}
		if got := s.get(target("/count", append(test.parameters, "estimate", "true")...)); got.body != fmt.Sprintf(`{"count":%d,"exact":true}`+"\n", test.count) {
			t.Errorf("estimate of %q: %s, want %d", test.parameters, got.body, test.count)
		}
	}
}

// TestFormats: the same triples in every format.
func TestFormats(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	b := target("/triples", "s", "<"+exampleIRI+"b>")
	for _, test := range []struct{ accept, target, contentType, want string }{
		{"", b, response.NQuads, `<http://example.org/b> <http://example.org/name> "Mücke"@de .
<http://example.org/b> <http://example.org/size> "2.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
`},
		{"application/x-ndjson", b, response.NDJSON, `{"s":{"type":"uri","value":"http://example.org/b"},"p":{"type":"uri","value":"http://example.org/name"},"o":{"type":"literal","value":"Mücke","xml:lang":"de"}}
{"s":{"type":"uri","value":"http://example.org/b"},"p":{"type":"uri","value":"http://example.org/size"},"o":{"type":"literal","value":"2.5","datatype":"http://www.w3.org/2001/XMLSchema#decimal"}}
`},
		{"application/json", target("/range", "order", "spo", "prefix", "_:n1"), response.JSON,
			`{"triples":[{"s":{"type":"bnode","value":"n1"},"p":{"type":"uri","value":"http://example.org/knows"},"o":{"type":"uri","value":"http://example.org/a"}}],"next":null}` + "\n"},
		{"application/json", target("/range", "order", "gspo"), response.JSON,
			`{"triples":[{"s":{"type":"uri","value":"http://example.org/a"},"p":{"type":"uri","value":"http://example.org/knows"},"o":{"type":"uri","value":"http://example.org/b"},"g":{"type":"uri","value":"http://example.org/g"}}],"next":null}` + "\n"},
		{"application/json", "/range?order=osp&ge=7", response.JSON, `{"triples":[],"next":null}` + "\n"},
		{"application/json", "/range?order=osp&ge=7&limit=3", response.JSON, `{"triples":[],"next":null}` + "\n"},
		{"application/x-ndjson", "/range?order=osp&ge=7", response.NDJSON, ""},
		{"application/n-triples", target("/triples", "p", "<"+exampleIRI+"knows>"), response.NTriples, "_:n1 <http://example.org/knows> <http://example.org/a> .\n"},
		{"application/n-triples", target("/range", "order", "pos", "prefix", "<"+exampleIRI+"knows>"), response.NTriples, "_:n1 <http://example.org/knows> <http://example.org/a> .\n"},
		{"application/n-triples", target("/range", "order", "pos", "prefix", "<"+exampleIRI+"knows>", "limit", "5"), response.NTriples, "_:n1 <http://example.org/knows> <http://example.org/a> .\n"},
	} {
		got := s.get(test.target, "Accept", test.accept)
		if got.status != 200 || got.header.Get("Content-Type") != test.contentType || got.body != test.want {
			t.Errorf("%s as %s: %d %s\n%s\nwant\n%s", test.target, test.accept, got.status, got.header.Get("Content-Type"), got.body, test.want)
		}
		if got.header.Get("Content-Length") != fmt.Sprint(len(test.want)) || got.header.Get("Vary") != "Accept" {
			t.Errorf("%s: header %v", test.target, got.header)
		}
	}
}

// TestDocumentFormats: Turtle, TriG, RDF/XML and JSON-LD have the triples of N-Quads, in pages and as a stream, in
// both directions. Those without graph names have the default graph only.
func TestDocumentFormats(t *testing.T) {
	quads := strings.Builder{}
	quads.WriteString(sampleQuads)
	for i := range 40 {
		fmt.Fprintf(&quads, "<%ss%d> <%sp%d> \"%d\"@en <%sg%d> .\n<%ss%d> <%sp%d> \"%s %d\" .\n", exampleIRI, i%5, exampleIRI, i%3, i, exampleIRI, i%2, exampleIRI, i%7, exampleIRI, i%2, strings.Repeat("x<&\\\"", 300), i)
	}
	s, _ := serveTriples(t, quads.String(), Options{})
	for _, parameters := range [][]string{
		{"/triples"}, {"/triples", "p", "<" + exampleIRI + "p1>"}, {"/triples", "g", "<" + exampleIRI + "g1>"}, {"/triples", "s", "<urn:none>"},
		{"/range", "order", "pos", "reverse", "true"}, {"/range", "order", "osp", "starts", `"x`}, {"/range", "order", "gspo"},
	} {
		whole := target(parameters[0], parameters[1:]...)
		all := parseAnswer(t, s.get(whole))
		for _, f := range []struct {
			mediaType string
			graphs    bool
		}{{"text/turtle", false}, {"application/rdf+xml", false}, {"application/trig", true}, {"application/ld+json", true}} {
			named := slices.Contains(parameters, "g") || slices.Contains(parameters, "gspo")
			if !f.graphs && named {
				s.get(whole, "Accept", f.mediaType).wantError(t, 406, problem.KindNotAcceptable, "Accept", "application/trig")
				continue
			}
			var want []string
			for _, line := range all {
				if f.graphs || !strings.Contains(line, " <"+exampleIRI+"g") {
					want = append(want, line)
				}
			}
			stream := s.get(whole, "Accept", f.mediaType)
			if got := parseAnswer(t, stream); !slices.Equal(got, want) || stream.header.Get("Content-Type") != f.mediaType {
				t.Errorf("%s as %s, %s: %d triples, want %d", whole, f.mediaType, stream.header.Get("Content-Type"), len(got), len(want))
			}
			// A page is full by its items, or by its bytes.
			for _, bytes := range []int{response.MaxPageBytes, 5000} {
				s.api.shared.PageBytes = bytes
				var joined []string
				pages := 0
				for next := whole + map[bool]string{true: "&", false: "?"}[len(parameters) > 1] + "limit=9"; next != ""; pages++ {
					page := s.get(next, "Accept", f.mediaType)
					joined = append(joined, parseAnswer(t, page)...)
					next = page.next(t)
				}
				slices.Sort(joined)
				slices.Sort(want)
				if least := max(1, (len(want)+8)/9); !slices.Equal(joined, want) || pages < least || bytes == response.MaxPageBytes && pages != least {
					t.Errorf("%s as %s: %d pages have %d triples, want %d", whole, f.mediaType, pages, len(joined), len(want))
				}
			}
			s.api.shared.PageBytes = response.MaxPageBytes
		}
	}
	// The document of a store has its prefixes, and HEAD has no document.
	const turtle = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
	if got := s.get(target("/triples", "o", `"2.5"^^<`+triple.XSD+`decimal>`), "Accept", "text/turtle"); got.body != "<http://example.org/b> <http://example.org/size> 2.5 .\n" {
		t.Errorf("Turtle: %s", got.body)
	}
	if got := s.get(target("/triples", "o", `"NaN"^^<`+triple.XSD+`double>`), "Accept", "text/turtle"); !strings.HasPrefix(got.body, turtle) {
		t.Errorf("prefixes: %s", got.body)
	}
	if got := s.do("HEAD", "/triples?limit=3", "", "Accept", "application/rdf+xml"); got.status != 200 || got.body != "" || got.header.Get("Content-Type") != "application/rdf+xml" {
		t.Errorf("HEAD: %d %v", got.status, got.header)
	}
}

// TestPaging: all pages joined are the unlimited answer, in both directions, with
// any page size, in any format.
func TestPaging(t *testing.T) {
	var quads strings.Builder
	for i := range 60 {
		fmt.Fprintf(&quads, "<%ss%d> <%sp%d> \"%d\"^^<%sinteger> <%sg%d> .\n", exampleIRI, i%7, exampleIRI, i%3, i, triple.XSD, exampleIRI, i%2)
		fmt.Fprintf(&quads, "<%ss%d> <%sp%d> \"%d\"@en-%c .\n", exampleIRI, i%7, exampleIRI, i%3, i, 'A'+i%2)
		fmt.Fprintf(&quads, "<%ss%d> <%slong> \"%s%d\" .\n", exampleIRI, i%7, exampleIRI, strings.Repeat("x", 1500), i%5)
	}
	s, _ := serveTriples(t, quads.String(), Options{})
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, name) }
		var where []string
		add := func(name string, from ...string) {
			if v := pick(name, from...); v != "" {
				where = append(where, name, v)
			}
		}
		path := pick("endpoint", "/range", "/triples")
		if path == "/range" {
			add("order", "spo", "pos", "osp", "gspo")
			add("reverse", "", "true")
			switch pick("bounds", "none", "value", "starts", "from") {
			case "value":
				add("prefix", "", "<"+exampleIRI+"p1>")
				add("ge", "", "5", "17.5")
				if !slices.Contains(where, "ge") {
					add("lt", "", "40")
				}
			case "starts":
				add("starts", `"1"@en-a`, `"xxx`, "<"+exampleIRI+"s3", `"`+strings.Repeat("x", 1500))
			case "from":
				add("from", "<"+exampleIRI+"p1>", "<"+exampleIRI+"s2> <"+exampleIRI+"long>")
			}
		} else {
			add("s", "", "<"+exampleIRI+"s3>")
			add("p", "", "<"+exampleIRI+"p1>", "<"+exampleIRI+"long>")
			add("g", "", "default", "<"+exampleIRI+"g1>")
		}
		accept := pick("accept", response.NQuads, response.NDJSON, response.JSON, response.NTriples)
		if accept == response.NTriples && (slices.Contains(where, "gspo") || slices.Contains(where, "<"+exampleIRI+"g1>")) {
			accept = response.NQuads
		}
		whole := items(t, s.get(target(path, where...), "Accept", accept))
		if offset := rapid.IntRange(0, len(whole)+1).Draw(rt, "offset"); offset > 0 {
			where = append(where, "offset", fmt.Sprint(offset))
			whole = whole[min(offset, len(whole)):]
			if got := items(t, s.get(target(path, where...), "Accept", accept)); !slices.Equal(got, whole) {
				rt.Fatalf("%q: %d items, want %d", where, len(got), len(whole))
			}
		}
		limit := rapid.IntRange(1, 40).Draw(rt, "limit")
		var joined []string
		pages := 0
		for next := target(path, append(where, "limit", fmt.Sprint(limit))...); next != ""; pages++ {
			page := s.get(next, "Accept", accept)
			got := items(t, page)
			if len(got) > limit || len(got) == 0 && pages > 0 {
				rt.Fatalf("page %d of %s has %d items, limit %d", pages, next, len(got), limit)
			}
			joined = append(joined, got...)
			next = page.next(t)
		}
		if !slices.Equal(joined, whole) {
			rt.Fatalf("%d pages have %d items, the whole %d", pages, len(joined), len(whole))
		}
		if want := max((len(whole)+limit-1)/limit, 1); pages != want {
			rt.Fatalf("%d pages for %d items of %d each", pages, len(whole), limit)
		}
	})
}

// TestOffset checks which offsets are refused, and that the next page has none.
func TestOffset(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	for _, offset := range []string{"-1", "x", "99999999999999999999"} {
		s.get(target("/triples", "offset", offset)).wantError(t, 400, problem.KindBadParameter, "offset", "not a number from 0 on")
	}
	next := s.get(target("/triples", "offset", "2", "limit", "1")).next(t)
	if strings.Contains(next, "offset") {
		t.Errorf("the next page skips again: %s", next)
	}
	s.get(next+"&offset=2").wantError(t, 400, problem.KindBadParameter, "offset", "leave offset out")
	if got := s.get(next + "&offset=0"); got.status != 200 {
		t.Errorf("offset=0 with a cursor: %d %s", got.status, got.body)
	}
}

// items splits an answer into its items.
func items(t testing.TB, a answer) []string {
	t.Helper()
	if a.status != 200 || a.err != nil {
		t.Fatalf("answered %d %s %v", a.status, a.body, a.err)
	}
	if a.header.Get("Content-Type") != response.JSON {
		return slices.Collect(strings.Lines(a.body))
	}
	var page struct {
		Triples []json.RawMessage
		Next    *string
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if link := a.next(t); (page.Next == nil) != (link == "") || page.Next != nil && !strings.Contains(link, "cursor="+*page.Next) {
		t.Errorf("next is %v, Link %s", page.Next, link)
	}
	all := []string{}
	for _, raw := range page.Triples {
		all = append(all, string(raw))
	}
	return all
}

// TestPageBytes: a page ends before its greatest size, but has one item at least; and a
// cursor goes on where it ended without a limit too.
func TestPageBytes(t *testing.T) {
	store := newStore(t)
	for i := range 10 {
		addQuads(t, store, fmt.Sprintf("<%ss%d> <%sp> \"%d%s\" .\n", exampleIRI, i, exampleIRI, i, strings.Repeat("y", 100<<10)))
	}
	s := serve(t, store, Options{}, ServerOptions{})
	s.api.shared.PageBytes = 320 << 10
	var got []int
	next := "/range?order=spo&limit=10000"
	var second string
	for next != "" {
		page := s.get(next)
		got = append(got, strings.Count(page.body, "\n"))
		if next = page.next(t); len(got) == 1 {
			second = next
		}
	}
	if !slices.Equal(got, []int{3, 3, 3, 1}) {
		t.Errorf("pages of %v items", got)
	}
	s.api.shared.PageBytes = 10
	if page := s.get("/range?order=spo&limit=5"); strings.Count(page.body, "\n") != 1 || page.next(t) == "" {
		t.Errorf("a page of one huge item has %d bytes, header %v", len(page.body), page.header)
	}
	rest := s.get(strings.Replace(second, "limit=10000", "", 1))
	if n := strings.Count(rest.body, "\n"); n != 7 {
		t.Errorf("%d items after the first page, status %d %s", n, rest.status, rest.body[:min(200, len(rest.body))])
	}
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
}

// TestPageMemory: pages that find no memory are refused, and the client may try
// again.
func TestPageMemory(t *testing.T) {
	s, _ := serveTriples(t, fmt.Sprintf("<%ss> <%sp> \"%s\" .\n", exampleIRI, exampleIRI, strings.Repeat("y", 1<<20)), Options{MemoryBytes: 512 << 10})
	got := s.get("/range?order=spo&limit=1")
	got.wantError(t, 503, problem.KindBusy, "", "try again")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("header %v", got.header)
	}
	if held := s.api.shared.Memory.Held.Load(); held != 0 {
		t.Errorf("%d bytes are still counted", held)
	}
	if got := s.get("/range?order=spo"); got.status != 200 {
		t.Errorf("a stream is refused: %d %s", got.status, got.body)
	}
}

// TestHead: HEAD has the header of GET, and no body.
func TestHead(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	for _, path := range []string{"/range?order=spo", "/range?order=spo&limit=2", "/triples", "/triples?limit=1", "/count", "/status", "/healthz", "/readyz", "/metrics", "/backup"} {
		head := s.do(http.MethodHead, path, "")
		if head.status != 200 || head.body != "" {
			t.Errorf("HEAD %s: %d %q", path, head.status, head.body)
		}
		if path == "/metrics" || path == "/backup" {
			continue
		}
		get := s.get(path)
		for _, name := range []string{"Content-Type", "Link"} {
			if head.header.Get(name) != get.header.Get(name) {
				t.Errorf("HEAD %s has %s %q, GET %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
	}
	if got := s.do(http.MethodHead, "/range?order=sop", ""); got.status != 400 || got.body != "" {
		t.Errorf("HEAD of an error: %d %q", got.status, got.body)
	}
}

// TestJSONString compares with encoding/json.
func TestJSONString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "s")
		var got string
		if err := json.Unmarshal(triple.AppendJSONString(nil, want), &got); err != nil || got != want {
			t.Fatalf("%q came back as %q, %v", want, got, err)
		}
	})
	var all strings.Builder
	for c := range rune(0x100) {
		all.WriteRune(c)
	}
	var got string
	if err := json.Unmarshal(triple.AppendJSONString(nil, all.String()), &got); err != nil || got != all.String() {
		t.Errorf("%v, %q", err, got)
	}
}
