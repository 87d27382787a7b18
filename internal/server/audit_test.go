// Tests of the audit log.

package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/audit"
	"github.com/trefoildb/trefoil/internal/server/access"
)

// TestAudit: each change and each request of operators is a record, also a refused one, and a read is none. No
// record has a secret or data.
func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	log, err := audit.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	limited := newUser("limited", "write")
	limited.WriteGraphs = []string{"urn:g:1"}
	s, _ := serveTriples(t, "<urn:s> <urn:p> \"d\" .\n<urn:s> <urn:p> \"2\" <urn:g:2> .\n", Options{
		Audit: log, OperatorToken: "secret-token", Users: []access.User{newUser("writer", "write", "load"), limited, newUser("admin", "admin")},
	})
	var many, manyNames = "", []string{}
	for _, c := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ" {
		many += "<urn:a> <urn:b> <urn:c> <urn:g:" + string(c) + "> .\n"
		manyNames = append(manyNames, "urn:g:"+string(c))
	}
	manyNames = append(manyNames[:32], "...")
	for _, c := range []struct {
		method, target, contentType, body string
		headers                           []string
		want                              audit.Record
	}{
		{"POST", "/triples", "application/n-quads", "<urn:a> <urn:b> <urn:secret> .\n<urn:a> <urn:b> <urn:secret> <urn:g:1> .", basic("writer", "writer"),
			audit.Record{User: "user:writer", Path: "/triples", Right: "write", Status: 200, Graphs: []string{"default", "urn:g:1"}, Added: 2}},
		{"DELETE", "/triples?p=%3Curn:b%3E", "", "", basic("writer", "writer"),
			audit.Record{User: "user:writer", Path: "/triples", Right: "write", Status: 200, Graphs: []string{"all"}, Deleted: 2}},
		{"POST", "/triples", "application/n-quads", "<urn:a> <urn:b> <urn:c> <urn:g:2> .", basic("limited", "limited"),
			audit.Record{User: "user:limited", Path: "/triples", Right: "write", Status: 403, Graphs: []string{"urn:g:2"}}},
		{"PUT", "/data?graph=urn:g:2", "text/turtle", "<urn:a> <urn:b> <urn:c>, <urn:d> .", []string{"Authorization", "Bearer writer:writer"},
			audit.Record{User: "user:writer", Path: "/data", Right: "write", Status: 204, Graphs: []string{"urn:g:2"}, Added: 2, Deleted: 1}},
		{"POST", "/sparql", "application/sparql-update", "INSERT { GRAPH <urn:g:3> { ?s ?p ?o } } WHERE { ?s ?p ?o }", basic("writer", "writer"),
			audit.Record{User: "user:writer", Path: "/sparql", Right: "write", Status: 200, Graphs: []string{"urn:g:3"}, Added: 1}},
		{"POST", "/triples", "application/n-quads", many, basic("writer", "writer"),
			audit.Record{User: "user:writer", Path: "/triples", Right: "write", Status: 200, Graphs: manyNames, Added: 36}},
		{"POST", "/load", "application/n-quads", "<urn:l> <urn:l> <urn:l> <urn:g:l> .", basic("writer", "writer"),
			audit.Record{User: "user:writer", Path: "/load", Right: "load", Status: 200, Graphs: []string{"urn:g:l"}, Added: 1}},
		{"POST", "/load", "application/n-quads", "", basic("admin", "secret-guess"), audit.Record{Path: "/load", Right: "load", Status: 401}},
		{"GET", "/queries", "", "", []string{"Authorization", "Bearer secret-token"}, audit.Record{User: "operator", Path: "/queries", Right: "admin", Status: 200}},
		{"GET", "/backup", "", "", basic("writer", "writer"), audit.Record{User: "user:writer", Path: "/backup", Right: "admin", Status: 403}},
		{"GET", "/count", "", "", basic("writer", "writer"), audit.Record{}},
		{"POST", "/sparql", "application/sparql-query", "SELECT * { ?s ?p ?o }", basic("writer", "writer"), audit.Record{}},
		{"GET", "/healthz", "", "", nil, audit.Record{}},
	} {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
		headers := append([]string{"X-Request-Id", "the-request"}, c.headers...)
		if c.contentType != "" {
			headers = append(headers, "Content-Type", c.contentType)
		}
		s.do(c.method, c.target, c.body, headers...)
		s.idle()
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if c.want.Path == "" {
			if len(text) > 0 {
				t.Errorf("%s %s is a record: %s", c.method, c.target, text)
			}
			continue
		}
		var got audit.Record
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s %s: %q: %v", c.method, c.target, text, err)
		}
		if got.Time.IsZero() || got.Remote == "" || strings.Contains(string(text), "secret") {
			t.Errorf("%s %s: %s", c.method, c.target, text)
		}
		c.want.Time, c.want.Remote, c.want.Method, c.want.Request = got.Time, got.Remote, c.method, "the-request"
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: %s\nwant %+v", c.method, c.target, text, c.want)
		}
	}
}
