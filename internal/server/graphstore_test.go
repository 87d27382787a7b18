// The Graph Store Protocol: sequence, sentences of the specification, formats, limits.

package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/server/graphstore"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// parseAnswer returns the statements of an answer as N-Quads, sorted; it fails
// where the answer is not well-formed.
func parseAnswer(t testing.TB, a answer) []string {
	t.Helper()
	if a.err != nil {
		t.Fatalf("the answer broke off: %v", a.err)
	}
	s, err := syntax.ByMediaType(a.header.Get("Content-Type"))
	if err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	lines := []string{}
	for one, err := range syntax.Parse(context.Background(), strings.NewReader(a.body), s, syntax.Options{Source: "answer"}) {
		if err != nil {
			t.Fatalf("the answer is not %s: %v\n%s", s, err, a.body)
		}
		lines = append(lines, string(triple.AppendNQuad(nil, one)))
	}
	slices.Sort(lines)
	return lines
}

func wantLines(t testing.TB, got []string, want ...string) {
	t.Helper()
	for i := range want {
		want[i] += "\n"
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
}

const (
	john = "@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n@prefix v: <http://www.w3.org/2006/vcard/ns#> .\n" +
		"<http://h/person/1> a foaf:Person ; foaf:businessCard [ a v:VCard ; v:fn \"John Doe\" ] .\n"
	jane = "@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n@prefix v: <http://www.w3.org/2006/vcard/ns#> .\n" +
		"<http://h/person/1> a foaf:Person ; foaf:businessCard [ a v:VCard ; v:fn \"Jane Doe\" ] .\n"
	form = "--xx\r\nContent-Disposition: form-data; name=\"a\"; filename=\"lastName.ttl\"\r\nContent-Type: text/turtle; charset=utf-8\r\n\r\n" +
		"<http://h/person/1> <http://xmlns.com/foaf/0.1/familyName> \"Doe\", _:b .\r\n" +
		"--xx\r\nContent-Disposition: form-data; name=\"b\"; filename=\"firstName.nt\"\r\n\r\n" +
		"<http://h/person/1> <http://xmlns.com/foaf/0.1/givenName> _:b .\r\n--xx--\r\n"
)

// TestFormOfFiles: a part whose type says nothing has the syntax of its file name, as curl -F 'file=@a.ttl' and browsers
// send it.
func TestFormOfFiles(t *testing.T) {
	for _, c := range []struct {
		file, contentType, document string
		status                      int
	}{
		{"a.ttl", "application/octet-stream", "@prefix : <urn:> . :a :b :c .", 201},
		{"a.ttl", "text/plain; charset=utf-8", "@prefix : <urn:> . :a :b :c .", 201},
		{"a.rdf", "application/octet-stream", `<rdf:RDF xmlns:rdf="` + triple.RDF + `"><rdf:Description rdf:about="urn:a"><b xmlns="urn:" rdf:resource="urn:c"/></rdf:Description></rdf:RDF>`, 201},
		{"a", "text/plain", "<urn:a> <urn:b> <urn:c> .", 201},
		{"a.ttl", "application/n-triples", "@prefix : <urn:> . :a :b :c .", 400}, // a type that names one counts
		{"a.bin", "application/octet-stream", "<urn:a> <urn:b> <urn:c> .", 415},
	} {
		s, _ := serveTriples(t, "", Options{})
		form := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + c.file + "\"\r\nContent-Type: " + c.contentType + "\r\n\r\n" + c.document + "\r\n--x--\r\n"
		got := s.do("POST", "/data?graph=urn:g", form, "Content-Type", "multipart/form-data; boundary=x")
		if got.status != c.status {
			t.Errorf("%s as %s: %d %s, want %d", c.file, c.contentType, got.status, got.body, c.status)
		}
		if all := s.get("/triples"); c.status == 201 && all.body != "<urn:a> <urn:b> <urn:c> <urn:g> .\n" {
			t.Errorf("%s as %s: the store has %s", c.file, c.contentType, all.body)
		}
	}
}

// TestGraphStoreSequence goes through the requests of the W3C test suite for the
// protocol, one after the other, by direct and by indirect names.
func TestGraphStoreSequence(t *testing.T) {
	for name, at := range map[string]func(s *testServer, graph string) string{
		"direct":   func(_ *testServer, graph string) string { return "/data/" + graph },
		"indirect": func(s *testServer, graph string) string { return target("/data", "graph", s.url+"/data/"+graph) },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serveTriples(t, "", Options{})
			one, two := at(s, "person/1.ttl"), at(s, "person/2.ttl")
			turtle := []string{"Content-Type", "text/turtle; charset=utf-8"}
			step := func(method, target, body string, status, triples int, words string, headers ...string) answer {
				t.Helper()
				got := s.do(method, target, body, headers...)
				if got.status != status {
					t.Fatalf("%s %s: %d %s, want %d", method, target, got.status, got.body, status)
				}
				if triples >= 0 {
					if lines := parseAnswer(t, got); len(lines) != triples || !strings.Contains(strings.Join(lines, ""), words) {
						t.Errorf("%s %s: %d triples, want %d with %s: %s", method, target, len(lines), triples, words, got.body)
					}
				}
				return got
			}
			step("PUT", one, john, 201, -1, "", turtle...)
			step("GET", one, "", 200, 4, "John", "Accept", "text/turtle; charset=utf-8")
			step("PUT", one, jane, 204, -1, "", turtle...)
			step("GET", one, "", 200, 4, "Jane", "Accept", "text/turtle")
			step("PUT", "/data?default", "[] a <http://h/Person> .", 201, -1, "", turtle...)
			step("GET", "/data?default", "", 200, 1, "Person", "Accept", "text/turtle")
			step("PUT", "/data?default", "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"/>", 400, -1, "", turtle...)
			step("GET", "/data?default", "", 200, 1, "Person")
			step("PUT", two, john, 201, -1, "", turtle...)
			step("DELETE", two, "", 200, -1, "")
			step("GET", two, "", 404, -1, "")
			step("DELETE", two, "", 404, -1, "")
			step("POST", one, `<http://h/person/1> <http://xmlns.com/foaf/0.1/name> "Jane" .`, 200, -1, "", turtle...)
			step("GET", one, "", 200, 5, `"Jane" .`, "Accept", "text/turtle")
			step("POST", one, form, 200, -1, "", "Content-Type", "multipart/form-data; boundary=xx")
			step("GET", one, "", 200, 8, "familyName", "Accept", "text/turtle")
			made := step("POST", "/data", "[] a <http://h/Alice> .", 201, -1, "", turtle...).header.Get("Location")
			path, ok := strings.CutPrefix(made, s.url)
			if !ok || path == "/data" {
				t.Fatalf("the new graph is %q", made)
			}
			step("GET", path, "", 200, 1, "Alice", "Accept", "text/turtle")
			step("POST", path, "", 204, -1, "", turtle...)
			step("GET", path, "", 200, 1, "Alice", "Accept", "text/turtle")
			step("GET", target("/data", "graph", made), "", 200, 1, "Alice")
			if got := step("HEAD", one, "", 200, -1, "", "Accept", "text/turtle"); got.body != "" || got.header.Get("Content-Type") != "text/turtle" {
				t.Errorf("HEAD: %q %v", got.body, got.header)
			}
			step("HEAD", at(s, "person/4.ttl"), "", 404, -1, "")
		})
	}
}

