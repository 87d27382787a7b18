// Queries and updates of a client.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// hostile are texts that a program might be made to bind.
var hostile = []string{
	"", "plain", `"`, `\`, `\"`, `" } UNION { ?s ?p ?o } #`, "'''", `"""`, "\n", "\r\n", "\t", "\u2028", "\x00", `\u0022`, "?x", "$x",
	"} ; DROP ALL ; INSERT DATA {", "#", "\u00e9\U0001F600", "%22", "&query=ASK", strings.Repeat(`"\`, 1000),
}

func solutions(t testing.TB, seq func(func(client.Solution, error) bool)) (all []client.Solution) {
	t.Helper()
	for s, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestQuery(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	ctx := t.Context()
	if _, err := store.Add(ctx, db, numbered(1000)); err != nil {
		t.Fatal(err)
	}
	all := solutions(t, c.Query(ctx, `SELECT ?s ?o ?none { ?s <`+ex+`p> ?o } ORDER BY ?s`, client.QueryOptions{}))
	for i, want := range numbered(1000) {
		s := all[i]
		if s.Term("s") != want.Subject || s.Term("o") != want.Object || fmt.Sprint(s.Vars()) != "[s o none]" || len(s.Terms()) != 3 {
			t.Fatalf("solution %d: %v; want %v", i, s, want)
		}
		if _, bound := s.Lookup("none"); bound || !s.Term("other").IsZero() {
			t.Fatal("terms from nowhere")
		}
		n := 0
		for name, term := range s.All() {
			if n++; s.Term(name) != term {
				t.Fatalf("%s is %v", name, term)
			}
		}
		if n != 2 {
			t.Fatalf("%d bound", n)
		}
	}
	if len(all) != 1000 {
		t.Errorf("%d solutions", len(all))
	}
	if got := solutions(t, c.SPARQL.Select(ctx, `?s <`+ex+`p> ?o . ?s ?p ?o`, client.QueryOptions{})); len(got) != 1000 || got[0].Term("p").IsZero() {
		t.Errorf("pattern: %d solutions", len(got))
	}
	if yes, err := c.Ask(ctx, `ASK { ?s ?p ?o }`, client.QueryOptions{}); err != nil || !yes {
		t.Errorf("ask: %v %v", yes, err)
	}
	if got := collect(t, c.Construct(ctx, `CONSTRUCT WHERE { ?s ?p ?o }`, client.QueryOptions{})); len(got) != 1000 {
		t.Errorf("construct: %d triples", len(got))
	}
	if got := collect(t, c.Construct(ctx, `DESCRIBE <`+ex+`aaa>`, client.QueryOptions{})); len(got) != 1 {
		t.Errorf("describe: %d triples", len(got))
	}
}

// A loop that is left ends the query on the node: the store closes, with no
// snapshot left, when the test has ended.
func TestQueryLeft(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	if _, err := store.Add(t.Context(), db, numbered(1000)); err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Query(t.Context(), `SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`, client.QueryOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

// TestTripleTerms: results and graphs have terms of RDF 1.2, and values may be such terms.
func TestTripleTerms(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	ctx := t.Context()
	term := triple.NewTripleTerm(triple.NewIRI("e:a"), triple.NewIRI("e:p"), triple.NewLang("x", "ar--rtl"))
	if _, err := c.Update(ctx, `INSERT DATA { <e:a> <e:p> "x"@ar--rtl ~ <e:r> {| <e:source> 1 |} }`, client.QueryOptions{}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for s, err := range c.Query(ctx, `SELECT ?t ?o { ?r ?p ?t BIND(OBJECT(?t) AS ?o) }`, client.QueryOptions{Bind: map[string]triple.Term{"t": term}}) {
		if n++; err != nil || s.Term("t") != term || s.Term("o") != triple.NewLang("x", "ar--rtl") {
			t.Errorf("%v %v", s, err)
		}
	}
	for tr, err := range c.Construct(ctx, `CONSTRUCT { ?r <e:about> ?t } { ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> ?t }`, client.QueryOptions{}) {
		if n++; err != nil || tr.Object != term {
			t.Errorf("%v %v", tr, err)
		}
	}
	if n != 2 {
		t.Errorf("%d answers, want 2", n)
	}
}

func TestUpdate(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	ctx := t.Context()
	for _, step := range []struct {
		update string
		o      client.QueryOptions
		want   client.UpdateResult
	}{
		{`INSERT DATA { <e:a> <e:p> 1, 2 . GRAPH <e:g> { <e:a> <e:p> 3 } }`, client.QueryOptions{}, client.UpdateResult{Added: 3, Isolation: "snapshot"}},
		{`INSERT { ?s <e:q> ?o } WHERE { ?s <e:p> ?o }`, client.QueryOptions{DefaultGraphs: []string{"e:g"}}, client.UpdateResult{Added: 1, Isolation: "snapshot"}},
		{`DELETE WHERE { ?s <e:p> ?o }`, client.QueryOptions{Bind: map[string]triple.Term{"o": triple.NewTyped("2", triple.XSDInteger)}},
			client.UpdateResult{Deleted: 1, Isolation: "snapshot"}},
	} {
		got, err := c.Update(ctx, step.update, step.o)
		if err != nil || got != step.want {
			t.Errorf("%s: %+v %v", step.update, got, err)
		}
	}
	yes, err := c.Ask(ctx, `ASK { <e:a> <e:p> 3 }`, client.QueryOptions{DefaultGraphs: []string{"e:g"}})
	if err != nil || !yes {
		t.Errorf("default graph: %v %v", yes, err)
	}
	yes, err = c.Ask(ctx, `ASK { GRAPH ?g { <e:a> <e:p> 3 } }`, client.QueryOptions{NamedGraphs: []string{"e:none"}})
	if err != nil || yes {
		t.Errorf("named graph: %v %v", yes, err)
	}
}

// An update that an earlier try has done returns Repeated, without counts.
func TestRepeatedUpdate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"repeated":true}`) }))
	t.Cleanup(server.Close)
	got, err := newClient(t, server.URL, client.Options{}).Update(t.Context(), `CLEAR ALL`, client.QueryOptions{})
	if err != nil || got != (client.UpdateResult{Repeated: true}) {
		t.Errorf("%+v %v", got, err)
	}
}

