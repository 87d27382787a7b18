package httpapi

import (
	"net/http"
	"net/url"
	"testing"
)

const ex = "http://example.org/"

const sampleQuads = `<http://example.org/a> <http://example.org/size> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://example.org/b> <http://example.org/size> "2.5"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<http://example.org/c> <http://example.org/size> "1.0"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<http://example.org/d> <http://example.org/size> "NaN"^^<http://www.w3.org/2001/XMLSchema#double> .
<http://example.org/a> <http://example.org/name> "Müller" .
<http://example.org/b> <http://example.org/name> "Mücke"@de .
<http://example.org/c> <http://example.org/name> "Meier" .
_:n1 <http://example.org/knows> <http://example.org/a> .
<http://example.org/a> <http://example.org/knows> <http://example.org/b> <http://example.org/g> .
<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/Person> .
`

// TestRefusals: every way to get a request wrong has its status, kind and place.
func TestRefusals(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	nq := []string{"Content-Type", "application/n-quads"}
	for _, test := range []struct {
		name, method, target, body string
		headers                    []string
		status                     int
		kind                       Kind
		where, words               string
	}{
		{"no door", "GET", "/sparkle", "", nil, 404, KindNotFound, "/sparkle", "/range"},
		{"root", "GET", "/nowhere", "", nil, 404, KindNotFound, "/nowhere", "/triples"},
		{"trailing slash", "GET", "/range/", "", nil, 404, KindNotFound, "/range/", ""},
		{"method", "PUT", "/triples", "", nil, 405, KindMethod, "", "DELETE, GET, HEAD, OPTIONS, POST"},
		{"load by GET", "GET", "/load", "", nil, 405, KindMethod, "", "POST"},
		{"unknown parameter", "GET", "/triples?subject=x", "", nil, 400, KindBadParameter, "subject", "s, p, o, g, limit, cursor"},
		{"unknown parameter of a door without", "GET", "/status?x=1", "", nil, 400, KindBadParameter, "x", "takes none"},
		{"repeated parameter", "GET", "/triples?s=%3Chttp://a/%3E&s=%3Chttp://b/%3E", "", nil, 400, KindBadParameter, "s", "2 times"},
		{"empty parameter", "GET", "/triples?s=", "", nil, 400, KindBadParameter, "s", "is empty"},
		{"blank prefix", "GET", "/range?order=spo&prefix=%20", "", nil, 400, KindBadParameter, "prefix", "is empty"},
		{"bad escape", "GET", "/triples?s=%zz", "", nil, 400, KindBadRequest, "", "malformed query"},
		{"semicolon", "GET", "/triples?s=%3Chttp://a/%3E;p=a", "", nil, 400, KindBadRequest, "", "malformed query"},
		{"bad term", "GET", "/triples?s=foo", "", nil, 400, KindBadParameter, "s", "foo"},
		{"bad predicate", "GET", "/triples?p=b", "", nil, 400, KindBadParameter, "p", ""},
		{"bad graph", "GET", "/triples?g=none", "", nil, 400, KindBadParameter, "g", ""},
		{"two terms", "GET", target("/triples", "s", "<http://a/> <http://b/>"), "", nil, 400, KindBadParameter, "s", "after the term"},
		{"limit 0", "GET", "/triples?limit=0", "", nil, 400, KindBadParameter, "limit", "from 1 on"},
		{"limit -1", "GET", "/triples?limit=-1", "", nil, 400, KindBadParameter, "limit", ""},
		{"limit x", "GET", "/triples?limit=ten", "", nil, 400, KindBadParameter, "limit", "ten"},
		{"huge limit", "GET", "/triples?limit=99999999999999999999", "", nil, 400, KindBadParameter, "limit", ""},
		{"no order", "GET", "/range", "", nil, 400, KindBadParameter, "order", "missing"},
		{"bad order", "GET", "/range?order=sop", "", nil, 400, KindBadParameter, "order", "sop"},
		{"five terms", "GET", target("/range", "order", "spo", "prefix", "1 2 3 4 5"), "", nil, 400, KindBadParameter, "prefix", "5 terms"},
		{"bad bound", "GET", "/range?order=pos&ge=ten", "", nil, 400, KindBadParameter, "ge", ""},
		{"ge and gt", "GET", "/range?order=pos&ge=1&gt=1", "", nil, 400, KindBadParameter, "", "both ge and gt"},
		{"le and lt", "GET", "/range?order=pos&le=1&lt=1", "", nil, 400, KindBadParameter, "", "both le and lt"},
		{"starts and ge", "GET", target("/range", "order", "osp", "starts", `"M`, "ge", "1"), "", nil, 400, KindBadParameter, "", "excludes"},
		{"bad starts", "GET", "/range?order=osp&starts=M", "", nil, 400, KindBadParameter, "starts", ""},
		{"two classes", "GET", target("/range", "order", "osp", "ge", "1", "lt", `"x"`), "", nil, 400, KindBadParameter, "", ""},
		{"bad flag", "GET", "/range?order=spo&reverse=1", "", nil, 400, KindBadParameter, "reverse", "neither true nor false"},
		{"bad estimate", "GET", "/count?estimate=yes", "", nil, 400, KindBadParameter, "estimate", ""},
		{"limit of a count", "GET", "/count?limit=1", "", nil, 400, KindBadParameter, "limit", "estimate"},
		{"body of a GET", "GET", "/triples", "x", nil, 400, KindBadRequest, "", "takes no body"},
		{"Accept", "GET", "/triples", "", []string{"Accept", "text/html"}, 406, KindNotAcceptable, "Accept", "application/n-quads"},
		{"Accept refuses", "GET", "/triples", "", []string{"Accept", "*/*;q=0"}, 406, KindNotAcceptable, "Accept", ""},
		{"named graph as N-Triples", "GET", target("/triples", "g", "<http://example.org/g>"), "", []string{"Accept", typeNTriples}, 406, KindNotAcceptable, "Accept", ""},
		{"gspo as N-Triples", "GET", "/range?order=gspo", "", []string{"Accept", typeNTriples}, 406, KindNotAcceptable, "Accept", ""},
		{"count as text", "GET", "/count", "", []string{"Accept", "text/plain"}, 406, KindNotAcceptable, "Accept", "application/json"},
		{"no Content-Type", "POST", "/triples", "x", nil, 415, KindUnsupportedMedia, "Content-Type", "text/turtle"},
		{"form", "POST", "/triples", "x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, KindUnsupportedMedia, "Content-Type", ""},
		{"charset", "POST", "/triples", "x", []string{"Content-Type", "text/turtle; charset=latin1"}, 415, KindUnsupportedMedia, "Content-Type", "latin1"},
		{"br", "POST", "/triples", "x", append([]string{"Content-Encoding", "br"}, nq...), 415, KindUnsupportedMedia, "Content-Encoding", "gzip"},
		{"gzip twice", "POST", "/triples", "x", append([]string{"Content-Encoding", "gzip, gzip"}, nq...), 415, KindUnsupportedMedia, "Content-Encoding", ""},
		{"not gzip", "POST", "/triples", "x", append([]string{"Content-Encoding", "gzip"}, nq...), 400, KindBadRequest, "Content-Encoding", "is not"},
		{"syntax", "POST", "/triples", "<http://a> <http://b> <http://c> .\n<http://a> b .\n", nq, 400, KindSyntax, "body:2:12", ""},
		{"relative IRI", "POST", "/triples", "<a> <b> <c> .", []string{"Content-Type", "text/turtle"}, 400, KindSyntax, "body:1:1", ""},
		{"bad blank", "POST", "/triples?blank=new", "", nq, 400, KindBadParameter, "blank", "keep"},
		{"bad graph name", "POST", "/triples?graph=g", "", nq, 400, KindBadParameter, "graph", "absolute IRI"},
		{"bad base", "POST", "/triples?base=g", "", nq, 400, KindBadParameter, "base", ""},
		{"delete nothing named", "DELETE", "/triples", "", nil, 400, KindBadRequest, "", "at least one"},
		{"delete an empty pattern", "DELETE", "/triples?s=", "", nil, 400, KindBadParameter, "s", "is empty"},
		{"delete both ways", "DELETE", target("/triples", "s", "<http://a/>"), "x", nq, 400, KindBadRequest, "", "give one"},
		{"delete pattern with graph", "DELETE", target("/triples", "s", "<http://a/>", "graph", "http://g/"), "", nil, 400, KindBadRequest, "", "g"},
		{"delete with blank", "DELETE", "/triples?blank=keep", "x", nq, 400, KindBadParameter, "blank", ""},
		{"load memory", "POST", "/load?memory=1", "", nq, 400, KindBadParameter, "", "64 MiB"},
		{"load memory word", "POST", "/load?memory=2GB", "", nq, 400, KindBadParameter, "memory", "2GiB"},
		{"load max-line", "POST", "/load?max-line=2GiB", "", nq, 400, KindBadParameter, "max-line", "1 GiB"},
		{"load rejects", "POST", "/load?rejects=5", "", nq, 400, KindBadParameter, "rejects", "keep-going"},
		{"load syntax", "POST", "/load", "<http://a> <http://b> .\n", nq, 400, KindSyntax, "body:1:23", ""},
		{"other origin", "POST", "/triples", "", append([]string{"Origin", "http://evil.example"}, nq...), 403, KindForbidden, "Origin", "another origin"},
		{"other site", "DELETE", target("/triples", "s", "<http://a/>"), "", []string{"Sec-Fetch-Site", "cross-site"}, 403, KindForbidden, "Origin", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s.do(test.method, test.target, test.body, test.headers...)
			got.wantError(t, test.status, test.kind, test.where, test.words)
			if allow := got.header.Get("Allow"); (allow != "") != (test.status == 405) {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
	if got := s.get("/count"); got.body != `{"count":10,"exact":true}`+"\n" {
		t.Errorf("the refused requests changed something: %s", got.body)
	}
	if got := s.do(http.MethodPut, "/triples", ""); got.header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, POST" {
		t.Errorf("Allow: %q", got.header.Get("Allow"))
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1": 1, "1073741824": 1 << 30, "512MiB": 512 << 20, "2GiB": 2 << 30, "1TiB": 1 << 40, "3KiB": 3 << 10,
		"0": -1, "-1": -1, "GiB": -1, "1.5GiB": -1, "2GB": -1, " 1": -1, "9999999999999999999": -1, "9999999999TiB": -1,
	} {
		got, err := params{"n": text}.size("n")
		if want < 0 && err == nil || want > 0 && (err != nil || got != want) {
			t.Errorf("size %q is %d, %v; want %d", text, got, err, want)
		}
	}
}

// FuzzQuery: whatever the parameters, a query is refused with an error of ours or
// makes a cursor that it takes back.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"order=spo", "order=pos&prefix=%3Chttp://example.org/size%3E&ge=1&lt=2", "order=osp&starts=%22M%C3%BC&reverse=true",
		"order=gspo&from=%3Chttp://a/%3E&until=%3Chttp://b/%3E&limit=5", "s=_:b&p=a&o=1.5&g=default", "s=%3Chttp://a/%3E&limit=10000",
		"order=spo&order=pos", "s=%zz", "o=%221%22%5E%5Exsd:integer", "cursor=AQ", "order=pos&ge=1&gt=2", "s=;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, door := range []struct {
			params []string
			make   func(params) (*query, error)
		}{{rangeParams, rangeQuery}, {triplesParams, triplesQuery}} {
			p, err := parseParams(raw, door.params)
			if err == nil {
				var q *query
				if q, err = door.make(p); err == nil {
					checkCursor(t, q)
				}
			}
			if err != nil && asError(err).Status() != http.StatusBadRequest {
				t.Fatalf("%q: %v", raw, err)
			}
		}
	})
}

// checkCursor checks that a query takes its own cursors, if their keys lie in its
// bounds, and none of another query.
func checkCursor(t *testing.T, q *query) {
	key := parseQuadsKey(t, q)
	got, err := q.parseCursor(q.cursor(key))
	if q.keys.Contains(key) != (err == nil) || err == nil && string(got) != string(key) {
		t.Fatalf("cursor of %q: %q, %v", key, got, err)
	}
	other := *q
	other.reverse = !q.reverse
	if _, err := other.parseCursor(q.cursor(key)); err == nil {
		t.Fatal("a cursor of another direction was taken")
	}
}

func TestTargetKeepsQuery(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	first := s.get(target("/range", "order", "pos", "prefix", "<"+ex+"size>", "limit", "1", "lt", "3"))
	u, err := url.Parse(first.next(t))
	if err != nil {
		t.Fatal(err)
	}
	if q := u.Query(); u.Path != "/range" || q.Get("prefix") != "<"+ex+"size>" || q.Get("limit") != "1" || q.Get("lt") != "3" || q.Get("cursor") == "" {
		t.Errorf("the next page is at %s", first.next(t))
	}
}