const graphStoreData = `<http://a> <http://p> "default" .
<http://a> <http://p> "one" <http://g/1> .
<http://a> <http://p> "two" <http://g/2> .
`

// TestGraphStoreSentences has one row for a sentence of the specification, or for
// a decision that docs/api/graphs.md tells.
func TestGraphStoreSentences(t *testing.T) {
	const g1 = "/data?graph=http%3A%2F%2Fg%2F1"
	quad := "<http://b> <http://p> <http://c> "
	for _, test := range []struct {
		sentence             string
		method, target, body string
		headers              []string
		status               int
		kind                 problem.Kind
		words                string
	}{
		{"4.2 the query string IRI must be absolute, else 400", "GET", "/data?graph=person", "", nil, 400, problem.KindBadParameter, "absolute"},
		{"4.2 the same for writes", "PUT", "/data?graph=%2Fdata%2Fx", "", []string{"Content-Type", "text/turtle"}, 400, problem.KindBadParameter, "absolute"},
		{"an empty name is none", "GET", "/data?graph=", "", nil, 400, problem.KindBadParameter, "absolute"},
		{"one graph a request", "GET", g1 + "&default", "", nil, 400, problem.KindBadRequest, "one graph"},
		{"one name a graph", "GET", g1 + "&graph=http%3A%2F%2Fg%2F2", "", nil, 400, problem.KindBadParameter, "2 times"},
		{"default takes no value", "GET", "/data?default=http://g/1", "", nil, 400, problem.KindBadParameter, "no value"},
		{"a slip of the pen", "GET", "/data?grpah=http://g/1", "", nil, 400, problem.KindBadParameter, "graph, default"},
		{"a direct name has no query", "GET", "/data/x?graph=http://g/1", "", nil, 400, problem.KindBadRequest, "names the graph"},
		{"5.1 an unsupported verb is 405", "PATCH", g1, "", nil, 405, problem.KindMethod, "DELETE, GET, HEAD"},
		{"5.1 the same", "PUT", "/data", "", []string{"Content-Type", "text/turtle"}, 405, problem.KindMethod, "POST of another"},
		{"5.1 the same", "DELETE", "/data", "", nil, 405, problem.KindMethod, "?default"},
		{"5.1 a graph that is not there is 404", "GET", "/data?graph=http://g/9", "", nil, 404, problem.KindNotFound, "http://g/9"},
		{"5.1 a payload that does not parse is 400", "POST", g1, "<http://b> .", []string{"Content-Type", "text/turtle"}, 400, problem.KindSyntax, ""},
		{"5.1 a content type that is not understood is 415", "POST", g1, "x", []string{"Content-Type", "text/csv"}, 415, problem.KindUnsupportedMedia, ""},
		{"5.2 a format that is not there is 406", "GET", g1, "", []string{"Accept", "image/png"}, 406, problem.KindNotAcceptable, "text/turtle"},
		{"5.3 an empty body that the content type does not allow is 400", "PUT", g1, "", nil, 400, "", ""},
		{"5.3 only the graph that is named", "PUT", g1, quad + "<http://g/2> .", []string{"Content-Type", "application/n-quads"}, 400, problem.KindBadRequest, "<http://g/2>"},
		{"5.3 the same for the default graph", "PUT", "/data?default", "<http://g/2> { " + quad + "}", []string{"Content-Type", "application/trig"}, 400, problem.KindBadRequest, "the default graph"},
		{"5.5 a part without a syntax", "POST", g1, "--x\r\n\r\n" + quad + ".\r\n--x--\r\n", []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, problem.KindBadRequest, "neither a Content-Type"},
		{"5.5 a part that does not parse", "POST", g1, "--x\r\nContent-Type: text/turtle\r\n\r\n" + quad + "\r\n--x--\r\n", []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, problem.KindSyntax, "part 1"},
		{"5.5 a form cut off", "POST", g1, "--x\r\nContent-Type: text/turtle\r\n\r\n" + quad + ".", []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, problem.KindBadRequest, ""},
		{"5.5 a form without a boundary", "POST", g1, "x", []string{"Content-Type", "multipart/form-data"}, 400, problem.KindBadRequest, "boundary"},
		{"5.5 a form of too many parts", "POST", g1, strings.Repeat("--x\r\nContent-Type: text/turtle\r\n\r\n\r\n", graphstore.MaxParts+1) + "--x--\r\n",
			[]string{"Content-Type", "multipart/form-data; boundary=x"}, 413, problem.KindTooLarge, "more than 1000"},
		{"a form is not compressed", "POST", g1, "x", []string{"Content-Type", "multipart/form-data; boundary=x", "Content-Encoding", "gzip"}, 415, problem.KindUnsupportedMedia, ""},
		{"a body that GET does not take", "GET", g1, "x", nil, 400, problem.KindBadRequest, "no body"},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			s, db := serveTriples(t, graphStoreData, Options{})
			got := s.do(test.method, test.target, test.body, test.headers...)
			if e := got.wireError(t); got.status != test.status || test.kind != "" && e.Kind != test.kind || !strings.Contains(e.Message, test.words) {
				t.Errorf("%d %v, want %d %s ...%s...", got.status, e, test.status, test.kind, test.words)
			}
			if n := storedTriples(t, db); n != 3 {
				t.Errorf("%d triples after a request that was refused", n)
			}
		})
	}
}

