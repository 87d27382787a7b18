// The SPARQL protocol, result formats, service description and plans.

package server

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/sparql"
)

const people = `<http://ex/ada> <http://ex/name> "Ada" .
<http://ex/ada> <http://ex/age> "36"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://ex/mary> <http://ex/name> "Mary"@en .
<http://ex/mary> <http://ex/knows> <http://ex/ada> .
<http://ex/bob> <http://ex/name> "Bob" <http://ex/g1> .
<http://ex/eve> <http://ex/name> "Eve" <http://ex/g2> .
`

const names = `SELECT ?n { ?s <http://ex/name> ?n } ORDER BY ?n`

// ask sends a query by GET.
func (s *testServer) ask(query string, more ...string) answer {
	s.t.Helper()
	headers := []string{}
	parameters := []string{"query", query}
	for i := 0; i < len(more); i += 2 {
		if more[i] == "Accept" {
			headers = append(headers, more[i], more[i+1])
		} else {
			parameters = append(parameters, more[i], more[i+1])
		}
	}
	return s.get(target("/sparql", parameters...), headers...)
}

// tsv returns the answer to a query as lines of TSV, without the head.
func (s *testServer) tsv(query string, more ...string) string {
	s.t.Helper()
	got := s.ask(query, append(more, "format", "tsv")...)
	if got.status != 200 {
		s.t.Fatalf("%s: %d %s", query, got.status, got.body)
	}
	_, rest, _ := strings.Cut(got.body, "\n")
	return rest
}

