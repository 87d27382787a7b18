// Tests of the depth of triple terms, in documents, queries and updates.

package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// nestedTerm returns a triple term in the syntax that Turtle and SPARQL share.
func nestedTerm(levels int) string {
	return strings.Repeat("<<( <x:s> <x:p> ", levels) + "1" + strings.Repeat(" )>>", levels)
}

const tooDeep = "triple terms are nested more than 100 deep; name the inner ones by reifiers, or raise --max-nesting"

// TestNestingOfDocuments: each syntax takes 100 levels, and rejects 101 with its place.
func TestNestingOfDocuments(t *testing.T) {
	rdfxml := func(levels int) string {
		return `<rdf:RDF xmlns:rdf="` + triple.RDF + `" xmlns:x="x:" rdf:version="1.2">` + strings.Repeat(`<rdf:Description rdf:about="x:s"><x:p rdf:parseType="Triple">`, levels) +
			`<rdf:Description rdf:about="x:s"><x:p>1</x:p></rdf:Description>` + strings.Repeat(`</x:p></rdf:Description>`, levels) + `</rdf:RDF>`
	}
	for _, test := range []struct {
		name     string
		syntax   syntax.Syntax
		document func(levels int) string
	}{
		{"N-Triples", syntax.NTriples, func(n int) string { return "<x:s> <x:p> " + strings.ReplaceAll(nestedTerm(n), "1", `"1"`) + " ." }},
		{"N-Quads", syntax.NQuads, func(n int) string { return "<x:s> <x:p> " + strings.ReplaceAll(nestedTerm(n), "1", `"1"`) + " <x:g> ." }},
		{"Turtle", syntax.Turtle, func(n int) string { return "<x:s> <x:p> " + nestedTerm(n) + " ." }},
		{"Turtle, annotated", syntax.Turtle, func(n int) string { return "<x:s> <x:p> " + nestedTerm(n-1) + " ~ <x:r> ." }},
		{"Turtle, reified", syntax.Turtle, func(n int) string { return "<< <x:s> <x:p> " + nestedTerm(n-1) + " >> <x:p> 1 ." }},
		{"TriG", syntax.TriG, func(n int) string { return "<x:g> { <x:s> <x:p> " + nestedTerm(n) + " }" }},
		{"RDF/XML", syntax.RDFXML, rdfxml},
	} {
		for _, levels := range []int{triple.DefaultNesting, triple.DefaultNesting + 1} {
			count, deepest := 0, 0
			var failed error
			for tr, err := range syntax.Parse(context.Background(), strings.NewReader(test.document(levels)), test.syntax, syntax.Options{Source: "d"}) {
				if err != nil {
					failed = err
					break
				}
				count++
				deepest = max(deepest, tr.Object.Levels(1000))
			}
			var place *triple.SyntaxError
			switch {
			case levels == triple.DefaultNesting && (failed != nil || deepest != levels):
				t.Errorf("%s: %d levels: %v, %d triples with %d levels", test.name, levels, failed, count, deepest)
			case levels > triple.DefaultNesting && (!errors.As(failed, &place) || place.Line != 1 || !strings.Contains(failed.Error(), tooDeep)):
				t.Errorf("%s: %d levels: %v", test.name, levels, failed)
			}
		}
	}
}

// TestNestingOfFunctions: TRIPLE and templates make no deeper term either. Deeper rows of a store that
// older releases wrote can be read and deleted.
func TestNestingOfFunctions(t *testing.T) {
	triple.SetMaxNesting(500)
	deep, err := triple.ParseTerm(nestedTerm(300))
	triple.SetMaxNesting(0)
	if err != nil {
		t.Fatal(err)
	}
	src := memsource.New([]triple.Triple{{Subject: sparqltest.IRI("a"), Predicate: sparqltest.IRI("p"), Object: deep}})
	for query, want := range map[string]string{
		"SELECT (TRIPLE(<x:s>, <x:p>, " + nestedTerm(99) + ") AS ?t) {}":                       "",
		"SELECT (TRIPLE(<x:s>, <x:p>, " + nestedTerm(100) + ") AS ?t) {}":                      tooDeep,
		"SELECT ?t { BIND(" + nestedTerm(100) + " AS ?o) BIND(<<( <x:s> <x:p> ?o )>> AS ?t) }": tooDeep,
		"SELECT (COALESCE(TRIPLE(<x:s>, <x:p>, ?o), 1) AS ?t) { ?s <x:p> ?o }":                 tooDeep,
		"SELECT ?s { ?s <x:p> ?o FILTER(isTRIPLE(?o)) }":                                       "",
		"SELECT ?o { ?s <x:p> <<( ?a ?b ?o )>> }":                                              "",
	} {
		result, err := sparql.Query(context.Background(), src, query, sparql.Options{})
		rows := 0
		if err == nil {
			for _, e := range result.Rows() {
				if err = errors.Join(err, e); e != nil {
					break
				}
				rows++
			}
			result.Close()
		}
		switch {
		case want == "" && (err != nil || rows != 1):
			t.Errorf("%.100s: %d rows, %v", query, rows, err)
		case want != "" && (err == nil || !strings.Contains(fmt.Sprint(err), want) || !errors.Is(err, expr.ErrLimit)):
			t.Errorf("%.100s: %v", query, err)
		}
	}
}
