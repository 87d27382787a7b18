// The requests of clients and pages that were written for other stores, as their sources send them.

package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What the clients accept, from their sources: Jena 6.2 (WebContent), RDF4J 5 (the registries of its parsers), Blazegraph 2.1
// (AcceptHeaderFactory), Comunica's fetch-sparql-endpoint 7, YASQE 4.2 (defaults.ts), SPARQLWrapper 2.0 and rdflib 7.6.
const (
	jenaSelect = "application/sparql-results+json,application/sparql-results+xml;q=0.9,text/tab-separated-values;q=0.7,text/csv;q=0.5," +
		"application/json;q=0.2,application/xml;q=0.2,*/*;q=0.1"
	jenaGraph   = "text/turtle,application/n-triples;q=0.9,application/ld+json;q=0.8,application/rdf+xml;q=0.7,*/*;q=0.3"
	jenaDataset = "application/trig,application/n-quads;q=0.9,application/ld+json;q=0.8,*/*;q=0.3"
	rdf4jTuples = "application/x-binary-rdf-results-table, application/x-sparqlstar-results+json, application/sparql-results+xml, application/xml, " +
		"application/sparql-results+json, application/json, text/csv, text/tab-separated-values, text/x-tab-separated-values-star"
	rdf4jBoolean = "application/sparql-results+xml, application/xml, application/sparql-results+json, application/json, text/boolean"
	rdf4jGraph   = "application/x-binary-rdf, text/x-turtlestar;q=0.8, application/trig;q=0.8, application/n-triples;q=0.7, text/plain;q=0.7, " +
		"application/rdf+xml;q=0.8, application/xml;q=0.8, text/turtle;q=0.8, application/x-turtle;q=0.8"
	blazegraphTuples = "application/x-binary-rdf-results-table;q=1,application/sparql-results+xml;q=0.8,application/xml;q=0.8,application/sparql-results+json;q=0.8"
	comunicaTuples   = "application/sparql-results+json;q=1.0,application/sparql-results+xml;q=0.7"
	yasqeTuples      = "application/sparql-results+json,*/*;q=0.9"
	yasqeGraph       = "application/n-triples,*/*;q=0.9"
	wrapperJSON      = "application/sparql-results+json,application/json,text/javascript,application/javascript"
	wrapperN3        = "application/turtle,text/turtle,text/rdf+n3,application/n-triples,application/n3,text/n3"
	rdflibXML        = "application/sparql-results+xml, application/rdf+xml"
	jquery           = "application/json, text/javascript, */*; q=0.01"
)