func storedTriples(t testing.TB, db *store.Store) int64 {
	t.Helper()
	sn, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	n, err := prefixes.HideIn(sn).Count(context.Background(), triple.Pattern{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestGraphStoreFormats(t *testing.T) {
	s, _ := serveTriples(t, graphStoreData, Options{})
	for accept, want := range map[string]string{
		"":                                  "text/turtle", // one of RDF/XML, Turtle and N-Triples without Accept (5.2)
		"*/*":                               "text/turtle",
		"text/html, */*;q=0.1":              "text/turtle",
		"application/n-triples":             "application/n-triples",
		"text/turtle;q=0.5,application/*":   "application/n-triples",
		"application/trig, text/turtle;q=0": "application/trig",
		"application/n-quads":               "application/n-quads",
	} {
		headers := []string{}
		if accept != "" {
			headers = []string{"Accept", accept}
		}
		got := s.get("/data?graph=http://g/1", headers...)
		if got.status != 200 || got.header.Get("Content-Type") != want || got.header.Get("Vary") != "Accept" {
			t.Errorf("%q: %d %v", accept, got.status, got.header)
		}
		wantLines(t, parseAnswer(t, got), `<http://a> <http://p> "one" .`)
		wantLines(t, parseAnswer(t, s.get("/data?default", headers...)), `<http://a> <http://p> "default" .`)
	}
	empty, _ := serveTriples(t, "", Options{})
	if got := empty.get("/data?default"); got.status != 200 || len(parseAnswer(t, got)) != 0 {
		t.Errorf("the empty default graph: %d %s", got.status, got.body)
	}
}

func TestGraphStoreWrites(t *testing.T) {
	s, db := serveTriples(t, graphStoreData, Options{})
	do := func(method, target, contentType, body string, status int, want string) {
		t.Helper()
		headers := []string{}
		if contentType != "" {
			headers = []string{"Content-Type", contentType}
		}
		if got := s.do(method, target, body, headers...); got.status != status || got.body != want {
			t.Fatalf("%s %s: %d %q, want %d %q", method, target, got.status, got.body, status, want)
		}
	}
	graph := func(target string, want ...string) {
		t.Helper()
		wantLines(t, parseAnswer(t, s.get(target, "Accept", "application/n-triples")), want...)
	}
	const g1, g2, g3 = "/data?graph=http://g/1", "/data?graph=http://g/2", "/data?graph=http://g/3"
	// Replacing leaves the other graphs; a triple that stays is no trouble.
	do("PUT", g1, "text/turtle", `<http://a> <http://p> "one", "1" .`, 204, "")
	graph(g1, `<http://a> <http://p> "one" .`, `<http://a> <http://p> "1" .`)
	graph(g2, `<http://a> <http://p> "two" .`)
	// Relative IRIs are resolved against the graph's IRI.
	do("POST", g3, "text/turtle", `<> <#p> <x> .`, 201, `{"added":1,"existing":0}`+"\n")
	graph(g3, `<http://g/3> <http://g/3#p> <http://g/x> .`)
	do("POST", g3, "text/turtle", `<> <#p> <x>, <y> .`, 200, `{"added":1,"existing":1}`+"\n")
	// Quads are taken where they are of the graph, and unnamed ones always.
	do("PUT", g3, "application/n-quads", "<http://a> <http://p> \"q\" <http://g/3> .\n<http://a> <http://p> \"t\" .\n", 204, "")
	graph(g3, `<http://a> <http://p> "q" .`, `<http://a> <http://p> "t" .`)
	// Without a media type the syntax is detected from the first bytes; if none fits, it is RDF/XML (5).
	do("PUT", g3, "", `<http://a> <http://p> "sniffed" .`, 204, "")
	graph(g3, `<http://a> <http://p> "sniffed" .`)
	do("PUT", g3, "", `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"><rdf:Description rdf:about="http://a"><e:b>xml</e:b></rdf:Description></rdf:RDF>`, 204, "")
	graph(g3, `<http://a> <http://e/b> "xml" .`)
	// Compressed, as for /triples.
	if got := s.do("PUT", g3, string(compress(t, "gzip", []byte(`<http://a> <http://p> "packed" .`))), "Content-Type", "text/turtle", "Content-Encoding", "gzip"); got.status != 204 {
		t.Fatal(got.status, got.body)
	}
	graph(g3, `<http://a> <http://p> "packed" .`)
	// A document without triples leaves no graph.
	do("PUT", g3, "text/turtle", "# nothing", 204, "")
	if got := s.get(g3); got.status != 404 {
		t.Errorf("an empty graph: %d", got.status)
	}
	do("PUT", g3, "text/turtle", "# nothing", 204, "")
	do("POST", "/data", "text/turtle", "# nothing", 204, "")
	// The default graph is emptied, and still there.
	do("DELETE", "/data?default", "", "", 200, `{"deleted":1}`+"\n")
	do("DELETE", "/data?default", "", "", 200, `{"deleted":0}`+"\n")
	graph("/data?default")
	graph(g2, `<http://a> <http://p> "two" .`)
	do("DELETE", g2, "", "", 200, `{"deleted":1}`+"\n")
	// Blank nodes of two documents are two, as are those of two parts.
	do("PUT", g1, "text/turtle", `_:b <http://p> "x" .`, 204, "")
	do("POST", g1, "text/turtle", `_:b <http://p> "x" .`, 200, `{"added":1,"existing":0}`+"\n")
	if n := storedTriples(t, db); n != 2 {
		t.Errorf("%d triples, want 2", n)
	}
	do("PUT", g1, "multipart/form-data; boundary=xx", form, 204, "")
	subjects := map[string]bool{}
	for _, line := range parseAnswer(t, s.get(g1, "Accept", "application/n-triples")) {
		subjects[line[strings.LastIndex(line, " _")+1:]] = true
	}
	if len(subjects) != 3 { // two blank nodes, and the literal's line
		t.Errorf("the blank nodes of two parts: %v", subjects)
	}
}

// TestGraphStoreReplaces reads a graph while others replace it: every answer is
// one of the two documents, never a mixture or a gap.
func TestGraphStoreReplaces(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	const at = "/data?graph=http://g/1"
	var docs [2]string
	for i := range docs {
		for n := range 200 {
			docs[i] += fmt.Sprintf("<http://s/%d> <http://p> \"%d\" .\n", n, i)
		}
	}
	if got := s.do("PUT", at, docs[0], "Content-Type", "application/n-triples"); got.status != 201 {
		t.Fatal(got.status, got.body)
	}
	done := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		defer close(done)
		for i := range 30 {
			if got := s.do("PUT", at, docs[(i+1)%2], "Content-Type", "application/n-triples"); got.status != 204 {
				t.Errorf("PUT: %d %s", got.status, got.body)
			}
		}
	})
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		got := s.get(at, "Accept", "application/n-triples")
		lines := parseAnswer(t, got)
		which := strings.Count(got.body, `"1"`)
		if len(lines) != 200 || which != 0 && which != 200 {
			t.Fatalf("%d triples, %d of them of the one document", len(lines), which)
		}
	}
	writer.Wait()
}