// TestBind: a value that is bound is found, whatever it holds, and does nothing
// else.
func TestBind(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	ctx := t.Context()
	var values []triple.Term
	for _, text := range hostile {
		values = append(values, triple.NewString(text), triple.NewLang(text, "en"), triple.NewTyped(text, "http://e/type"))
	}
	values = append(values, triple.NewTyped("01", triple.XSDInteger), triple.NewTyped("1", triple.XSDInteger), triple.NewIRI("http://e/?a=b&c=%22#d"))
	var all []triple.Triple
	for i, v := range values {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprint(ex, i)), Predicate: triple.NewIRI(ex + "p"), Object: v})
	}
	if _, err := store.Add(ctx, db, all); err != nil {
		t.Fatal(err)
	}
	for i, v := range values {
		o := client.QueryOptions{Bind: map[string]triple.Term{"v": v}}
		for _, query := range []string{
			`SELECT ?s ?v { ?s <` + ex + `p> ?v }`,
			`SELECT ?s ?v { { ?s <` + ex + `p> ?o FILTER(sameTerm(?o, ?v)) } UNION { ?s <` + ex + `q> ?v } }`,
		} {
			got := solutions(t, c.Query(ctx, query, o))
			if len(got) != 1 || got[0].Term("s") != all[i].Subject || got[0].Term("v") != v {
				t.Fatalf("%q: %v", v, got)
			}
		}
		result, err := c.Update(ctx, `DELETE { ?s ?p ?v } INSERT { ?s <`+ex+`q> ?v } WHERE { ?s ?p ?v }`, client.QueryOptions{Bind: o.Bind})
		if err != nil || result != (client.UpdateResult{Added: 1, Deleted: 1, Isolation: "snapshot"}) {
			t.Fatalf("%q: %+v %v", v, result, err)
		}
	}
	if n, err := c.Count(ctx, triple.Pattern{}); err != nil || n != int64(len(all)) {
		t.Errorf("%d triples are left of %d, %v", n, len(all), err)
	}
	for words, o := range map[string]client.QueryOptions{
		"no variable ?y":      {Bind: map[string]triple.Term{"y": triple.NewString("a")}},
		"the value of ?v":     {Bind: map[string]triple.Term{"v": triple.NewIRI("http://e/> } DROP ALL #")}},
		"no IRI or literal":   {Bind: map[string]triple.Term{"v": triple.NewBlank("b")}},
		"default-graph-uri: ": {DefaultGraphs: []string{"> DROP"}},
	} {
		for _, err := range c.Query(ctx, `SELECT * { ?s ?p ?v }`, o) {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v; want %s", err, words)
			}
		}
	}
}