// TestClientsOfOtherStores sends what clients of other stores send. Each request must be answered, in a format
// that its client reads.
func TestClientsOfOtherStores(t *testing.T) {
	const (
		sel       = "SELECT ?n { ?s <http://ex/name> ?n }"
		ask       = "ASK { ?s <http://ex/name> \"Ada\" }"
		construct = "CONSTRUCT WHERE { ?s <http://ex/name> ?n }"
		describe  = "DESCRIBE <http://ex/ada>"
		insert    = "INSERT DATA { <http://ex/new> <http://ex/p> 1 }"
		inGraph   = "INSERT { <http://ex/copy> <http://ex/name> ?n } WHERE { ?s <http://ex/name> ?n }"

		form, formUTF8, text, change = "application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8", "application/sparql-query", "application/sparql-update"
		json, xml, csv, turtle       = "application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/turtle"
		updated                      = "application/json"
	)
	// values encodes parameters as clients do: in their order, and with empty ones.
	values := func(pairs ...string) string {
		var all []string
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, url.QueryEscape(pairs[i])+"="+url.QueryEscape(pairs[i+1]))
		}
		return strings.Join(all, "&")
	}
	// wrapper encodes what SPARQLWrapper sends: it names its format three times.
	wrapper := func(name, value, format string) string {
		return values(name, value, "format", format, "output", format, "results", format)
	}
	// none is no Accept header: Go's client sends none.
	const none = ""
	for _, c := range []struct {
		client, method, target, contentType, body, accept string
		want, words                                       string // the beginning of the answer's type, and a part of the answer
	}{
		// 1. SPARQLWrapper: every return format with every form of query. Its default is XML.
		{"SPARQLWrapper, JSON", "GET", "/sparql?" + wrapper("query", sel, "json"), "", "", wrapperJSON, json, "Ada"},
		{"SPARQLWrapper, XML", "GET", "/sparql?" + wrapper("query", sel, "xml"), "", "", xml, xml, "Ada"},
		{"SPARQLWrapper, TSV", "GET", "/sparql?" + values("query", sel, "format", "tsv", "format", "text/tab-separated-values", "output", "tsv"), "", "", "text/tab-separated-values", "text/tab-separated-values", "Ada"},
		{"SPARQLWrapper, JSON and CONSTRUCT", "GET", "/sparql?" + wrapper("query", construct, "json"), "", "", "*/*", turtle, "Ada"},
		{"SPARQLWrapper, CSV and DESCRIBE", "GET", "/sparql?" + wrapper("query", describe, "csv"), "", "", "*/*", turtle, "Ada"},
		{"SPARQLWrapper, TSV and CONSTRUCT", "GET", "/sparql?" + values("query", construct, "format", "tsv", "format", "", "output", "tsv", "output", ""), "", "", "*/*", turtle, "Ada"},
		{"SPARQLWrapper, Turtle and SELECT", "GET", "/sparql?" + wrapper("query", sel, "turtle"), "", "", "*/*", json, "Ada"},
		{"SPARQLWrapper, JSON-LD and SELECT", "GET", "/sparql?" + values("query", sel, "format", "json-ld", "format", "", "results", "json-ld"), "", "", "*/*", json, "Ada"},
		{"SPARQLWrapper, RDF and ASK", "GET", "/sparql?" + wrapper("query", ask, "rdf"), "", "", "*/*", json, "true"},
		{"SPARQLWrapper, N3 and CONSTRUCT", "GET", "/sparql?" + wrapper("query", construct, "n3"), "", "", wrapperN3, turtle, "Ada"},
		{"SPARQLWrapper, JSON-LD and CONSTRUCT", "GET", "/sparql?" + values("query", construct, "format", "json-ld", "format", "application/ld+json,application/x-json+ld"), "", "", "application/ld+json,application/x-json+ld", "application/ld+json", "Ada"},
		{"SPARQLWrapper, XML and CONSTRUCT by POST", "POST", "/sparql", form, wrapper("query", construct, "xml"), "application/rdf+xml", "application/rdf+xml", "Ada"},
		{"SPARQLWrapper, JSON and CONSTRUCT by POST directly", "POST", "/sparql?" + values("format", "json", "output", "json", "results", "json"), text, construct, "*/*", turtle, "Ada"},
		{"SPARQLWrapper, update", "POST", "/update", form, values("update", insert), wrapperJSON, updated, `"added":1`},
		{"SPARQLWrapper, update directly", "POST", "/update?", change, insert, "*/*", updated, `"added":1`},
		{"no Accept", "GET", "/sparql?" + values("format", "json", "query", construct), "", "", none, turtle, "Ada"},
		{"format of a media type of the other form", "GET", "/sparql?" + values("format", json, "query", construct), "", "", "*/*", turtle, "Ada"},
		{"format of a plan", "GET", "/sparql?" + values("format", "csv", "explain", "true", "query", sel), "", "", "*/*", "application/json", "plan"},

		// 2. Virtuoso and DBpedia: the addresses of its page, links from elsewhere, and programs.
		{"Virtuoso's form", "GET", "/sparql?" + values("default-graph-uri", "", "query", sel, "should-sponge", "", "format", json, "timeout", "0", "debug", "on", "run", " Run Query "), "", "", "*/*", json, "Ada"},
		{"Virtuoso's form by POST", "POST", "/sparql", form, values("default-graph-uri", "", "qtxt", "", "query", sel, "format", "auto", "timeout", "0", "signal_void", "on"), none, json, "Ada"},
		{"Virtuoso, ASK", "GET", "/sparql?" + values("default-graph-uri", "", "named-graph-uri", "", "query", ask, "format", "auto", "timeout", ""), "", "", "*/*", json, "true"},
		{"Virtuoso, CONSTRUCT", "GET", "/sparql?" + values("default-graph-uri", "", "query", construct, "format", "application/x-nice-turtle", "format", "text/turtle", "timeout", "0"), "", "", "*/*", turtle, "Ada"},
		{"DBpedia's link", "GET", "/sparql?" + values("default-graph-uri", "http://ex/g1", "query", sel, "format", json, "timeout", "30000", "signal_void", "on", "signal_unconnected", "on"), "", "", jquery, json, "Bob"},
		{"a program for DBpedia", "GET", "/sparql?" + values("query", sel, "format", "application/json", "timeout", "30000", "CXML_redir_for_subjs", "121", "CXML_redir_for_hrefs", ""), "", "", none, "application/json", "Ada"},
		{"Virtuoso, an update", "POST", "/sparql", form, values("update", insert, "using-graph-uri", "", "using-named-graph-uri", "", "timeout", "0"), "*/*", updated, `"added":1`},

		// 3. YASGUI: forms, and its names of graphs of an update, which end with a space.
		{"YASGUI, SELECT", "POST", "/sparql", formUTF8, values("query", sel), yasqeTuples, json, "Ada"},
		{"YASGUI, CONSTRUCT", "POST", "/sparql", formUTF8, values("query", construct, "named-graph-uri", "http://ex/g1"), yasqeGraph, "application/n-triples", ""},
		{"YASGUI, GET", "GET", "/sparql?" + values("query", sel, "default-graph-uri", "http://ex/g1"), "", "", yasqeTuples, json, "Bob"},
		{"YASGUI, update", "POST", "/sparql", formUTF8, values("update", inGraph, "using-graph-uri ", "http://ex/g1"), "text/plain,*/*;q=0.9", updated, `"added":1`},

		// 4. rdflib's SPARQLStore, and LangChain: RdfGraph and OntotextGraphDBGraph are SPARQLStores, NeptuneRdfGraph posts a form.
		{"SPARQLStore, GET", "GET", "/query?" + values("query", sel), "", "", rdflibXML, xml, "Ada"},
		{"SPARQLStore, CONSTRUCT", "GET", "/query?" + values("query", construct), "", "", rdflibXML, "application/rdf+xml", "Ada"},
		{"SPARQLStore, POST", "POST", "/query?" + values("default-graph-uri", "http://ex/g1"), text, sel, rdflibXML, xml, "Bob"},
		{"SPARQLStore, POST without parameters", "POST", "/query?", text, sel, rdflibXML, xml, "Ada"},
		{"SPARQLStore, POST_FORM", "POST", "/query", form, values("query", ask), rdflibXML, xml, "true"},
		{"SPARQLUpdateStore", "POST", "/update?" + values("using-graph-uri", "http://ex/g1"), "application/sparql-update; charset=UTF-8", inGraph, rdflibXML, updated, `"added":1`},
		{"LangChain, classes", "GET", "/sparql?" + values("query", "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\nSELECT DISTINCT ?rel ?com\nWHERE { \n    ?subj ?rel ?obj . \n    OPTIONAL { ?rel rdfs:comment ?com } \n}"), "", "", rdflibXML, xml, "http://ex/name"},
		{"LangChain for Neptune", "POST", "/sparql", form, values("query", sel), "*/*", json, "Ada"},

		// 5. RDF4J's SPARQLRepository: parameters beside the protocol's, and values of variables.
		{"RDF4J, tuples", "GET", "/sparql?" + values("query", sel, "queryLn", "SPARQL", "infer", "true", "timeout", "30"), "", "", rdf4jTuples, json, "Ada"},
		{"RDF4J, a long query", "POST", "/sparql", formUTF8, values("query", sel, "queryLn", "SPARQL", "infer", "false", "$s", "<http://ex/ada>"), rdf4jTuples, json, "Ada"},
		{"RDF4J, ASK", "GET", "/sparql?" + values("query", ask, "queryLn", "SPARQL", "infer", "true"), "", "", rdf4jBoolean, json, "true"},
		{"RDF4J, CONSTRUCT", "GET", "/sparql?" + values("query", construct, "queryLn", "SPARQL", "infer", "true"), "", "", rdf4jGraph, turtle, "Ada"},
		{"RDF4J, update", "POST", "/sparql", formUTF8, values("update", insert, "queryLn", "SPARQL", "infer", "true", "using-graph-uri", "http://ex/g1", "baseURI", "http://ex/"), none, updated, `"added":1`},

		// 6. Jena: queries by GET, long ones by POST; its models and RDFConnections.
		{"Jena, SELECT", "GET", "/sparql?" + values("query", sel), "", "", jenaSelect, json, "Ada"},
		{"Jena, SELECT as a body", "POST", "/sparql?" + values("named-graph-uri", "http://ex/g1"), "application/sparql-query;charset=utf-8", sel, jenaSelect, json, ""},
		{"Jena for DBpedia", "GET", "/sparql?" + values("query", sel, "timeout", "10000"), "", "", jenaSelect, json, "Ada"},
		{"Jena, CONSTRUCT", "GET", "/sparql?" + values("query", construct), "", "", jenaGraph, turtle, "Ada"},
		{"Jena, CONSTRUCT of a dataset", "GET", "/sparql?" + values("query", construct), "", "", jenaDataset, "application/trig", "Ada"},
		{"Jena, update", "POST", "/update", change, insert, none, updated, `"added":1`},
		{"Jena, GET of the default graph", "GET", "/data?default", "", "", jenaGraph, turtle, "Ada"},
		{"Jena, GET of a graph", "GET", "/data?graph=" + url.QueryEscape("http://ex/g1"), "", "", jenaGraph, turtle, "Bob"},
		{"Jena, GET of the dataset", "GET", "/data", "", "", jenaDataset, "application/trig", "Eve"},
		{"Jena, PUT of a graph", "PUT", "/data?graph=http%3A%2F%2Fex%2Fput", "text/turtle", "<http://ex/a> <http://ex/p> 1 .", none, "", ""},
		{"Jena, POST to the default graph", "POST", "/data?default", "text/turtle;charset=utf-8", "<http://ex/a> <http://ex/p> 1 .", none, "", ""},
		{"Jena, POST of a dataset", "POST", "/data", "application/trig", "<http://ex/g9> { <http://ex/a> <http://ex/p> 1 }", none, "", ""},
		{"Jena, DELETE of a graph", "DELETE", "/data?graph=http%3A%2F%2Fex%2Fg2", "", "", none, "", ""},

		// 7. Comunica, Blazegraph's client, and tools for Wikidata.
		{"Comunica, SELECT", "POST", "/sparql", form, values("query", sel), comunicaTuples, json, "Ada"},
		{"Comunica, CONSTRUCT as a body", "POST", "/sparql", text, construct, turtle, turtle, "Ada"},
		{"Comunica, GET", "GET", "/sparql?" + values("query", ask, "default-graph-uri", "http://ex/g1"), "", "", comunicaTuples, json, "false"},
		{"Comunica, update", "POST", "/sparql", change, insert, none, updated, `"added":1`},
		{"Comunica, discovery", "GET", "/sparql", "", "", "application/n-quads,application/trig;q=0.95,application/ld+json;q=0.9,text/turtle;q=0.6,application/rdf+xml;q=0.5,text/html;q=0.2", "application/n-quads", "sparql-service-description"},
		{"Blazegraph, tuples", "POST", "/sparql", formUTF8, values("query", sel, "queryId", "4bf2d6ba-9f6d-4aa5-9de6-3bd2a6b7a5ae", "includeInferred", "true", "maxQueryTimeMillis", "30000"), blazegraphTuples, json, "Ada"},
		{"Blazegraph, update", "POST", "/sparql", formUTF8, values("update", insert, "queryId", "4bf2d6ba-9f6d-4aa5-9de6-3bd2a6b7a5ae", "using-graph-uri", ""), none, updated, `"added":1`},
		{"Wikidata's page", "GET", "/sparql?" + values("query", sel, "format", "json"), "", "", jquery, json, "Ada"},
		{"Pywikibot", "GET", "/sparql?" + values("query", sel), "", "", json, json, "Ada"},
	} {
		t.Run(c.client, func(t *testing.T) {
			s, _ := serveTriples(t, people, Options{})
			var headers []string
			if c.accept != "" {
				headers = append(headers, "Accept", c.accept)
			}
			if c.contentType != "" {
				headers = append(headers, "Content-Type", c.contentType)
			}
			got := s.do(c.method, c.target, c.body, headers...)
			if got.status/100 != 2 || !strings.HasPrefix(got.header.Get("Content-Type"), c.want) || !strings.Contains(got.body, c.words) {
				t.Errorf("%s %s\n%s: %d %s\n%s", c.method, c.target, c.body, got.status, got.header.Get("Content-Type"), got.body)
			}
		})
	}
}