// TestProtocol is the SPARQL 1.1 Protocol, operation by operation: the cases of
// its test suite and more. A case is checked by what the answer holds, an error by
// its status.
func TestProtocol(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	form := func(parameters ...string) string { return strings.TrimPrefix(target("", parameters...), "?") }
	const boolean, ask = `"boolean":true`, `ASK { ?s <http://ex/name> "Ada" }`
	const inG1, inG2 = `ASK { ?s <http://ex/name> "Bob" }`, `ASK { ?s <http://ex/name> "Eve" }`
	const insert = `INSERT DATA { <http://ex/new> <http://ex/p> 1 }`
	for name, test := range map[string]struct {
		method, target, body, contentType string
		status                            int
		holds                             string
	}{
		"query by GET":                  {"GET", target("/sparql", "query", ask), "", "", 200, boolean},
		"query by form":                 {"POST", "/sparql", form("query", ask), sparql.TypeForm, 200, boolean},
		"query by form, charset":        {"POST", "/sparql", form("query", ask), sparql.TypeForm + "; charset=UTF-8", 200, boolean},
		"query by POST":                 {"POST", "/sparql", ask, sparql.TypeQuery, 200, boolean},
		"query by POST, charset":        {"POST", "/sparql", ask, sparql.TypeQuery + "; charset=utf-8", 200, boolean},
		"type in capitals":              {"POST", "/sparql", ask, "Application/SPARQL-Query", 200, boolean},
		"plus is a space":               {"GET", "/sparql?query=ASK+%7B+%3Fs+%3Fp+%22Ada%22+%7D", "", "", 200, boolean},
		"escaped plus is a plus":        {"GET", target("/sparql", "query", `ASK { FILTER(1+1 = 2) }`), "", "", 200, boolean},
		"semicolon as it is":            {"GET", "/sparql?query=ASK+%7B+?s+<http://ex/name>+%22Ada%22;<http://ex/age>+36+%7D", "", "", 200, boolean},
		"parameters of other endpoints": {"GET", target("/sparql", "query", ask, "output", "json", "results", "json", "_", "1"), "", "", 200, boolean},

		"default graph by GET":           {"GET", target("/sparql", "query", inG1, "default-graph-uri", "http://ex/g1"), "", "", 200, boolean},
		"default graph by POST":          {"POST", target("/sparql", "default-graph-uri", "http://ex/g1"), inG1, sparql.TypeQuery, 200, boolean},
		"default graph by form":          {"POST", "/sparql", form("query", inG1, "default-graph-uri", "http://ex/g1"), sparql.TypeForm, 200, boolean},
		"default graph hides the others": {"GET", target("/sparql", "query", ask, "default-graph-uri", "http://ex/g1"), "", "", 200, `"boolean":false`},
		"two default graphs are merged": {"GET", target("/sparql", "query", `ASK { ?a <http://ex/name> "Bob" . ?b <http://ex/name> "Eve" }`,
			"default-graph-uri", "http://ex/g1", "default-graph-uri", "http://ex/g2"), "", "", 200, boolean},
		"named graphs": {"GET", target("/sparql", "query", `SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s ?p ?o } }`,
			"named-graph-uri", "http://ex/g1", "named-graph-uri", "http://ex/g2"), "", "", 200, `"value":"2"`},
		"named graph hides the others": {"POST", target("/sparql", "named-graph-uri", "http://ex/g1"), `ASK { GRAPH ?g { ?s ?p "Eve" } }`, sparql.TypeQuery, 200, `"boolean":false`},
		"goes before FROM": {"GET", target("/sparql", "query", `ASK FROM <http://ex/g2> { ?s <http://ex/name> "Bob" }`,
			"default-graph-uri", "http://ex/g1"), "", "", 200, boolean},

		"update by form": {"POST", "/sparql", form("update", insert), sparql.TypeForm, 200, `"added":`},
		"update by POST": {"POST", "/sparql", insert, sparql.TypeUpdate, 200, `"added":`},
		"update using graphs": {"POST", target("/sparql", "using-graph-uri", "http://ex/g1", "using-named-graph-uri", "http://ex/g2"),
			`INSERT { <http://ex/x> <http://ex/p> ?n } WHERE { ?s <http://ex/name> ?n . GRAPH <http://ex/g2> { ?s2 <http://ex/name> "Eve" } }`, sparql.TypeUpdate, 200, `"added":1`},
		"byte order mark":           {"POST", "/sparql", "\uFEFF" + ask, sparql.TypeQuery, 200, boolean},
		"byte order mark of update": {"POST", "/sparql", "\uFEFF" + insert, sparql.TypeUpdate, 200, `"added":`},

		"empty update": {"POST", "/sparql", "", sparql.TypeUpdate, 200, `{"added":0,"deleted":0,"isolation":"snapshot"}`},

		"no query":               {"GET", target("/sparql", "format", "json"), "", "", 400, `"where":"query"`},
		"empty form":             {"POST", "/sparql", "", sparql.TypeForm, 400, `"where":"query"`},
		"two queries":            {"GET", target("/sparql", "query", ask, "query", ask), "", "", 400, "more than once"},
		"two queries in a form":  {"POST", "/sparql", form("query", ask, "query", ask), sparql.TypeForm, 400, "more than once"},
		"query here and there":   {"POST", target("/sparql", "query", ask), form("query", ask), sparql.TypeForm, 400, "more than once"},
		"query in URL and body":  {"POST", target("/sparql", "query", ask), ask, sparql.TypeQuery, 400, "give one"},
		"two updates":            {"POST", "/sparql", form("update", insert, "update", insert), sparql.TypeForm, 400, "more than once"},
		"query and update":       {"POST", "/sparql", form("query", ask, "update", insert), sparql.TypeForm, 400, "give one"},
		"update by GET":          {"GET", target("/sparql", "update", insert), "", "", 400, "sent by POST"},
		"query as update":        {"POST", "/sparql", ask, sparql.TypeUpdate, 400, `"where":"update:1:1"`},
		"update as query":        {"POST", "/sparql", insert, sparql.TypeQuery, 400, `"where":"query:1:1"`},
		"no content type":        {"POST", "/sparql", ask, "", 415, sparql.TypeQuery},
		"wrong content type":     {"POST", "/sparql", ask, "text/plain", 415, sparql.TypeUpdate},
		"broken content type":    {"POST", "/sparql", ask, "application/", 415, sparql.TypeForm},
		"wrong charset":          {"POST", "/sparql", ask, sparql.TypeQuery + "; charset=UTF-16", 415, "UTF-8"},
		"not UTF-8":              {"POST", "/sparql", "ASK { ?s ?p \"\xff\" }", sparql.TypeQuery, 400, "UTF-8"},
		"not UTF-8 when decoded": {"GET", "/sparql?query=ASK+%7B+%3Fs+%3Fp+%22%FF%22+%7D", "", "", 400, "UTF-8"},
		"broken escape":          {"GET", "/sparql?query=ASK%2", "", "", 400, `"where":"query"`},
		"broken escape in form":  {"POST", "/sparql", "query=ASK%zz", sparql.TypeForm, 400, `"where":"query"`},
		"broken name":            {"POST", "/sparql", "q%zz=ASK", sparql.TypeForm, 400, "name"},
		"PUT":                    {"PUT", "/sparql", ask, sparql.TypeQuery, 405, "POST"},
		"DELETE":                 {"DELETE", "/sparql", "", "", 405, "POST"},
		"relative graph":         {"GET", target("/sparql", "query", ask, "default-graph-uri", "g1"), "", "", 400, `"where":"default-graph-uri"`},
		"misspelled graph":       {"GET", target("/sparql", "query", ask, "default-graph", "http://ex/g1"), "", "", 400, `"where":"default-graph"`},
		"query using graphs":     {"GET", target("/sparql", "query", ask, "using-graph-uri", "http://ex/g1"), "", "", 400, "default-graph-uri"},
		"update with default":    {"POST", target("/sparql", "default-graph-uri", "http://ex/g1"), insert, sparql.TypeUpdate, 400, "using-graph-uri"},
		"update with two datasets": {"POST", target("/sparql", "using-graph-uri", "http://ex/g1"),
			`INSERT { ?s ?p 1 } USING <http://ex/g2> WHERE { ?s ?p ?o }`, sparql.TypeUpdate, 400, "dataset"},
		"conflict":             {"POST", "/sparql", `CREATE GRAPH <http://ex/g1>`, sparql.TypeUpdate, 409, "exists"},
		"bad format":           {"GET", target("/sparql", "query", ask, "format", "hdt"), "", "", 406, "json, xml, csv, tsv"},
		"bad explain":          {"GET", target("/sparql", "query", ask, "explain", "yes"), "", "", 400, `"where":"explain"`},
		"update explained":     {"POST", target("/sparql", "explain", "true"), insert, sparql.TypeUpdate, 400, `"where":"explain"`},
		"bad timeout":          {"GET", target("/sparql", "query", ask, "timeout", "soon"), "", "", 400, `"where":"timeout"`},
		"negative timeout":     {"GET", target("/sparql", "query", ask, "timeout", "-1"), "", "", 400, `"where":"timeout"`},
		"timeout of NaN":       {"GET", target("/sparql", "query", ask, "timeout", "NaN"), "", "", 400, `"where":"timeout"`},
		"SERVICE is off":       {"GET", target("/sparql", "query", `ASK { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }`), "", "", 403, "SERVICE"},
		"LOAD is off":          {"POST", "/sparql", `LOAD <http://127.0.0.1:1/>`, sparql.TypeUpdate, 403, "LOAD"},
		"a syntax error":       {"POST", "/sparql", "SELECT *\nWHERE { ?s é ?o }", sparql.TypeQuery, 400, `"where":"query:2:12","line":2,"column":12`},
		"too large":            {"POST", "/sparql", "#" + strings.Repeat("x", sparql.MaxSPARQLBytes), sparql.TypeQuery, 413, "bytes"},
		"too large, in a form": {"POST", "/sparql", "query=%23" + strings.Repeat("x", sparql.MaxSPARQLBytes), sparql.TypeForm, 413, "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			const count = `SELECT (COUNT(*) AS ?n) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }`
			before := s.tsv(count)
			headers := []string{}
			if test.contentType != "" {
				headers = []string{"Content-Type", test.contentType}
			}
			got := s.do(test.method, test.target, test.body, headers...)
			if got.status != test.status || !strings.Contains(got.body, test.holds) {
				t.Errorf("answered %d %s\nwant %d ...%s...", got.status, got.body, test.status, test.holds)
			}
			if got.status != 200 {
				if got.wireError(t); s.tsv(count) != before {
					t.Error("the data changed")
				}
			}
		})
	}
}