func TestQueryErrors(t *testing.T) {
	url, db := startNode(t, server.Options{})
	tries := newNetwork(t, func(int, *http.Request) fate { return fate{} })
	c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: tries}})
	if _, err := store.Add(t.Context(), db, numbered(1000)); err != nil {
		t.Fatal(err)
	}
	one := func(query string, o client.QueryOptions) error {
		for _, err := range c.Query(t.Context(), query, o) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := one("SELECT *\nWHERE { ?s ?p }", client.QueryOptions{})
	var e *client.Error
	if !errors.Is(err, client.ErrSyntax) || !errors.As(err, &e) || e.Line != 2 || e.Column != 15 || e.Where != "query:2:15" {
		t.Errorf("syntax: %v %+v", err, e)
	}
	if err := one(`SELECT * { ?s ?p }`, client.QueryOptions{Bind: map[string]triple.Term{"s": triple.NewString("")}}); !strings.Contains(err.Error(), "1:18: ") {
		t.Errorf("syntax with bindings: %v", err)
	}
	for _, err := range c.SPARQL.Select(t.Context(), `?s ?p`, client.QueryOptions{}) {
		var bad *triple.SyntaxError
		if !errors.As(err, &bad) || bad.Column != 6 {
			t.Errorf("pattern: %v", err)
		}
	}
	before := tries.requests()
	const slow = `SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(?a != ?d || ?f != ?i) }`
	if err := one(slow, client.QueryOptions{Timeout: 20 * time.Millisecond}); !errors.Is(err, client.ErrQueryTimeout) {
		t.Errorf("timeout: %v", err)
	}
	if n := tries.requests() - before; n != 1 {
		t.Errorf("a query that is too slow was sent %d times", n)
	}
	if err := one(`SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`, client.QueryOptions{Timeout: 100 * time.Millisecond}); err == nil {
		t.Error("a result that broke off was taken for complete")
	}
	for _, err := range c.Construct(t.Context(), `SELECT * {}`, client.QueryOptions{}) {
		if !errors.Is(err, client.ErrNotAcceptable) || !strings.Contains(err.Error(), "Client.Query") {
			t.Errorf("SELECT given to Construct: %v", err)
		}
	}
	if err := one(`ASK {}`, client.QueryOptions{}); err == nil || !strings.Contains(err.Error(), "Client.Ask") {
		t.Errorf("ASK given to Query: %v", err)
	}
	if err := one(`CONSTRUCT WHERE { ?s ?p ?o }`, client.QueryOptions{}); !errors.Is(err, client.ErrNotAcceptable) {
		t.Errorf("CONSTRUCT given to Query: %v", err)
	}
	if _, err := c.Ask(t.Context(), `SELECT * {}`, client.QueryOptions{}); err == nil || !strings.Contains(err.Error(), "Client.Query") {
		t.Errorf("SELECT given to Ask: %v", err)
	}
	if _, err := c.Update(t.Context(), "\nDROP", client.QueryOptions{}); !errors.As(err, &e) || e.Where != "update:2:5" {
		t.Errorf("update: %v", err)
	}
}

// stranger is an answer that no node of the test gave.
func stranger(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), ProtoMajor: 1, ProtoMinor: 1}
}

