// Fuzz test: a printed tree must parse to the same tree.

package parser

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

var seeds = []string{
	"PREFIX l: <urn:trefoil:links:> SELECT * { (?p) l:salsa (?s 1 2) ; l:hits (?a ?b) . ?p l:distance (?q 3 ?d) , (<x:q> 1) ; l:outDegree ?n FILTER(?s > 1) ?p <x:q> (?o) }",
	"PREFIX e: <http://e.example/> SELECT DISTINCT ?a (COUNT(*) AS ?n) FROM <a> { ?a e:p [ e:q (1 'x'@de) ] FILTER regex(?b,\"x\") OPTIONAL { ?a ?q 1 } } GROUP BY ?a HAVING(?n>1) ORDER BY DESC(?n) LIMIT 1",
	"ASK { { ?s ^<a>/(<b>|a)*|!(<c>|^a) ?o } UNION { SELECT * { ?s ?p ?o } } MINUS { } GRAPH ?g { } BIND(1+2*-3 AS ?x) VALUES (?v ?w) { (1 UNDEF) } }",
	"CONSTRUCT { ?s ?p _:b } WHERE { SERVICE SILENT <s> { ?s ?p ?o } FILTER NOT EXISTS { ?s <x:p> [] } }",
	"CONSTRUCT WHERE { ?s ?p [] }", "DESCRIBE <x> ?y", "SELECT (SUM(?x+1) AS ?s) (?s*2 AS ?t) { } ORDER BY ?z VALUES ?z { 1 2 }",
	"INSERT DATA { _:a <p> 1 . GRAPH <g> { <s> <p> 2,3 } } ; DELETE WHERE { ?s ?p 1 } ; LOAD SILENT <l> INTO GRAPH <g> ; ADD DEFAULT TO <g>",
	"WITH <w> DELETE { ?s ?p ?o } INSERT { GRAPH ?g { ?s ?p [] } } USING <u> WHERE { GRAPH ?g { ?s ?p ?o FILTER(IRI(?o) IN (1, true)) } } ; DROP ALL",
	`ASK { ?s <\u0061:b> "\U0001F46a\\u0041" FILTER(?a<?b&&?c>?d || "x"^^<t> = """y""" ) }`,
	`VERSION "1.2" SELECT * { <<?s ?p<<<x:a>a 1~?r>>>> ?q <<(?s<x:p><<(_:b ?p[])>>)>>{|?x?y|}~<x:i>{|<x:p>1|} BIND(<<(?s a<<(?x?y"z"@ar--rtl)>>)>>AS?t) VALUES ?v { <<(<a>a<<(<b><c>1)>>)>> } FILTER(!!isTRIPLE(SUBJECT(?t))) }`,
	"INSERT DATA { <s> <p> 1 {| <q> _:b |} . << _:b <p> <<( _:c <p> 2 )>> ~ <r> >> } ; DELETE { ?s ?p <<( ?a ?b ?c )>> } INSERT { <<?a ?b ?c>> ?p [] } WHERE { ?s ?p <<( ?a ?b ?c )>> } ; DELETE WHERE { ?s ?p <<( <x:s> ?b 'x'@en )>> }",
	"SELECT (123 AS ?z) (COUNT(?z) AS ?n) { ?s <p> ?z } GROUP BY ?s HAVING(?z > 1 && COUNT(?z) > 2) ORDER BY ?z",
	"ASK { FILTER(true-true--1+1 != ! ?x && bound(?x)) _:anon1 ?p [], [] }",
}

// FuzzParse: the parser must end and not panic, and errors must have a place in the text. If a
// text parses, it must survive the printer, and its translation must have a simplification
// stable under Simplify.
func FuzzParse(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		opts := Options{Base: "http://b.example/dir/doc", MaxDepth: 50, MaxBytes: 1 << 14, MaxNodes: 5000}
		if q, err := ParseQuery(text, opts); err != nil {
			checkPlace(t, text, err)
		} else {
			checkRoundTrip(t, q, ParseQuery)
			checkAlgebra(t, algebra.Translate(q).Body)
		}
		if u, err := ParseUpdate(text, opts); err != nil {
			checkPlace(t, text, err)
		} else {
			checkRoundTrip(t, u, ParseUpdate)
			for _, op := range u.Operations {
				if m, ok := op.(*ast.Modify); ok {
					checkAlgebra(t, algebra.TranslateModify(m).Body)
				}
			}
		}
		if _, err := ParsePattern(text, opts); err != nil {
			checkPlace(t, text, err)
		}
	})
}

func checkPlace(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *triple.SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%T: %v", err, err)
	}
	if syntax.Line < 1 || syntax.Column < 1 || syntax.Offset < 0 || syntax.Offset > int64(len(text)) || syntax.Msg == "" {
		t.Fatalf("place of %#v", syntax)
	}
}

func checkAlgebra(t *testing.T, body algebra.Body) {
	t.Helper()
	simple := body.Simplify()
	again := simple.Simplify()
	if text, other := simple.String(), again.String(); text != other {
		t.Fatalf("simplified\n%s\nand again\n%s", text, other)
	}
	certain, possible := algebra.Vars(body.Root)
	simpleCertain, simplePossible := algebra.Vars(simple.Root)
	if !possible.ContainsAll(certain) || !simpleCertain.ContainsAll(certain) || !possible.ContainsAll(simplePossible) {
		t.Fatalf("variables %v of %v become %v of %v in\n%s", certain, possible, simpleCertain, simplePossible, simple.String())
	}
}