func TestUpdate(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	for _, step := range []struct{ update, want, count string }{
		{`INSERT DATA { <http://ex/a> <http://ex/p> 1, 2 . GRAPH <http://ex/g3> { <http://ex/a> <http://ex/p> 3 } }`, `{"added":3,"deleted":0,"isolation":"snapshot"}`, "6"},
		{`DELETE { ?s <http://ex/p> ?o } INSERT { ?s <http://ex/q> ?o } WHERE { ?s <http://ex/p> ?o }`, `{"added":2,"deleted":2,"isolation":"snapshot"}`, "6"},
		{`DELETE WHERE { ?s <http://ex/q> ?o } ; CLEAR SILENT GRAPH <http://ex/g3>`, `{"added":0,"deleted":3,"isolation":"snapshot"}`, "4"},
	} {
		got := s.do("POST", "/sparql", step.update, "Content-Type", sparql.TypeUpdate)
		if got.status != 200 || strings.TrimSpace(got.body) != step.want {
			t.Errorf("%s: %d %s", step.update, got.status, got.body)
		}
		if n := s.tsv(`SELECT (COUNT(*) AS ?n) { ?s ?p ?o }`); n != step.count+"\n" {
			t.Errorf("%s: %s triples", step.update, n)
		}
	}
}

func TestSPARQLReadOnlyAndToken(t *testing.T) {
	s, _ := serveTriples(t, people, Options{ReadOnly: true, Token: "secret"})
	s.ask(names).wantError(t, 401, problem.KindUnauthorized, "Authorization", "token")
	auth := []string{"Authorization", "Bearer secret"}
	got := s.do("POST", "/sparql", names, append(auth, "Content-Type", sparql.TypeQuery)...)
	if got.status != 200 {
		t.Errorf("query: %d %s", got.status, got.body)
	}
	const update = `INSERT DATA { <http://ex/a> <http://ex/p> 1 }`
	s.do("POST", "/sparql", update, append(auth, "Content-Type", sparql.TypeUpdate)...).wantError(t, 403, problem.KindReadOnly, "", "read-only")
	s.do("POST", "/sparql", "update="+url.QueryEscape(update), append(auth, "Content-Type", sparql.TypeForm)...).wantError(t, 403, problem.KindReadOnly, "", "read-only")
}

