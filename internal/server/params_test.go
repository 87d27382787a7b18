// Parameters: refusals, and the links to next pages.

package server

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
)

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
		kind                       problem.Kind
		where, words               string
	}{
		{"no endpoint", "GET", "/sparkle", "", nil, 404, problem.KindNotFound, "/sparkle", "/range"},
		{"root", "GET", "/nowhere", "", nil, 404, problem.KindNotFound, "/nowhere", "/triples"},
		{"two slashes", "GET", "/range//", "", nil, 404, problem.KindNotFound, "/range//", ""},
		{"method", "PUT", "/triples", "", nil, 405, problem.KindMethod, "", "DELETE, GET, HEAD, OPTIONS, POST"},
		{"load by GET", "GET", "/load", "", nil, 405, problem.KindMethod, "", "POST"},
		{"unknown parameter", "GET", "/triples?subject=x", "", nil, 400, problem.KindBadParameter, "subject", "s, p, o, g, offset, limit, cursor"},
		{"unknown parameter of a endpoint without", "GET", "/status?x=1", "", nil, 400, problem.KindBadParameter, "x", "takes none"},
		{"repeated parameter", "GET", "/triples?s=%3Chttp://a/%3E&s=%3Chttp://b/%3E", "", nil, 400, problem.KindBadParameter, "s", "2 times"},
		{"empty parameter", "GET", "/triples?s=", "", nil, 400, problem.KindBadParameter, "s", "is empty"},
		{"blank prefix", "GET", "/range?order=spo&prefix=%20", "", nil, 400, problem.KindBadParameter, "prefix", "is empty"},
		{"bad escape", "GET", "/triples?s=%zz", "", nil, 400, problem.KindBadRequest, "", "malformed query"},
		{"semicolon", "GET", "/triples?s=%3Chttp://a/%3E;p=a", "", nil, 400, problem.KindBadRequest, "", "malformed query"},
		{"bad term", "GET", "/triples?s=foo", "", nil, 400, problem.KindBadParameter, "s", "foo"},
		{"bad predicate", "GET", "/triples?p=b", "", nil, 400, problem.KindBadParameter, "p", ""},
		{"bad graph", "GET", "/triples?g=none", "", nil, 400, problem.KindBadParameter, "g", ""},
		{"two terms", "GET", target("/triples", "s", "<http://a/> <http://b/>"), "", nil, 400, problem.KindBadParameter, "s", "after the term"},
		{"limit 0", "GET", "/triples?limit=0", "", nil, 400, problem.KindBadParameter, "limit", "from 1 on"},
		{"limit -1", "GET", "/triples?limit=-1", "", nil, 400, problem.KindBadParameter, "limit", ""},
		{"limit x", "GET", "/triples?limit=ten", "", nil, 400, problem.KindBadParameter, "limit", "ten"},
		{"huge limit", "GET", "/triples?limit=99999999999999999999", "", nil, 400, problem.KindBadParameter, "limit", ""},
		{"no order", "GET", "/range", "", nil, 400, problem.KindBadParameter, "order", "missing"},
		{"bad order", "GET", "/range?order=sop", "", nil, 400, problem.KindBadParameter, "order", "sop"},
		{"five terms", "GET", target("/range", "order", "spo", "prefix", "1 2 3 4 5"), "", nil, 400, problem.KindBadParameter, "prefix", "5 terms"},
		{"bad bound", "GET", "/range?order=pos&ge=ten", "", nil, 400, problem.KindBadParameter, "ge", ""},
		{"ge and gt", "GET", "/range?order=pos&ge=1&gt=1", "", nil, 400, problem.KindBadParameter, "", "both ge and gt"},
		{"le and lt", "GET", "/range?order=pos&le=1&lt=1", "", nil, 400, problem.KindBadParameter, "", "both le and lt"},
		{"starts and ge", "GET", target("/range", "order", "osp", "starts", `"M`, "ge", "1"), "", nil, 400, problem.KindBadParameter, "", "excludes"},
		{"bad starts", "GET", "/range?order=osp&starts=M", "", nil, 400, problem.KindBadParameter, "starts", ""},
		{"two classes", "GET", target("/range", "order", "osp", "ge", "1", "lt", `"x"`), "", nil, 400, problem.KindBadParameter, "", ""},
		{"bad flag", "GET", "/range?order=spo&reverse=1", "", nil, 400, problem.KindBadParameter, "reverse", "neither true nor false"},
		{"bad estimate", "GET", "/count?estimate=yes", "", nil, 400, problem.KindBadParameter, "estimate", ""},
		{"limit of a count", "GET", "/count?limit=1", "", nil, 400, problem.KindBadParameter, "limit", "estimate"},
		{"body of a GET", "GET", "/triples", "x", nil, 400, problem.KindBadRequest, "", "takes no body"},
		{"Accept", "GET", "/triples", "", []string{"Accept", "text/html"}, 406, problem.KindNotAcceptable, "Accept", "application/n-quads"},
		{"Accept refuses", "GET", "/triples", "", []string{"Accept", "*/*;q=0"}, 406, problem.KindNotAcceptable, "Accept", ""},
		{"named graph as N-Triples", "GET", target("/triples", "g", "<http://example.org/g>"), "", []string{"Accept", response.NTriples}, 406, problem.KindNotAcceptable, "Accept", ""},
		{"gspo as N-Triples", "GET", "/range?order=gspo", "", []string{"Accept", response.NTriples}, 406, problem.KindNotAcceptable, "Accept", ""},
		{"count as text", "GET", "/count", "", []string{"Accept", "text/plain"}, 406, problem.KindNotAcceptable, "Accept", "application/json"},
		{"no Content-Type", "POST", "/triples", "x", nil, 415, problem.KindUnsupportedMedia, "Content-Type", "text/turtle"},
		{"form", "POST", "/triples", "x", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, problem.KindUnsupportedMedia, "Content-Type", ""},
		{"charset", "POST", "/triples", "x", []string{"Content-Type", "text/turtle; charset=latin1"}, 415, problem.KindUnsupportedMedia, "Content-Type", "latin1"},
		{"br", "POST", "/triples", "x", append([]string{"Content-Encoding", "br"}, nq...), 415, problem.KindUnsupportedMedia, "Content-Encoding", "gzip"},
		{"gzip twice", "POST", "/triples", "x", append([]string{"Content-Encoding", "gzip, gzip"}, nq...), 415, problem.KindUnsupportedMedia, "Content-Encoding", ""},
		{"not gzip", "POST", "/triples", "x", append([]string{"Content-Encoding", "gzip"}, nq...), 400, problem.KindBadRequest, "Content-Encoding", "is not"},
		{"syntax", "POST", "/triples", "<http://a> <http://b> <http://c> .\n<http://a> b .\n", nq, 400, problem.KindSyntax, "body:2:12", ""},
		{"relative IRI", "POST", "/triples", "<a> <b> <c> .", []string{"Content-Type", "text/turtle"}, 400, problem.KindSyntax, "body:1:1", ""},
		{"bad blank", "POST", "/triples?blank=new", "", nq, 400, problem.KindBadParameter, "blank", "keep"},
		{"bad graph name", "POST", "/triples?graph=g", "", nq, 400, problem.KindBadParameter, "graph", "absolute IRI"},
		{"bad base", "POST", "/triples?base=g", "", nq, 400, problem.KindBadParameter, "base", ""},
		{"delete nothing named", "DELETE", "/triples", "", nil, 400, problem.KindBadRequest, "", "at least one"},
		{"delete an empty pattern", "DELETE", "/triples?s=", "", nil, 400, problem.KindBadParameter, "s", "is empty"},
		{"delete both ways", "DELETE", target("/triples", "s", "<http://a/>"), "x", nq, 400, problem.KindBadRequest, "", "give one"},
		{"delete pattern with graph", "DELETE", target("/triples", "s", "<http://a/>", "graph", "http://g/"), "", nil, 400, problem.KindBadRequest, "", "g"},
		{"delete with blank", "DELETE", "/triples?blank=keep", "x", nq, 400, problem.KindBadParameter, "blank", ""},
		{"load memory", "POST", "/load?memory=1", "", nq, 400, problem.KindBadParameter, "", "64 MiB"},
		{"load memory word", "POST", "/load?memory=2GB", "", nq, 400, problem.KindBadParameter, "memory", "2GiB"},
		{"load max-line", "POST", "/load?max-line=2GiB", "", nq, 400, problem.KindBadParameter, "max-line", "1 GiB"},
		{"load rejects", "POST", "/load?rejects=5", "", nq, 400, problem.KindBadParameter, "rejects", "keep-going"},
		{"load syntax", "POST", "/load", "<http://a> <http://b> .\n", nq, 400, problem.KindSyntax, "body:1:23", ""},
		{"other origin", "POST", "/triples", "", append([]string{"Origin", "http://evil.example"}, nq...), 403, problem.KindForbidden, "Origin", "another origin"},
		{"other site", "DELETE", target("/triples", "s", "<http://a/>"), "", []string{"Sec-Fetch-Site", "cross-site"}, 403, problem.KindForbidden, "Origin", ""},
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

func TestTargetKeepsQuery(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	first := s.get(target("/range", "order", "pos", "prefix", "<"+exampleIRI+"size>", "limit", "1", "lt", "3"))
	u, err := url.Parse(first.next(t))
	if err != nil {
		t.Fatal(err)
	}
	if q := u.Query(); u.Path != "/range" || q.Get("prefix") != "<"+exampleIRI+"size>" || q.Get("limit") != "1" || q.Get("lt") != "3" || q.Get("cursor") == "" {
		t.Errorf("the next page is at %s", first.next(t))
	}
}
