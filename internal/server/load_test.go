// Bulk loads over HTTP.

package server

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/server/triples"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

const dirty = `<http://a> <http://b> "1" .
<http://a> <http://b> .
<http://a> <http://b> "2" .
<http://a> <http://b> "2" .
<http://a> <http://b> "3
# a comment
_:x <http://b> <no scheme> .
_:x <http://b> <http://c> .
`

func load(t testing.TB, a answer) (got triples.Loaded) {
	t.Helper()
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestLoad(t *testing.T) {
	s, _ := serveTriples(t, "<http://a> <http://b> \"1\" .\n", Options{})
	nt := []string{"Content-Type", response.NTriples}
	got := load(t, s.do("POST", "/load?memory=128MiB", "<http://a> <http://b> \"1\" .\n<http://a> <http://b> \"2\" .\n_:x <http://b> _:x .\n", nt...))
	if got.Read != 3 || got.New != 2 || got.Duplicates != 1 || got.Rejected != 0 || got.ID == "" || len(got.Rejects) != 0 {
		t.Errorf("%+v", got)
	}
	got = load(t, s.do("POST", "/load?graph=http://g", "<http://a> <http://b> 5, [] .", "Content-Type", "text/turtle"))
	if got.New != 2 {
		t.Errorf("%+v", got)
	}
	got = load(t, s.do("POST", "/load?base=http://base/", "<x> <y> <z> .", "Content-Type", "text/turtle"))
	if got.New != 1 || s.get(target("/count", "s", "<http://base/x>")).body != `{"count":1,"exact":true}`+"\n" {
		t.Errorf("%+v", got)
	}
	if got := s.get(target("/count", "g", "<http://g>")).body; got != `{"count":2,"exact":true}`+"\n" {
		t.Errorf("in the graph: %s", got)
	}
	if got := load(t, s.do("POST", "/load", "", nt...)); got.Read != 0 {
		t.Errorf("an empty document: %+v", got)
	}
	if got := s.get("/count").body; got != `{"count":6,"exact":true}`+"\n" {
		t.Errorf("in all: %s", got)
	}
}

// TestLoadRDFStar: quoted triples are an error that names the parameter's flag, and are read with it.
func TestLoadRDFStar(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	line := "<< <http://s> <http://p> <http://o> >> <http://q> \"1\" .\n"
	nt := []string{"Content-Type", response.NTriples}
	s.do("POST", "/load", line, nt...).wantError(t, 400, problem.KindSyntax, "body:1:1", "--rdf-star reads it")
	if got := load(t, s.do("POST", "/load?rdf-star=true", line+strings.Replace(line, "1", "2", 1), nt...)); got.New != 3 {
		t.Errorf("%+v", got)
	}
	// Every format of a graph holds the triple term, or says that it cannot.
	for media, want := range map[string]string{"text/turtle": "<<( <http://s> <http://p> <http://o> )>>", "application/rdf+xml": `rdf:parseType="Triple"`, response.NTriples: "<<("} {
		if got := s.get("/data?default", "Accept", media); got.status != 200 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", media, got.status, got.body)
		}
	}
	s.get("/data?default", "Accept", "application/ld+json").wantError(t, 406, problem.KindNotAcceptable, "", "JSON-LD 1.1 has no triple terms")
}

func TestLoadRejects(t *testing.T) {
	s, _ := serveTriples(t, "", Options{})
	nt := []string{"Content-Type", response.NTriples}
	s.do("POST", "/load", dirty, nt...).wantError(t, 400, problem.KindSyntax, "body:2:23", "")
	if got := s.get("/count").body; got != `{"count":0,"exact":true}`+"\n" {
		t.Errorf("a stopped load changed the store: %s", got)
	}
	got := load(t, s.do("POST", "/load?keep-going=true", dirty, nt...))
	if got.Read != 4 || got.New != 3 || got.Rejected != 3 || len(got.Rejects) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []api.Reject{
		{Where: "body:2:23", Message: "", Statement: "<http://a> <http://b> ."},
		{Where: "body:5:23", Message: "", Statement: "<http://a> <http://b> \"3"},
		{Where: "body:7:19", Message: "", Statement: "_:x <http://b> <no scheme> ."},
	} {
		if r := got.Rejects[i]; r.Where != want.Where || r.Message == "" || r.Statement != want.Statement {
			t.Errorf("rejected %+v, want %+v", r, want)
		}
	}
	got = load(t, s.do("POST", "/load?keep-going=true&rejects=1", dirty, nt...))
	if got.Rejected != 3 || len(got.Rejects) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestOneLoadAtATime: a second load is sent away while one runs.
func TestOneLoadAtATime(t *testing.T) {
	seed.Slow(t)
	s, _ := serveTriples(t, "", Options{})
	r, w := io.Pipe()
	first := make(chan answer)
	go func() { first <- s.send("POST", "/load", r, "Content-Type", response.NTriples) }()
	fmt.Fprintf(w, "<http://a> <http://b> \"1\" .\n")
	await.Condition(t, "the load to begin", func() bool { return len(s.api.triples.Loads) == 1 })
	got := s.do("POST", "/load", "", "Content-Type", response.NTriples)
	got.wantError(t, 503, problem.KindBusy, "", "another bulk load")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("header %v", got.header)
	}
	// Small changes and reads go on.
	if got := s.do("POST", "/triples", "<http://a> <http://b> \"1\" .\n", "Content-Type", response.NTriples); got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
	w.Close()
	if got := load(t, <-first); got.Read != 1 {
		t.Errorf("%+v", got)
	}
}