func TestResultFormats(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	const construct = `PREFIX ex: <http://ex/> CONSTRUCT { ?s ex:called ?n } { ?s ex:name ?n FILTER(?n = "Ada") }`
	const sel = `SELECT ?n { <http://ex/ada> <http://ex/name> ?n }`
	json, xml := "application/sparql-results+json", "application/sparql-results+xml"
	browser := "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, test := range []struct{ query, accept, format, contentType, holds string }{
		{sel, "", "", json, `{"n":{"type":"literal","value":"Ada"}}`},
		{sel, "*/*", "", json, `"Ada"`},
		{sel, "application/*", "", json, `"Ada"`},
		{sel, "application/json", "", "application/json", `"Ada"`},
		{sel, xml, "", xml, "<literal>Ada</literal>"},
		{sel, browser, "xml", xml, "<literal>Ada</literal>"},
		{sel, "text/csv", "", "text/csv; charset=utf-8; header=present", "n\r\nAda\r\n"},
		{sel, "text/tab-separated-values", "", "text/tab-separated-values; charset=utf-8", "?n\n\"Ada\"\n"},
		{sel, json + ";q=0.5, text/csv;q=0.9", "", "text/csv; charset=utf-8; header=present", "Ada"},
		{sel, json + ";q=0, */*;q=0.1", "", "application/json", "Ada"},
		{sel, "text/turtle, " + xml + ";q=0.1", "", xml, "Ada"},
		{sel, json, "csv", "text/csv; charset=utf-8; header=present", "Ada"},
		{sel, "", "TSV", "text/tab-separated-values; charset=utf-8", "Ada"},
		{sel, "", xml, xml, "Ada"},
		{`ASK {}`, "", "", json, `"boolean":true`},
		{`ASK {}`, xml, "", xml, `<boolean>true</boolean>`},
		{`ASK {}`, "", "tsv", "text/tab-separated-values; charset=utf-8", "true\n"},
		{construct, "", "", "text/turtle; charset=utf-8", `ex:ada ex:called "Ada"`},
		{construct, "application/n-triples", "", "application/n-triples", `<http://ex/ada> <http://ex/called> "Ada" .`},
		{construct, "application/n-quads, */*;q=0.1", "", "application/n-quads", `"Ada" .`},
		{construct, "application/trig", "", "application/trig", `ex:called`},
		{construct, "application/rdf+xml", "", "application/rdf+xml", `<ex:called>Ada</ex:called>`},
		{construct, "", "xml", "application/rdf+xml", `<ex:called>Ada</ex:called>`},
		{construct, "text/plain", "", "text/plain; charset=utf-8", `<http://ex/called>`},
		{construct, "", "nt", "application/n-triples", `<http://ex/called>`},
		{construct, "text/html", "turtle", "text/turtle; charset=utf-8", `ex:called`},
		{`DESCRIBE <http://ex/ada>`, "", "nt", "application/n-triples", `<http://ex/age>`},
		// A prefix that a writer of Turtle would not take is left out.
		{`PREFIX é: <http://ex/> CONSTRUCT WHERE { ?s é:age ?n }`, "", "", "text/turtle; charset=utf-8", `<http://ex/age>`},
	} {
		more := []string{}
		if test.accept != "" {
			more = append(more, "Accept", test.accept)
		}
		if test.format != "" {
			more = append(more, "format", test.format)
		}
		got := s.ask(test.query, more...)
		if got.status != 200 || got.header.Get("Content-Type") != test.contentType || !strings.Contains(got.body, test.holds) {
			t.Errorf("%q: %d %q %s\nwant %q ...%s...", more, got.status, got.header.Get("Content-Type"), got.body, test.contentType, test.holds)
		}
		if got.header.Get("Vary") != "Accept" {
			t.Errorf("%q: Vary %q", more, got.header.Values("Vary"))
		}
		if n := got.header.Get("Content-Length"); n != fmt.Sprint(len(got.body)) {
			t.Errorf("%q: Content-Length %s of %d", more, n, len(got.body))
		}
		head := s.do("HEAD", target("/sparql", append([]string{"query", test.query}, pairsBut("Accept", more)...)...), "", pairsOf("Accept", more)...)
		if head.status != 200 || head.header.Get("Content-Type") != test.contentType || head.body != "" {
			t.Errorf("HEAD %q: %d %q %q", more, head.status, head.header.Get("Content-Type"), head.body)
		}
	}
	s.ask(`CONSTRUCT { ?s <http://ex/1> ?n } { ?s <http://ex/name> ?n }`, "format", "xml").
		wantError(t, 406, problem.KindNotAcceptable, "", "another syntax")
	got := s.ask(sel, "Accept", "image/png")
	got.wantError(t, 406, problem.KindNotAcceptable, "Accept", "text/csv")
	if got.header.Get("Vary") != "Accept" {
		t.Error("a 406 that a cache would give to others")
	}
	s.ask(construct, "Accept", json).wantError(t, 406, problem.KindNotAcceptable, "Accept", "text/turtle")
}