// TestUnknownFormats checks that a name that no form of query has is an error if nothing else names a format, and that empty
// parameters are no second values.
func TestUnknownFormats(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	for _, query := range []string{names, "CONSTRUCT WHERE { ?s ?p ?o }", "ASK {}"} {
		for _, accept := range []string{"*/*", ""} {
			if got := s.ask(query, "format", "jsno", "Accept", accept); got.status != http.StatusNotAcceptable {
				t.Errorf("%s with Accept %q: %d %s", query, accept, got.status, got.body)
			}
		}
	}
	for query, want := range map[string]string{"timeout=&timeout=5&timeout=": "", "explain=&version=": "", "timeout=5&timeout=6": "more than once",
		"default-graph-uri=": "", "default-graph-uri=&default-graph-uri=g": "not an absolute IRI", "named-graph-uris=": "unknown parameter"} {
		got := s.get("/sparql?" + query + "&query=ASK+%7B%7D")
		if want == "" && got.status != 200 || want != "" && (got.status != 400 || !strings.Contains(got.body, want)) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	// An empty text is a text: an update that does nothing, and a query that is none.
	if got := s.do("POST", "/sparql", "", "Content-Type", "application/sparql-update"); got.status != 200 {
		t.Errorf("an empty update: %d %s", got.status, got.body)
	}
	if got := s.get("/sparql?query="); got.status != 400 {
		t.Errorf("an empty query: %d %s", got.status, got.body)
	}
}

// TestPageOfVirtuoso checks that the addresses that Virtuoso's page makes lead a browser to the page with their query.
func TestPageOfVirtuoso(t *testing.T) {
	s, _ := serveTriples(t, people, Options{})
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for format, status := range map[string]int{"text/html": 303, "auto": 303, "": 303, "text/csv": 200, "application/rdf+xml": 200} {
		got := s.get(fmt.Sprintf("/sparql?default-graph-uri=&query=ASK+%%7B%%7D&format=%s&timeout=0&debug=on", url.QueryEscape(format)), "Accept", browser)
		if got.status != status {
			t.Errorf("format=%s: %d %s", format, got.status, got.body)
		}
	}
}