// TestGraphStoreStreams reads a graph that is larger than any buffer, in all
// syntaxes. Over HTTP/1.0 only what fits one is answered.
func TestGraphStoreStreams(t *testing.T) {
	s, db := serveTriples(t, "", Options{MemoryBytes: 1 << 20})
	n := 20_000
	if testing.Short() {
		n = 4000
	}
	var triples []triple.Triple
	for i := range n {
		triples = append(triples, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://example.org/subject/%d", i)),
			Predicate: triple.NewIRI("http://p"), Object: triple.NewString("x"), Graph: triple.NewIRI("http://g/1")})
	}
	if _, err := store.Add(context.Background(), db, triples); err != nil {
		t.Fatal(err)
	}
	for _, syntax := range graphstore.GraphSyntaxes {
		got := s.get("/data?graph=http://g/1", "Accept", syntax.MediaType())
		if lines := parseAnswer(t, got); got.status != 200 || len(lines) != n || got.header.Get("Content-Length") != "" {
			t.Errorf("%s: %d, %d triples, length %q", syntax, got.status, len(lines), got.header.Get("Content-Length"))
		}
	}
	for target, status := range map[string]string{"/data?graph=http://g/1": " 505 ", "/data?default": " 200 ", "/data/x": " 400 "} {
		if got := s.raw("GET " + target + " HTTP/1.0\r\n\r\n"); !strings.Contains(strings.SplitN(got, "\r\n", 2)[0], status) {
			t.Errorf("HTTP/1.0 %s: %.100s", target, got)
		}
	}
}