// pairsOf returns the pairs of a list with a name, pairsBut the others.
func pairsOf(name string, pairs []string) (found []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == name {
			found = append(found, pairs[i:i+2]...)
		}
	}
	return found
}

func pairsBut(name string, pairs []string) (found []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] != name {
			found = append(found, pairs[i:i+2]...)
		}
	}
	return found
}

// Data cannot be made to act for the node where a browser opens a link to an
// answer: an element of RDF/XML may well be one of XHTML.
func TestAnswersAreInert(t *testing.T) {
	s, _ := serveTriples(t, `<http://ex/s> <http://www.w3.org/1999/xhtmlscript> "alert(1)" .`, Options{})
	got := s.ask(`CONSTRUCT WHERE { ?s ?p ?o }`, "format", "xml")
	if !strings.Contains(got.body, "script") {
		t.Fatal(got.body)
	}
	for _, a := range []answer{got, s.ask(`SELECT * { ?s ?p ?o }`, "format", "xml"), s.get("/triples"), s.get("/sparql"), s.get("/data?default")} {
		if a.status != 200 || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
}

func TestServiceDescription(t *testing.T) {
	store := newStore(t)
	s := serve(t, store, Options{}, ServerOptions{})
	got := s.get("/sparql")
	if got.status != 200 || got.header.Get("Content-Type") != "text/turtle; charset=utf-8" || !strings.Contains(got.body, "sd:SPARQL11Update") {
		t.Errorf("%d %s", got.status, got.body)
	}
	const ns = "http://www.w3.org/ns/sparql-service-description#"
	got = s.get("/sparql", "Accept", "application/n-triples")
	parseQuads(t, got.body)
	for _, holds := range []string{ns + "endpoint> <" + s.url + "/sparql> .", ns + "SPARQL11Query>", ns + "SPARQLQuery>", ns + "supportedVersion> <http://www.w3.org/ns/sparql#version-1.2> .", "SPARQL_Results_CSV>", ns + "defaultDataset>"} {
		if !strings.Contains(got.body, holds) {
			t.Errorf("without %s:\n%s", holds, got.body)
		}
	}
	for _, lacks := range []string{"UnionDefaultGraph", "BasicFederatedQuery"} {
		if strings.Contains(got.body, lacks) {
			t.Errorf("with %s", lacks)
		}
	}
	s.get("/sparql", "Accept", "image/png").wantError(t, 406, problem.KindNotAcceptable, "Accept", "query")

	s = serve(t, store, Options{ReadOnly: true, PublicURL: "https://data.example.org",
		Engine: newEngine(t, store, engine.Options{UnionDefaultGraph: true, AllowHosts: []string{"example.org"}})}, ServerOptions{})
	got = s.get("/sparql", "Accept", "application/n-triples")
	for _, holds := range []string{"<https://data.example.org/sparql> .", ns + "UnionDefaultGraph>", ns + "BasicFederatedQuery>"} {
		if !strings.Contains(got.body, holds) {
			t.Errorf("without %s:\n%s", holds, got.body)
		}
	}
	if strings.Contains(got.body, "SPARQL11Update") {
		t.Error("a read-only node offers updates")
	}
}

func TestExplain(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	before := s.get("/metrics").body
	got := s.ask(names, "explain", "true")
	for _, holds := range []string{`"form":"SELECT"`, `"ran":false`, `"plan":{`, `"isolation":"snapshot"`} {
		if got.status != 200 || !strings.Contains(got.body, holds) {
			t.Fatalf("%d %s\nwithout %s", got.status, got.body, holds)
		}
	}
	if read := "trefoil_sparql_rows_read_total 0"; !strings.Contains(before, read) || !strings.Contains(s.get("/metrics").body, read) {
		t.Error("explain=true read rows")
	}
	got = s.ask(names, "explain", "run")
	for _, holds := range []string{`"ran":true`, `"rows":2`, `"rowsRead":`} {
		if got.status != 200 || !strings.Contains(got.body, holds) {
			t.Errorf("%d %s\nwithout %s", got.status, got.body, holds)
		}
	}
	got = s.ask(names, "explain", "run", "Accept", "text/plain")
	if got.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(got.body, "2 rows, ") {
		t.Errorf("%q %s", got.header.Get("Content-Type"), got.body)
	}
	if text := s.ask(names, "explain", "true", "format", "text").body; !strings.Contains(text, "about") {
		t.Error(text)
	}
	for _, query := range []string{`ASK {}`, `CONSTRUCT WHERE { ?s ?p ?o }`, `DESCRIBE <http://ex/ada>`} {
		if got := s.ask(query, "explain", "run"); got.status != 200 || strings.Contains(got.body, `"rows":0`) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

func TestSPARQLMetrics(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	s.ask(names)
	s.ask(`SELECT`)
	s.ask(`ASK {`)
	s.do("POST", "/sparql", `CREATE GRAPH <http://ex/g1>`, "Content-Type", sparql.TypeUpdate)
	text := s.get("/metrics").body
	for _, line := range []string{
		`trefoil_sparql_operations_total{form="select",outcome="done"} 1`, `trefoil_sparql_operations_total{form="none",outcome="syntax"} 2`,
		`trefoil_sparql_operations_total{form="update",outcome="conflict"} 1`, `trefoil_sparql_rows_total 2`, `trefoil_sparql_seconds_count{form="select"} 1`,
	} {
		if !strings.Contains(text, line) {
			t.Errorf("without %s", line)
		}
	}
	if strings.Contains(text, "trefoil_sparql_rows_read_total 0") {
		t.Error("no rows read")
	}
}

func TestUnionDefaultGraph(t *testing.T) {
	store := newStore(t)
	addQuads(t, store, people)
	s := serve(t, store, Options{Engine: newEngine(t, store, engine.Options{UnionDefaultGraph: true})}, ServerOptions{})
	if got := s.tsv(`SELECT (COUNT(*) AS ?all) { ?s <http://ex/name> ?n }`); got != "4\n" {
		t.Errorf("%s names", got)
	}
}

// TestBoundVariables: a parameter with $ gives a variable a value, in the URL and in a form. Values that do not fit are
// errors.
func TestBoundVariables(t *testing.T) {
	s, _ := serveTriples(t, "<http://ex/a> <http://ex/p> \"} # \\\"\" .\n<http://ex/b> <http://ex/p> \"x\"@en .\n", Options{})
	const text = "SELECT ?s { ?s ?p ?o }"
	csv := []string{"Accept", "text/csv"}
	for _, c := range []struct{ text, variable, value, want string }{
		{text, "o", `"} # \""`, "http://ex/a"},
		{text, "o", `"x"@en`, "http://ex/b"},
		{text, "o", `"x"`, ""},
		{text, "s", "<http://ex/b>", "http://ex/b"},
		{"SELECT ?s { { SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 1 } }", "s", "<http://ex/b>", "http://ex/b"},
		{"SELECT ?s { ?s ?p ?q FILTER EXISTS { ?s ?p ?o } }", "s", "<http://ex/b>", "http://ex/b"},
	} {
		inURL := s.get(target("/sparql", "query", c.text, "$"+c.variable, c.value), csv...)
		form := s.do("POST", "/sparql", url.Values{"query": {c.text}, "$" + c.variable: {c.value}}.Encode(), append(csv, "Content-Type", "application/x-www-form-urlencoded")...)
		for _, got := range []answer{inURL, form} {
			if lines := strings.Fields(got.body); got.status != 200 || strings.Join(lines[1:], " ") != c.want {
				t.Errorf("%s with ?%s = %s: %d %q, want %s", c.text, c.variable, c.value, got.status, got.body, c.want)
			}
		}
	}
	s.get(target("/sparql", "query", text, "$x", "<http://ex/b>")).wantError(t, 400, problem.KindBadRequest, "", "no variable ?x to bind")
	s.get(target("/sparql", "query", text, "$s", "_:b")).wantError(t, 400, problem.KindBadRequest, "", "no IRI or literal")
	s.get(target("/sparql", "query", text, "$s", "<http://ex/b> }")).wantError(t, 400, problem.KindBadParameter, "$s", "no term as in N-Triples")
	s.get(target("/sparql", "query", text, "$s", "<a:b>")+"&$s=x").wantError(t, 400, problem.KindBadParameter, "$s", "more than once")
	// The WHERE of an update has the value.
	update := url.Values{"update": {"DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }"}, "$s": {"<http://ex/b>"}}.Encode()
	if got := s.do("POST", "/sparql", update, "Content-Type", "application/x-www-form-urlencoded"); got.status != 200 || !strings.Contains(got.body, `"deleted":1`) {
		t.Errorf("%d %s", got.status, got.body)
	}
}
