// Whole graphs, DESCRIBE, and results as documents.

package client_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/triple"
)

// TestGraphs checks every method on a named graph, the default graph and the dataset.
func TestGraphs(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	const named = client.GraphName(ex + "g")
	count := func(g client.GraphName, want int) {
		t.Helper()
		if got := collect(t, c.Graphs.Triples(ctx, g)); len(got) != want {
			t.Errorf("graph %q has %v, want %d triples", g, got, want)
		}
	}
	// 1. Each graph by itself.
	for _, g := range []client.GraphName{named, client.DefaultGraph} {
		if _, err := c.Graphs.Put(ctx, g, "text/turtle", []byte("<x:a> <x:p> 1, 2 .")); err != nil {
			t.Fatal(err)
		}
		r, err := c.Graphs.Post(ctx, g, "text/turtle", []byte("<x:a> <x:p> 2, 3 ."))
		if err != nil || r.Added != 1 || r.Existing != 1 {
			t.Errorf("post to %q: %+v, %v", g, r, err)
		}
		count(g, 3)
	}
	document, err := c.Graphs.Get(ctx, named, "application/n-triples")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(document)
	if err := errors.Join(err, document.Close()); err != nil || strings.Count(string(text), "<x:a> <x:p>") != 3 {
		t.Errorf("%s, %v", text, err)
	}
	// 2. The dataset.
	count(client.Dataset, 6)
	if r, err := c.Graphs.Post(ctx, client.Dataset, "application/n-quads", []byte("<x:b> <x:p> <x:o> <x:h> .\n")); err != nil || r.Added != 1 {
		t.Errorf("post to the dataset: %+v, %v", r, err)
	}
	if r, err := c.Graphs.Delete(ctx, named); err != nil || r.Deleted != 3 {
		t.Errorf("delete: %+v, %v", r, err)
	}
	count(client.Dataset, 4)
	if _, err := c.Graphs.Put(ctx, client.Dataset, "application/trig", []byte("<x:c> <x:p> 1 .")); err != nil {
		t.Fatal(err)
	}
	count(client.Dataset, 1)
	// 3. Errors.
	if _, err := c.Graphs.Delete(ctx, named); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("delete a missing graph: %v", err)
	}
	if _, err := c.Graphs.Get(ctx, named, "text/turtle"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("read a missing graph: %v", err)
	}
	if _, err := c.Graphs.Delete(ctx, client.Dataset); err == nil {
		t.Error("a dataset was deleted")
	}
	if _, err := c.Graphs.Put(ctx, named, "text/turtle", []byte("<x:a> <")); !errors.Is(err, client.ErrSyntax) {
		t.Errorf("a malformed document: %v", err)
	}
}

// TestDescribe checks the triples of a resource, and results in the node's own formats.
func TestDescribe(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	all := numbered(3)
	if _, err := c.Add(ctx, all); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, c.SPARQL.Describe(ctx, all[1].Subject)); len(got) != 1 || got[0] != all[1] {
		t.Errorf("%v", got)
	}
	for _, err := range c.SPARQL.Describe(ctx, triple.NewString("x")) {
		if err == nil {
			t.Error("a literal was described")
		}
	}
	document, err := c.SPARQL.Document(ctx, "SELECT ?s { ?s ?p ?o } ORDER BY ?s", "text/csv", client.QueryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(document)
	if err := errors.Join(err, document.Close()); err != nil || strings.Count(string(text), "\n") != 4 || !strings.HasPrefix(string(text), "s\r\n") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := c.SPARQL.Document(ctx, "SELECT", "text/csv", client.QueryOptions{}); !errors.Is(err, client.ErrSyntax) {
		t.Errorf("a malformed query: %v", err)
	}
}