func TestGraphStoreSizes(t *testing.T) {
	s, db := serveTriples(t, graphStoreData, Options{MaxBodyBytes: 1000, MemoryBytes: 64 << 10})
	const at = "/data?graph=http://g/1"
	long := `<http://a> <http://p> "` + strings.Repeat("x", 1000) + `" .`
	part := "--x\r\nContent-Type: text/turtle\r\n\r\n<http://a> <http://p> \"" + strings.Repeat("x", 700) + "\" .\r\n"
	many := strings.Repeat("--x\r\nContent-Type: text/turtle\r\n\r\n", 20)
	for _, test := range []struct{ contentType, body string }{
		{"text/turtle", long},
		{"multipart/form-data; boundary=x", part + part + "--x--\r\n"},
		{"multipart/form-data; boundary=x", part + many + "--x--\r\n"},
	} {
		s.do("PUT", at, test.body, "Content-Type", test.contentType).wantError(t, 413, problem.KindTooLarge, "", "/load")
	}
	// Many triples in few bytes: more memory than all requests may have.
	small := strings.Repeat("<a:b> <a:b> <a:b>.\n", 250)
	tight, _ := serveTriples(t, "", Options{MemoryBytes: 128 << 10})
	tight.do("PUT", at, small, "Content-Type", "text/turtle").wantError(t, 413, problem.KindTooLarge, "", "/load")
	if n := storedTriples(t, db); n != 3 {
		t.Errorf("%d triples", n)
	}
}

