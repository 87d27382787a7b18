// HTTP's method QUERY (RFC 10008) at /sparql.

package server

import (
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/sparql"
)

// gzipped returns a text in one member of gzip.
func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// query sends a QUERY with a body of a type; "" is none.
func (s *testServer) query(target, contentType, body string, headers ...string) answer {
	s.t.Helper()
	if contentType != "" {
		headers = append(headers, "Content-Type", contentType)
	}
	return s.do(endpoint.MethodQuery, target, body, headers...)
}

// TestQueryMethod checks that QUERY answers queries as POST does, and refuses all else.
func TestQueryMethod(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	const construct, utf8 = "CONSTRUCT WHERE { ?s <http://ex/name> ?n }", sparql.TypeQuery + "; charset=utf-8"
	form := func(parameters ...string) string { return strings.TrimPrefix(target("", parameters...), "?") }
	// 1. All forms of bodies and parameters, at all names of the endpoint.
	for _, c := range []struct{ target, contentType, body, accept string }{
		{"/sparql", sparql.TypeQuery, names, ""},
		{"/query", utf8, names, "text/csv"},
		{"/update", sparql.TypeForm, form("query", names), ""},
		{"/sparql/", sparql.TypeForm, form("query", names, "default-graph-uri", "http://ex/g1", "format", "tsv"), ""},
		{target("/sparql", "named-graph-uri", "http://ex/g2", "format", "xml"), sparql.TypeQuery, "SELECT * { GRAPH ?g { ?s ?p ?o } }", ""},
		{target("/sparql", "$n", `"Ada"`), sparql.TypeQuery, names, ""},
		{"/sparql", sparql.TypeQuery, construct, "application/n-triples"},
		{"/sparql", sparql.TypeQuery, "ASK {}", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
		{"/sparql?explain=true", sparql.TypeQuery, names, ""},
	} {
		headers := []string{"Content-Type", c.contentType, "Accept", c.accept}
		got, want := s.do(endpoint.MethodQuery, c.target, c.body, headers...), s.do("POST", c.target, c.body, headers...)
		if got.status != 200 || got.body != want.body || got.header.Get("Content-Type") != want.header.Get("Content-Type") {
			t.Errorf("%s %s: %d %s\nPOST: %d %s", c.target, c.body, got.status, got.body, want.status, want.body)
		}
	}
	// 2. Updates, and bodies that are no query.
	const noData = "QUERY changes no data"
	for _, c := range []struct {
		target, contentType, body string
		status                    int
		kind                      problem.Kind
		where, words              string
	}{
		{"/sparql", sparql.TypeUpdate, "CLEAR ALL", 415, problem.KindUnsupportedMedia, "Content-Type", noData},
		{"/update", sparql.TypeForm, "update=CLEAR+ALL", 400, problem.KindBadRequest, "update", noData},
		{"/sparql", sparql.TypeForm, "update=CLEAR+ALL&query=ASK+%7B%7D", 400, problem.KindBadRequest, "", "both"},
		{"/sparql?update=CLEAR+ALL", sparql.TypeForm, "", 400, problem.KindBadRequest, "update", noData},
		{"/sparql?update=CLEAR+ALL", sparql.TypeQuery, "ASK {}", 400, problem.KindBadRequest, "", "give one"},
		{"/sparql", sparql.TypeQuery, "CLEAR ALL", 400, problem.KindSyntax, "query:1:1", ""},
		{"/sparql", "", "ASK {}", 400, problem.KindBadRequest, "Content-Type", "is missing"},
		{"/sparql?query=ASK+%7B%7D", "", "", 400, problem.KindBadRequest, "Content-Type", "is missing"},
		{"/sparql?query=ASK+%7B%7D", sparql.TypeQuery, "ASK {}", 400, problem.KindBadRequest, "", "give one"},
		{"/sparql", sparql.TypeForm, "", 400, problem.KindBadRequest, "query", "is missing"},
		{"/sparql", "application/json", "{}", 415, problem.KindUnsupportedMedia, "Content-Type", sparql.TypeQuery},
		{"/sparql", sparql.TypeQuery + "; charset=latin1", "ASK {}", 415, problem.KindUnsupportedMedia, "Content-Type", "UTF-8"},
		{"/data", sparql.TypeQuery, "ASK {}", 405, problem.KindMethod, "", "does not take QUERY"},
		{"/triples", sparql.TypeQuery, "ASK {}", 405, problem.KindMethod, "", "does not take QUERY"},
	} {
		got := s.query(c.target, c.contentType, c.body)
		got.wantError(t, c.status, c.kind, c.where, c.words)
		if takes := got.header.Get("Accept-Query"); (takes != "") != (c.status != 405) {
			t.Errorf("%s: Accept-Query %q", c.target, takes)
		}
	}
	if got := s.get("/count"); !strings.Contains(got.body, `"count":6,`) {
		t.Errorf("a QUERY changed something: %s", got.body)
	}
	// 3. A long text, compressed: the limits of POST hold.
	var random strings.Builder
	for range 1 << 17 {
		fmt.Fprintf(&random, " %016x", rand.Uint64())
	}
	long := names + "#" + random.String()
	if got := s.query("/sparql", sparql.TypeQuery, gzipped(t, long), "Content-Encoding", "gzip"); got.status != 200 {
		t.Errorf("a long query: %d %s", got.status, got.body)
	}
	s.query("/sparql", sparql.TypeQuery, gzipped(t, strings.Repeat(long, 10)), "Content-Encoding", "gzip").wantError(t, 413, problem.KindTooLarge, "", "")
}

// TestQueryMethodTags checks that a tag is of the content, its parameters and its type, and lasts until a triple changes.
func TestQueryMethodTags(t *testing.T) {
	s, db := serveTriples(t, people, Options{})
	const all = "SELECT * { ?s ?p ?o }"
	tag := s.query("/sparql", sparql.TypeQuery, all).header.Get("ETag")
	if again := s.query("/sparql", sparql.TypeQuery, all, "If-None-Match", tag); tag == "" || again.status != 304 || again.body != "" || again.header.Get("ETag") != tag {
		t.Errorf("%q: %d %v", tag, again.status, again.header)
	}
	for _, other := range [][3]string{{"/sparql", sparql.TypeQuery, names}, {"/sparql", sparql.TypeForm, "query=" + names}, {"/sparql?default-graph-uri=http://ex/g1", sparql.TypeQuery, all},
		{"/sparql?format=csv", sparql.TypeQuery, all}, {"/sparql", sparql.TypeForm, "query=" + all + "&default-graph-uri=http://ex/g1"}} {
		if got := s.query(other[0], other[1], other[2], "If-None-Match", tag); got.status != 200 || got.header.Get("ETag") == tag || got.header.Get("ETag") == "" {
			t.Errorf("%v: %d %v", other, got.status, got.header)
		}
	}
	if got := s.query("/sparql", sparql.TypeQuery, "SELECT (NOW() AS ?n) {}"); got.header.Get("ETag") != "" {
		t.Errorf("an answer that changes has a tag: %v", got.header)
	}
	if got := s.do("POST", "/sparql", all, "Content-Type", sparql.TypeQuery, "If-None-Match", tag); got.status != 200 || got.header.Get("ETag") != "" {
		t.Errorf("POST: %d %v", got.status, got.header)
	}
	addQuads(t, db, `<http://ex/new> <http://ex/p> "a" .`)
	if got := s.query("/sparql", sparql.TypeQuery, all, "If-None-Match", tag); got.status != 200 || got.header.Get("ETag") == tag {
		t.Errorf("after a change: %d %v", got.status, got.header)
	}
}

// TestQueryMethodIsNamed checks what tells clients, pages and operators of the method: Allow, Accept-Query, the preflight,
// rights and the labels of metrics.
func TestQueryMethodIsNamed(t *testing.T) {
	const takes = "application/sparql-query, application/x-www-form-urlencoded"
	s, _ := serveTriples(t, people, Options{AllowOrigins: []string{pageOrigin}, Users: []access.User{newUser("reader", "read"), newUser("loader", "load")}})
	reader := basic("reader", "reader")
	for _, path := range []string{"/sparql", "/query", "/update"} {
		options := s.do("OPTIONS", path, "", "Origin", pageOrigin, "Access-Control-Request-Method", "QUERY", "Access-Control-Request-Headers", "content-type")
		refused := s.do("PATCH", path, "", reader...)
		for name, got := range map[string]string{"Allow": options.header.Get("Allow"), "the preflight": options.header.Get("Access-Control-Allow-Methods"), "Allow of 405": refused.header.Get("Allow")} {
			if !slices.Contains(strings.Split(got, ", "), "QUERY") {
				t.Errorf("%s: %s has %q", path, name, got)
			}
		}
		for name, got := range map[string]answer{"OPTIONS": options, "405": refused, "GET": s.get(path, reader...), "HEAD": s.do("HEAD", path, "", reader...)} {
			if value := got.header.Get("Accept-Query"); value != takes {
				t.Errorf("%s: Accept-Query of %s is %q", path, name, value)
			}
		}
	}
	// A page of another origin may query. It needs no trust, because nothing changes.
	got := s.query("/sparql", sparql.TypeQuery, names, append(reader, "Origin", pageOrigin)...)
	if exposed := got.header.Get("Access-Control-Expose-Headers"); got.status != http.StatusOK || !strings.Contains(exposed, "Accept-Query") {
		t.Errorf("a page: %d %v", got.status, got.header)
	}
	for who, status := range map[string]int{"reader": 200, "loader": 403} {
		if got := s.query("/sparql", sparql.TypeQuery, names, basic(who, who)...); got.status != status {
			t.Errorf("%s: %d %s", who, got.status, got.body)
		}
	}
	if got := s.query("/sparql", sparql.TypeQuery, names); got.status != 401 {
		t.Errorf("nobody: %d", got.status)
	}
	metrics := s.get("/metrics", reader...).body
	if !strings.Contains(metrics, `endpoint="/sparql",method="QUERY",status="200"} 2`) {
		t.Errorf("no metric of QUERY:\n%s", strings.Join(slices.DeleteFunc(strings.Split(metrics, "\n"), func(l string) bool { return !strings.Contains(l, "/sparql") }), "\n"))
	}
}
