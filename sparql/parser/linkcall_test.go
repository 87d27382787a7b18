// Tests of the functions of hyperlinks.

package parser

import (
	"strings"
	"testing"
)

// TestLinkCalls: calls come behind the triples of their block, and print as what reads as the same tree.
func TestLinkCalls(t *testing.T) {
	const prefix = "PREFIX links: <urn:trefoil:links:>\n"
	for in, want := range map[string]string{
		"(?p) links:salsa (?s) . ?p <x:q> ?o":                  "?p <x:q> ?o .\n  (?p) links:salsa (?s) .",
		"?p links:salsa ?s":                                    "(?p) links:salsa (?s) .",
		"?p links:hits (?a ?h 3 4)":                            "(?p) links:hits (?a ?h 3 4) .",
		"?p links:weightedHits (?a ?h 3)":                      "(?p) links:weightedHits (?a ?h 3) .",
		"?p links:outDegree ?n ; links:inDegree ?m , ?k":       "(?p) links:outDegree (?n) .\n  (?p) links:inDegree (?m) .\n  (?p) links:inDegree (?k) .",
		"(?p) links:outDegree ?n ; links:inDegree (?m)":        "(?p) links:outDegree (?n) .\n  (?p) links:inDegree (?m) .",
		"<x:a> links:distance (<x:b> 2 ?d) FILTER(?d > 1)":     "(<x:a>) links:distance (<x:b> 2 ?d) .\n  FILTER (?d > 1)",
		"?p links:sample (?q 1) ; links:sampleBackward (?q 2)": "(?p) links:sample (?q 1) .\n  (?p) links:sampleBackward (?q 2) .",
		"?p <x:q> (?o) ; links:pagerank ?s":                    "_:anon1 rdf:first ?o .\n  _:anon1 rdf:rest rdf:nil .\n  ?p <x:q> _:anon1 .\n  (?p) links:pagerank (?s) .",
	} {
		text := prefix + "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>\nSELECT * { " + in + " }"
		got := printed(t, text)
		_, got, _ = strings.Cut(got, "WHERE {\n  ")
		if got = strings.TrimSuffix(strings.TrimSpace(got), "\n}"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
	// A list of arguments takes no label: those of the text stay apart from those of other lists.
	got := printed(t, prefix+"SELECT * { _:anon2 <x:p> 1 . (?p) links:salsa (?s 1 2) . ?p <x:q> [] , (?o) }")
	for _, want := range []string{"_:anon2 <x:p> 1", "?p <x:q> _:anon1 .", "?p <x:q> _:anon3 ."} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	// A template and data have predicates only.
	got = printed(t, prefix+"INSERT { ?p links:pagerank ?s } WHERE { ?p links:pagerank ?s }")
	if !strings.Contains(got, "?p links:pagerank ?s .") || !strings.Contains(got, "(?p) links:pagerank (?s) .") {
		t.Errorf("an update prints as\n%s", got)
	}
}

// TestLinkCallErrors: a mistake is an error at its place that says what is expected.
func TestLinkCallErrors(t *testing.T) {
	for in, want := range map[string]string{
		"?p links:slasa ?s":                       "1:56: there is no function <urn:trefoil:links:slasa> of links; did you mean salsa? The functions of urn:trefoil:links: are salsa, hits, pagerank, distance, sample, sampleBackward, outDegree, inDegree, weightedSalsa, weightedHits",
		"?p links:PageRank ?s":                    "did you mean pagerank?",
		"?p links:nothingLikeIt ?s":               "of links. The functions",
		"?p links:salsa ()":                       "links:salsa has a list of 0 behind it; expected (?page) links:salsa (?score)",
		"?p links:hits ?a":                        "links:hits has a list of 1 behind it; expected (?page) links:hits (?authority ?hub)",
		"?p links:pagerank 0.5":                   "links:pagerank has no variable as argument 1",
		"?p links:distance ?q":                    "links:distance has a list of 1 behind it",
		"?p links:distance (?q ?n)":               "links:distance has no integer from 0 to 100 as argument 2",
		"?p links:distance (?q -1)":               "no integer from 0 to 100",
		"?p links:distance (?q 101)":              "no integer from 0 to 100",
		"?p links:sample (?q 1.5)":                "no integer from 0 to 10000",
		"?p links:sample ('a' 1)":                 "neither a variable nor an IRI as argument 1",
		"?p links:outDegree [ <x:q> ?n ]":         "no variable as argument 1",
		"'a' links:outDegree ?n":                  "stands behind a term that is neither a variable nor an IRI",
		"_:a links:outDegree ?n":                  "stands behind a term",
		"(?p ?q) links:salsa ?s":                  "stands behind a list of 2",
		"() links:salsa ?s":                       "stands behind a list of 0",
		"(?p) links:salsa (?p)":                   "has ?p twice",
		"(?p) links:hits (?a ?a)":                 "has ?a twice",
		"(?p) links:salsa (?s) ; <x:q> ?o":        "the list before a function of links is the subject of another predicate",
		"?p <x:q> ?s . (?p) links:salsa (?s)":     "?s is in scope already: links:salsa needs a variable",
		"(?p) links:salsa (?s) BIND(1 AS ?s)":     "?s is in scope already: BIND",
		"?p links:sample* ?q":                     "<urn:trefoil:links:sample> is a function of links, which no property path can contain",
		"?p ^links:outDegree ?q":                  "no property path",
		"?p !(links:outDegree|<x:q>) ?q":          "no property path",
		"?p <x:q>/(<x:q>|links:none) ?q":          "<urn:trefoil:links:none> is a function of links",
		"GRAPH <x:g> { ?p links:outDegree ?n }":   "links:outDegree stands in GRAPH",
		"SERVICE <x:s> { ?p links:outDegree ?n }": "links:outDegree stands in SERVICE",
		"GRAPH ?g { ?p ?q ?o FILTER EXISTS { { SELECT * { ?p links:salsa ?n } } } }": "stands in GRAPH",
	} {
		_, err := ParseQuery("PREFIX links: <urn:trefoil:links:> SELECT * WHERE { "+in+" }", Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", in, err, want)
		}
	}
	_, err := ParseUpdate("DELETE WHERE { ?p <urn:trefoil:links:outDegree> ?n }", Options{})
	if err == nil || !strings.Contains(err.Error(), "expected DELETE { ... } WHERE") {
		t.Errorf("DELETE WHERE: %v", err)
	}
}