// TestGraphStoreGuards tries the rules of all endpoints on this one.
func TestGraphStoreGuards(t *testing.T) {
	const at = "/data?graph=http://g/1"
	guarded, db := serveTriples(t, graphStoreData, Options{Token: "secret"})
	reading, _ := serveTriples(t, graphStoreData, Options{ReadOnly: true})
	if got := reading.get(at); got.status != 200 {
		t.Errorf("a node that serves read-only: %d", got.status)
	}
	for _, method := range []string{"PUT", "POST", "DELETE"} {
		guarded.do(method, at, "").wantError(t, 401, problem.KindUnauthorized, "Authorization", "token")
		guarded.do(method, at, "", "Authorization", "Bearer secret", "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site").
			wantError(t, 403, problem.KindForbidden, "Origin", "another origin")
		reading.do(method, at, "").wantError(t, 403, problem.KindReadOnly, "", "read-only")
	}
	guarded.get("/data/x").wantError(t, 401, problem.KindUnauthorized, "Authorization", "token")
	if n := storedTriples(t, db); n != 3 {
		t.Errorf("%d triples", n)
	}
}

func TestPublicURL(t *testing.T) {
	s, _ := serveTriples(t, "", Options{PublicURL: "https://data.example.org/trefoil/"})
	if got := s.do("PUT", "/data/a%2Fb", `<> <p> <q> .`, "Content-Type", "text/turtle"); got.status != 201 {
		t.Fatal(got.status, got.body)
	}
	got := s.get("/data?graph=https://data.example.org/trefoil/data/a%252Fb", "Accept", "application/n-triples")
	wantLines(t, parseAnswer(t, got), `<https://data.example.org/trefoil/data/a%2Fb> <https://data.example.org/trefoil/data/p> <https://data.example.org/trefoil/data/q> .`)
	made := s.do("POST", "/data", `<> <p> <q> .`, "Content-Type", "text/turtle").header.Get("Location")
	if !strings.HasPrefix(made, "https://data.example.org/trefoil/data/") {
		t.Errorf("Location: %s", made)
	}
	if got := s.get("/fragments", "Accept", "text/turtle"); !strings.Contains(got.body, `"https://data.example.org/trefoil/fragments{?`) {
		t.Errorf("the template of fragments: %s", got.body)
	}
	for _, bad := range []string{"data.example.org", "ftp://h", "http://", "http://u:p@h", "http://h/?x", "http://h/#x", "http://h/<"} {
		if err := (Options{PublicURL: bad}).Validate(); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	// Without it the Host header counts, where it is one.
	own, _ := serveTriples(t, "", Options{})
	for _, host := range []string{"a/b", "u@h", "h?x"} {
		if got := own.raw("GET /data/x HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
			t.Errorf("Host: %s: %.60s", host, got)
		}
	}
	r, _ := http.NewRequest("GET", "/data/x", nil)
	if _, err := own.api.shared.URL.Base(r); err == nil {
		t.Error("no Host at all is taken")
	}
}

// raw sends a request as it is written and returns the answer as it came.
func (s *testServer) raw(text string) string {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(got)
}
