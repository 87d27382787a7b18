// Tests of the case of language tags, at every endpoint of a server, and in stores of earlier releases.

package cli

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// exchange is a request that brings "a"@EN of <x:s> and <x:p> into a server, or takes something out.
type exchange struct{ method, path, mediaType, body string }

func (e exchange) pass(t *testing.T, server string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), e.method, server+e.path, strings.NewReader(e.body))
	if err != nil {
		t.Fatal(err)
	}
	if e.mediaType != "" {
		r.Header.Set("Content-Type", e.mediaType)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func withQuery(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return path + "?" + v.Encode()
}

// incoming are all ways of a triple into a server.
func incoming() map[string]exchange {
	const (
		nt     = `<x:s> <x:p> "a"@EN .`
		turtle = `PREFIX x: <x:> x:s x:p "a"@EN .`
		rdfxml = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="x:"><rdf:Description rdf:about="x:s"><x:p xml:lang="EN">a</x:p></rdf:Description></rdf:RDF>`
		jsonld = `{"@id":"x:s","x:p":{"@value":"a","@language":"EN"}}`
		lines  = `{"s":{"type":"uri","value":"x:s"},"p":{"type":"uri","value":"x:p"},"o":{"type":"literal","value":"a","xml:lang":"EN"}}`
	)
	all := map[string]exchange{
		"JSON lines":           {"POST", "/triples", "application/x-ndjson", lines},
		"Graph Store, JSON-LD": {"POST", "/data?default", "application/ld+json", jsonld},
		"INSERT DATA":          {"POST", "/update", "application/sparql-update", `INSERT DATA { <x:s> <x:p> "a"@EN }`},
		"a template":           {"POST", "/update", "application/sparql-update", `INSERT { <x:s> <x:p> "a"@EN } WHERE {}`},
		"STRLANG":              {"POST", "/update", "application/sparql-update", `INSERT { <x:s> <x:p> ?o } WHERE { BIND(STRLANG("a", "EN") AS ?o) }`},
		"VALUES":               {"POST", "/update", "application/sparql-update", `INSERT { <x:s> <x:p> ?o } WHERE { VALUES ?o { "a"@EN } }`},
		"a parameter":          {"POST", withQuery("/update", "$o", `"a"@EN`), "application/sparql-update", `INSERT { <x:s> <x:p> ?o } WHERE {}`},
		"Graph Store, Turtle":  {"POST", "/data?default", "text/turtle", turtle},
	}
	for mediaType, document := range map[string]string{
		"application/n-triples": nt, "application/n-quads": nt, "text/turtle": turtle, "application/trig": turtle, "application/rdf+xml": rdfxml, "application/ld+json": jsonld,
	} {
		all["load of "+mediaType] = exchange{"POST", "/load", mediaType, document}
		all["add of "+mediaType] = exchange{"POST", "/triples", mediaType, document}
	}
	return all
}

// TestTagsAtAllEndpoints: "a"@EN and "a"@en are one term, whichever way they come in, are asked for, and go out: on a node alone, and
// if they come in at one member of a cluster and are asked for at another.
func TestTagsAtAllEndpoints(t *testing.T) {
	seed.Slow(t)
	t.Run("alone", func(t *testing.T) {
		server, stop := serveFor(t, filepath.Join(t.TempDir(), "store"))
		defer stop()
		testTags(t, server, server)
	})
	t.Run("cluster", func(t *testing.T) {
		first, _ := serveNode(t)
		second, stop := serveFor(t, filepath.Join(t.TempDir(), "store"), "--join", first)
		defer stop()
		testTags(t, "http://"+first, second)
	})
}

// testTags brings terms in at one server, and asks another one for them.
func testTags(t *testing.T, server, other string) {
	mustRun(t, "", "text", "add", "--to", server, "--wait", "<x:p>")
	ask := func(how string, e exchange, code int, want string) {
		t.Helper()
		if got, text := e.pass(t, other); got != code || !strings.Contains(text, want) {
			t.Errorf("%s: %d, want %d and %s: %s", how, got, code, want, text)
		}
	}
	sparql := func(text string) string { return withQuery("/sparql", "query", text, "format", "csv") }
	// 1. Each way in makes the same one row, which a delete of the other form then deletes.
	for how, e := range incoming() {
		if code, text := e.pass(t, server); code >= 300 {
			t.Errorf("%s: %d %s", how, code, text)
			continue
		}
		ask(how, exchange{method: "GET", path: withQuery("/triples", "s", "<x:s>")}, 200, `"a"@en .`)
		ask(how, exchange{"DELETE", "/triples", "application/n-triples", `<x:s> <x:p> "a"@eN .`}, 200, `"deleted":1`)
	}
	// 2. All of them, one behind the other, make one row. What follows finds it by another form.
	for how, e := range incoming() {
		if code, text := e.pass(t, server); code >= 300 {
			t.Errorf("%s: %d %s", how, code, text)
		}
	}
	mustRun(t, `<x:t> <x:p> "a"@en .`, "add", "--to", server, "--from", "nt", "-")
	for how, test := range map[string]struct{ path, want string }{
		"a pattern of the API": {withQuery("/count", "o", `"a"@eN`), `{"count":2,`},
		"a prefix":             {withQuery("/range", "order", "osp", "prefix", `"a"@EN`), `<x:s> <x:p> "a"@en .`},
		"bounds":               {withQuery("/range", "order", "pos", "prefix", "<x:p>", "ge", `"a"@EN`, "le", `"a"@EN`), `<x:s> <x:p> "a"@en .`},
		"a fragment":           {withQuery("/fragments", "object", `"a"@EN`), `<x:s> <x:p> "a"@en .`},
		"a graph":              {"/data?default", `"a"@en`},
		"a query's pattern":    {sparql(`SELECT (COUNT(*) AS ?n) { ?s <x:p> "a"@EN }`), "\n2\r\n"},
		"a join":               {sparql(`SELECT (COUNT(*) AS ?n) { <x:s> <x:p> ?o . <x:t> <x:p> ?o }`), "\n1\r\n"},
		"DISTINCT":             {sparql(`SELECT (COUNT(DISTINCT ?o) AS ?n) { { ?s <x:p> ?o } UNION { VALUES ?o { "a"@EN "a"@En } } }`), "\n1\r\n"},
		"GROUP BY":             {sparql(`SELECT (COUNT(*) AS ?n) { ?s <x:p> ?o } GROUP BY ?o`), "\n2\r\n"},
		"sameTerm":             {sparql(`SELECT (COUNT(*) AS ?n) { ?s <x:p> ?o FILTER(sameTerm(?o, "a"@EN)) }`), "\n2\r\n"},
		"IN":                   {sparql(`SELECT (COUNT(*) AS ?n) { ?s <x:p> ?o FILTER(?o IN ("a"@EN)) }`), "\n2\r\n"},
		"langMatches":          {sparql(`SELECT (COUNT(*) AS ?n) { ?s <x:p> ?o FILTER(langMatches(lang(?o), "EN")) }`), "\n2\r\n"},
		"LANG":                 {sparql(`SELECT (LANG("a"@EN) AS ?n) {}`), "\nen\r\n"},
		"STRLANG":              {sparql(`SELECT (COUNT(*) AS ?n) { BIND(STRLANG("a", "EN") AS ?o) ?s <x:p> ?o }`), "\n2\r\n"},
		"a parameter":          {withQuery("/sparql", "query", `SELECT (COUNT(*) AS ?n) { ?s <x:p> ?o }`, "$o", `"a"@EN`, "format", "csv"), "\n2\r\n"},
		"a search":             {withQuery("/search", "q", "a", "lang", "EN", "scan", "true"), `"lang":"en"`},
	} {
		ask(how, exchange{method: "GET", path: test.path}, 200, test.want)
	}
	// 3. The Go client, and annotations.
	c, err := client.New(other, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := c.Count(t.Context(), triple.Pattern{Object: triple.NewLang("a", "EN")}); n != 2 || err != nil {
		t.Errorf("the client counts %d, %v", n, err)
	}
	mustRun(t, "", "annotate", "--to", server, `<x:s> <x:p> "a"@EN`, "--app", "app", "--text", "x")
	// 4. A dump makes the same store.
	dump := mustRun(t, "", "dump", "--to", other)
	copied := filepath.Join(t.TempDir(), "copy")
	mustRun(t, strings.ReplaceAll(dump, "@en", "@EN"), "load", "--data", copied, "--from", "nq", "-")
	if got := mustRun(t, "", "dump", "--data", copied); got != dump || strings.Count(dump, `"a"@en`) != 2 {
		t.Errorf("the dump\n%sbecomes\n%s", dump, got)
	}
}

// TestDirectionsKeepTheirCase: of a tag with a base direction the language is folded. A direction in capital letters is an error.
func TestDirectionsKeepTheirCase(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	mustRun(t, `<x:s> <x:p> "a"@EN--ltr , "a"@en--ltr , "a"@en--rtl , "a"@en .`, "load", "--data", data, "--from", "ttl", "-")
	if dump := mustRun(t, "", "dump", "--data", data); strings.Count(dump, " .\n") != 3 || !strings.Contains(dump, `"a"@en--ltr`) {
		t.Errorf("the store has\n%s", dump)
	}
	for _, syntax := range []string{"nt", "nq", "ttl", "trig"} {
		if code, _, messages := run(t, `<x:s> <x:p> "a"@en--LTR .`, "load", "--data", data, "--from", syntax, "-"); code != exitFailed {
			t.Errorf("%s: code %d %s", syntax, code, messages)
		}
	}
}

// addWritten adds a document of N-Quads to the store in a directory, with language tags as written, and annotates its triples.
func addWritten(t *testing.T, data, document string) {
	t.Helper()
	db, err := store.Open(data, store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	scanner := triple.NewScanner(strings.NewReader(document), triple.ScanOptions{Quads: true, Stored: true})
	for scanner.Scan() {
		_, err := store.Add(t.Context(), db, []triple.Triple{scanner.Triple()})
		if err := errors.Join(err, store.Annotate(t.Context(), db, scanner.Triple(), "app", []byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(scanner.Err(), db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTagsOfEarlierReleases: check names rows with tags as an earlier release stored them, variables find them, and a dump that
// is loaded again has the tags in lower case, and the annotations. A backup keeps the rows as they are.
func TestTagsOfEarlierReleases(t *testing.T) {
	data := filepath.Join(t.TempDir(), "old")
	const problem = "problem: 2 triples have a language tag in capital letters, as an earlier release kept it: dump the data and load it into a new store; one is: <x:s> <x:p> \"a\"@EN ."
	addWritten(t, data, `<x:s> <x:p> "a"@EN .`+"\n"+`<x:s> <x:p> "a"@en .`+"\n"+`<x:t> <x:p> <<( <x:s> <x:p> "b"@de-AT )>> <x:g> .`+"\n")
	// 1. The rows are named, and a variable finds each.
	want(t, exitFailed, problem, "check", "--data", data)
	for pattern, n := range map[string]string{`?s ?p "a"@EN`: "1", `?s ?p ?o FILTER(STR(?o) = "a")`: "2"} {
		if got := mustRun(t, "", "query", "--data", data, "--format", "csv", "-e", "SELECT (COUNT(*) AS ?n) { "+pattern+" }"); got != "n\r\n"+n+"\r\n" {
			t.Errorf("%s finds %s", pattern, got)
		}
	}
	// 2. A dump that is loaded again mends them.
	mended := filepath.Join(t.TempDir(), "mended")
	mustRun(t, mustRun(t, "", "dump", "--data", data), "load", "--data", mended, "--from", "nq", "-")
	mustRun(t, "", "check", "--data", mended)
	dump := mustRun(t, "", "dump", "--data", mended)
	if strings.Count(dump, "app") != 2 || strings.Count(dump, `"a"@en .`) != 1 || strings.Count(dump, `"b"@de-at )>> <x:g> .`) != 1 || strings.Contains(dump, "EN") {
		t.Errorf("the mended store has\n%s", dump)
	}
	// 3. A backup has all rows, also one whose tag no parser takes any more.
	addWritten(t, data, `<x:u> <x:p> "c"@zh-classical .`+"\n")
	archive, copied := filepath.Join(t.TempDir(), "old.tar"), filepath.Join(t.TempDir(), "copied")
	mustRun(t, "", "backup", "--data", data, archive)
	mustRun(t, "", "restore", "--data", copied, archive)
	if got, dump := mustRun(t, "", "dump", "--data", copied), mustRun(t, "", "dump", "--data", data); got != dump || strings.Count(dump, " . #@ app=") != 4 {
		t.Errorf("restored:\n%snot\n%s", got, dump)
	}
	want(t, exitFailed, problem, "check", "--data", copied)
}
