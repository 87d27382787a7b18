// Stars over annotations of triples, compared with stars over plain nodes.

package plan_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// annotated returns n triples, each with a reifier that has a source and a confidence, and the same with
// nodes that have a subject, predicate and object by three triples.
func annotated(n int) *memsource.Source {
	var all []triple.Triple
	add := func(s, p, o triple.Term) {
		all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o})
	}
	for i := range n {
		s, p, o := sparqltest.IRI(fmt.Sprintf("s%06d", i/3)), sparqltest.IRI(fmt.Sprintf("p%d", i%3)), sparqltest.IRI(fmt.Sprintf("o%06d", i*7%n))
		add(s, p, o)
		for _, kind := range []string{"r", "n"} {
			node := sparqltest.IRI(fmt.Sprintf("%s%06d", kind, i))
			add(node, sparqltest.IRI(kind+"Source"), sparqltest.IRI(fmt.Sprintf("source%d", i%50)))
			add(node, sparqltest.IRI(kind+"Confidence"), triple.NewTyped(fmt.Sprint(i%100), triple.XSDInteger))
			if kind == "r" {
				add(node, triple.NewIRI(triple.RDFReifies), triple.NewTripleTerm(s, p, o))
				continue
			}
			add(node, sparqltest.IRI("about"), s)
			add(node, sparqltest.IRI("pred"), p)
			add(node, sparqltest.IRI("obj"), o)
		}
	}
	return memsource.New(all)
}

// starQueries are pairs of a query over annotations and one of the same shape and the same rows over plain nodes.
var starQueries = []struct{ name, annotations, nodes string }{
	{"all", `SELECT ?s ?o ?x ?c { ?r rdf:reifies <<( ?s ?p ?o )>> ; :rSource ?x ; :rConfidence ?c }`,
		`SELECT ?s ?o ?x ?c { ?n :about ?s ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"of a source", `SELECT ?s ?o ?c { ?r rdf:reifies <<( ?s ?p ?o )>> ; :rSource :source7 ; :rConfidence ?c }`,
		`SELECT ?s ?o ?c { ?n :about ?s ; :obj ?o ; :nSource :source7 ; :nConfidence ?c }`},
	{"of a triple", `SELECT ?x ?c { :s000100 :p1 ?o {| :rSource ?x ; :rConfidence ?c |} }`,
		`SELECT ?x ?c { :s000100 :p1 ?o . ?n :about :s000100 ; :pred :p1 ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"of a subject", `SELECT ?p ?o ?x ?c { :s000100 ?p ?o {| :rSource ?x ; :rConfidence ?c |} }`,
		`SELECT ?p ?o ?x ?c { :s000100 ?p ?o . ?n :about :s000100 ; :pred ?p ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"of a subject, not asserted", `SELECT ?p ?o ?x ?c { << :s000100 ?p ?o >> :rSource ?x ; :rConfidence ?c }`,
		`SELECT ?p ?o ?x ?c { ?n :about :s000100 ; :pred ?p ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"of a subject found by another pattern", `SELECT ?o ?x ?c { ?s :p0 :o000021 . << ?s :p2 ?o >> :rSource ?x ; :rConfidence ?c }`,
		`SELECT ?o ?x ?c { ?s :p0 :o000021 . ?n :about ?s ; :pred :p2 ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"of an object", `SELECT ?s ?x { << ?s :p1 :o000700 >> :rSource ?x }`,
		`SELECT ?s ?x { ?n :about ?s ; :pred :p1 ; :obj :o000700 ; :nSource ?x }`},
	{"of a predicate, asserted", `SELECT ?s ?o ?x ?c { ?s :p0 ?o {| :rSource ?x ; :rConfidence ?c |} }`,
		`SELECT ?s ?o ?x ?c { ?s :p0 ?o . ?n :about ?s ; :pred :p0 ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"of a predicate by source", `SELECT ?x (COUNT(?s) AS ?k) { << ?s :p0 ?o >> :rSource ?x } GROUP BY ?x`,
		`SELECT ?x (COUNT(?s) AS ?k) { ?n :about ?s ; :pred :p0 ; :obj ?o ; :nSource ?x } GROUP BY ?x`},
	{"all asserted", `SELECT ?s ?o ?x ?c { ?s ?p ?o {| :rSource ?x ; :rConfidence ?c |} }`,
		`SELECT ?s ?o ?x ?c { ?s ?p ?o . ?n :about ?s ; :pred ?p ; :obj ?o ; :nSource ?x ; :nConfidence ?c }`},
	{"optional", `SELECT ?s ?o ?x { ?s :p0 ?o OPTIONAL { << ?s :p0 ?o >> :rSource ?x } }`,
		`SELECT ?s ?o ?x { ?s :p0 ?o OPTIONAL { ?n :about ?s ; :pred :p0 ; :obj ?o ; :nSource ?x } }`},
	{"exists", `SELECT ?s ?o { ?s :p0 ?o FILTER EXISTS { << ?s :p0 ?o >> :rSource :source6 } }`,
		`SELECT ?s ?o { ?s :p0 ?o FILTER EXISTS { ?n :about ?s ; :pred :p0 ; :obj ?o ; :nSource :source6 } }`},
}

// BenchmarkStarOverAnnotations runs stars over 100,000 reifiers and over as many plain nodes.
func BenchmarkStarOverAnnotations(b *testing.B) {
	rows := annotated(100_000)
	for _, over := range []struct {
		name string
		src  sparql.Source
	}{{"rows", rows}, {"columns", sparqltest.WithColumns(rows)}} {
		for _, q := range starQueries {
			for _, one := range []struct{ kind, text string }{{"annotations", q.annotations}, {"nodes", q.nodes}} {
				b.Run(over.name+"/"+q.name+"/"+one.kind, func(b *testing.B) {
					p, err := sparql.Prepare("PREFIX : <x:> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "+one.text, sparql.Options{})
					if err != nil {
						b.Fatal(err)
					}
					n := 0
					for b.Loop() {
						result, err := p.Run(context.Background(), over.src)
						if err != nil {
							b.Fatal(err)
						}
						n = 0
						for _, err := range result.Rows() {
							if err != nil {
								b.Fatal(err)
							}
							n++
						}
						if n == 0 {
							b.Fatal("no rows")
						}
					}
					b.ReportMetric(float64(n), "rows")
				})
			}
		}
	}
}