func TestSPARQLRetries(t *testing.T) {
	url, _ := startNode(t, server.Options{})
	busy := func() *http.Response { return stranger(503, `{"error":{"kind":"busy","message":"busy","where":""}}`) }
	for _, test := range []struct {
		name   string
		fate   func(n int) fate
		update bool
		tries  int
		works  bool
	}{
		{"query refused", func(n int) fate { return fate{refuse: n < 2} }, false, 3, true},
		{"query lost", func(n int) fate { return fate{lose: n < 2} }, false, 3, true},
		{"query broken off", func(int) fate { return fate{cut: 60} }, false, 1, false},
		{"update busy", func(n int) fate {
			if n < 2 {
				return fate{instead: busy()}
			}
			return fate{}
		}, true, 3, true},
		{"update refused", func(n int) fate { return fate{refuse: n < 1} }, true, 2, true},
		{"update lost", func(n int) fate { return fate{lose: n < 1} }, true, 2, true},
		{"update unavailable", func(int) fate {
			return fate{instead: stranger(503, `{"error":{"kind":"unavailable","message":"ending","where":""}}`)}
		}, true, 1, false},
	} {
		net := newNetwork(t, func(n int, _ *http.Request) fate { return test.fate(n) })
		c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: net}})
		var err error
		if test.update {
			_, err = c.Update(t.Context(), `INSERT DATA { <e:s> <e:p> 1 }`, client.QueryOptions{})
		} else {
			for _, e := range c.Query(t.Context(), `SELECT ?x { VALUES ?x { 1 2 3 4 5 6 } }`, client.QueryOptions{}) {
				err = errors.Join(err, e)
			}
		}
		if (err == nil) != test.works || net.requests() != test.tries {
			t.Errorf("%s: %d tries, %v", test.name, net.requests(), err)
		}
		if test.name == "query broken off" && !strings.Contains(fmt.Sprint(err), "the answer broke off before its end") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestExplain(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	if _, err := store.Add(t.Context(), db, numbered(100)); err != nil {
		t.Fatal(err)
	}
	const query = `SELECT * { ?s <` + ex + `p> ?o }`
	got, err := c.Explain(t.Context(), query, false, client.QueryOptions{})
	if err != nil || got.Ran || got.Plan == nil || got.Plan.Operator == "" || got.Rows != 0 || got.Form != "SELECT" {
		t.Errorf("%+v %v", got, err)
	}
	got, err = c.Explain(t.Context(), query, true, client.QueryOptions{})
	if err != nil || !got.Ran || got.Rows != 100 || got.RowsRead != 100 || got.Plan.Rows != 100 || got.Plan.TotalReads() != 100 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestQueryCancelled(t *testing.T) {
	url, db := startNode(t, server.Options{})
	c := newClient(t, url, client.Options{})
	if _, err := store.Add(t.Context(), db, numbered(1000)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range c.Query(ctx, `SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`, client.QueryOptions{}) {
		if n++; n == 10 {
			cancel()
		}
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			return
		}
	}
	t.Error("a cancelled query ended well")
}

// TestCancelledBody: an error of a cancelled query is that of its context, also if net/http returns
// only that the cancellation closed the connection.
func TestCancelledBody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w := newNetwork(t, func(int, *http.Request) fate {
		header := http.Header{"Content-Type": {"application/sparql-results+json"}}
		body := &closedBody{strings.NewReader(`{"head":{"vars":["a"]},"results":{"bindings":[{"a":{"type":"uri","value":"e:a"}},`)}
		return fate{instead: &http.Response{StatusCode: http.StatusOK, Header: header, Body: body, ProtoMajor: 1, ProtoMinor: 1}}
	})
	c := newClient(t, "http://node.invalid", client.Options{HTTPClient: &http.Client{Transport: w}})
	var last error
	for _, last = range c.Query(ctx, `SELECT ?a { ?a ?b ?c }`, client.QueryOptions{}) {
		cancel()
	}
	if !errors.Is(last, context.Canceled) || !errors.Is(last, net.ErrClosed) {
		t.Errorf("%v", last)
	}
}

// closedBody is a body whose connection closes after its text.
type closedBody struct{ *strings.Reader }

func (b *closedBody) Read(p []byte) (int, error) {
	if n, _ := b.Reader.Read(p); n > 0 {
		return n, nil
	}
	return 0, net.ErrClosed
}

func (b *closedBody) Close() error { return nil }
