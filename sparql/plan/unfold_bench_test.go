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
		}
	}
	return memsource.New(all)
}

// starQueries are pairs of a query over annotations and one of the same shape over plain nodes.
var starQueries = []struct{ name, annotations, nodes string }{
	{"all", `SELECT ?s ?o ?x ?c { ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s ?p ?o )>> ; <x:rSource> ?x ; <x:rConfidence> ?c }`,
		`SELECT ?s ?x ?c { ?n <x:about> ?s ; <x:nSource> ?x ; <x:nConfidence> ?c }`},
	{"of a source", `SELECT ?s ?o ?c { ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s ?p ?o )>> ; <x:rSource> <x:source7> ; <x:rConfidence> ?c }`,
		`SELECT ?s ?c { ?n <x:about> ?s ; <x:nSource> <x:source7> ; <x:nConfidence> ?c }`},
	{"of a triple", `SELECT ?x ?c { <x:s000100> <x:p1> ?o {| <x:rSource> ?x ; <x:rConfidence> ?c |} }`,
		`SELECT ?x ?c { <x:s000100> <x:p1> ?o . ?n <x:about> <x:s000100> ; <x:nSource> ?x ; <x:nConfidence> ?c }`},
	{"of a subject", `SELECT ?p ?o ?x ?c { <x:s000100> ?p ?o {| <x:rSource> ?x ; <x:rConfidence> ?c |} }`,
		`SELECT ?p ?o ?x ?c { <x:s000100> ?p ?o . ?n <x:about> <x:s000100> ; <x:nSource> ?x ; <x:nConfidence> ?c }`},
	{"of a subject, not asserted", `SELECT ?p ?o ?x ?c { << <x:s000100> ?p ?o >> <x:rSource> ?x ; <x:rConfidence> ?c }`,
		`SELECT ?x ?c { ?n <x:about> <x:s000100> ; <x:nSource> ?x ; <x:nConfidence> ?c }`},
	{"of a subject found by another pattern", `SELECT ?p ?o ?x ?c { ?s <x:p0> <x:o000021> . << ?s <x:p2> ?o >> <x:rSource> ?x ; <x:rConfidence> ?c }`,
		`SELECT ?x ?c { ?s <x:p0> <x:o000021> . ?n <x:about> ?s ; <x:nSource> ?x ; <x:nConfidence> ?c }`},
	{"all asserted", `SELECT ?s ?o ?x ?c { ?s ?p ?o {| <x:rSource> ?x ; <x:rConfidence> ?c |} }`,
		`SELECT ?s ?o ?x ?c { ?s <x:p0> ?o . ?n <x:about> ?s ; <x:nSource> ?x ; <x:nConfidence> ?c }`},
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
					p, err := sparql.Prepare(one.text, sparql.Options{})
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
