// Triple terms in patterns, templates and updates, by example.

package sparql_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

const tripleTermPrologue = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX : <x:> "

// tripleTermData has reifiers of triples with terms of many kinds. Terms of 1 KiB and more are cut in keys.
func tripleTermData(t *testing.T) []triple.Triple {
	t.Helper()
	long := strings.Repeat("long/", 500)
	var all []triple.Triple
	for _, line := range strings.Split(strings.TrimSpace(`
		<x:s> <x:p> <x:o> .
		<x:s> <x:p> 1 .
		<x:r1> rdf:reifies <<( <x:s> <x:p> <x:o> )>> .
		<x:r1> <x:source> <x:a> .
		<x:r2> rdf:reifies <<( <x:s> <x:p> 1 )>> .
		<x:r2> <x:source> <x:b> .
		<x:r3> rdf:reifies <<( <x:s> <x:p> 01 )>> .
		<x:r4> rdf:reifies <<( <x:o> <x:p> <<( <x:s> <x:p> <x:o> )>> )>> .
		<x:r5> rdf:reifies <<( <x:s> <x:q> "chat"@FR )>> .
		<x:r6> rdf:reifies <<( <x:s> <x:q> "chat"@fr--ltr )>> .
		<x:r7> rdf:reifies <<( _:b <x:q> _:c )>> .
		_:b <x:q> _:c .
		<x:long> <x:next> <x:LONG> .
		<x:r8> rdf:reifies <<( <x:LONG> <x:p> <x:o> )>> .
		<x:r9> rdf:reifies <<( <x:LONG> <x:p> "LONG" )>> .
		<x:LONG> <x:p> "LONG" .
		<x:r10> <x:says> <<( <x:s> <x:p> <x:o> )>> .
		<x:a1> <x:m> 1 .
		<x:a2> <x:m> 2 .
		<x:r11> <x:holds> <<( <x:a1> <x:m> <x:a2> )>> .
		<x:r10> rdf:reifies <x:s> .`), "\n") {
		line = strings.ReplaceAll(strings.ReplaceAll(line, "LONG", long), "rdf:reifies", "<"+triple.RDFReifies+">")
		fields := strings.SplitN(strings.TrimSuffix(strings.TrimSpace(line), " ."), " ", 3)
		var terms [3]triple.Term
		for i, field := range fields {
			var err error
			if terms[i], err = triple.ParseTerm(field); err != nil {
				t.Fatal(field, err)
			}
		}
		all = append(all, triple.Triple{Subject: terms[0], Predicate: terms[1], Object: terms[2]})
	}
	inGraph := all[2]
	inGraph.Graph = sparqltest.IRI("g")
	return append(all, inGraph)
}

func TestTripleTermPatterns(t *testing.T) {
	all := tripleTermData(t)
	long := "<x:" + strings.Repeat("long/", 500) + ">"
	rows := memsource.New(all)
	sources := map[string]sparql.Source{"rows": rows, "columns": sparqltest.WithColumns(rows)}
	n := 0
	sources["changed columns"] = sparqltest.WithChangedColumns(all, func() bool { n++; return n%2 == 0 })
	for _, test := range []struct {
		where string
		want  string // the values of ?x, sorted
	}{
		// 1. Ground terms, prefixes and variables inside.
		{`?x rdf:reifies <<( :s :p :o )>>`, "x:r1"},
		{`?x rdf:reifies <<( :s :p 1 )>>`, "x:r2"},
		{`?x ?y <<( :s :p :o )>>`, "x:r1 x:r10"},
		{`?r rdf:reifies <<( :s :p ?x )>>`, "01 1 x:o"},
		{`?x rdf:reifies <<( :s ?p ?o )>>`, "x:r1 x:r2 x:r3 x:r5 x:r6"},
		{`?x rdf:reifies <<( ?s :q ?o )>>`, "x:r5 x:r6 x:r7"},
		{`?x rdf:reifies <<( ?s ?p :o )>>`, "x:r1 x:r8"},
		{`?x rdf:reifies <<( ?s ?p <<( ?s2 ?p ?s )>> )>>`, "x:r4"},
		{`?r rdf:reifies <<( ?s ?p <<( ?x ?p ?s )>> )>>`, "x:s"},
		{`?x rdf:reifies <<( ?a ?p <<( ?a ?p ?a )>> )>>`, ""},
		{`?x ?y <<( <<( :s :p :o )>> ?p ?o )>>`, ""},
		{`<<( ?s ?p ?o )>> ?y ?x`, ""},
		{`<<( :s :p :o )>> ?y ?x`, ""},
		{`?x ?y <<( 1 ?p ?o )>>`, ""},
		// 2. Language tags match in any case, directions as they are.
		{`?x rdf:reifies <<( :s :q "chat"@fr )>>`, "x:r5"},
		{`?x rdf:reifies <<( ?s :q "chat"@FR--ltr )>>`, "x:r6"},
		{`?x rdf:reifies <<( ?s :q "chat" )>>`, ""},
		// 3. Terms are made of bound parts, or looked up by the first ones.
		{`?s ?p ?o . ?x rdf:reifies <<( ?s ?p ?o )>>`, "x:r1 x:r2 x:r7 x:r9"},
		{`:s :p ?o {| :source ?x |}`, "x:a x:b"},
		{`<< :s :p ?o ~ ?x >> :source ?y`, "x:r1 x:r2"},
		{`VALUES ?s { :s } ?x rdf:reifies <<( ?s :p ?o )>>`, "x:r1 x:r2 x:r3"},
		{`VALUES ?o { 1 :o } ?x rdf:reifies <<( :s :p ?o )>>`, "x:r1 x:r2"},
		{`VALUES ?s { 1 :s } VALUES ?o { 1 } ?x rdf:reifies <<( ?s :p ?o )>>`, "x:r2"},
		{`?r :source :a ; rdf:reifies <<( ?s ?p ?o )>> . ?x rdf:reifies <<( ?o ?p <<( ?s ?p ?o )>> )>>`, "x:r4"},
		{`?r rdf:reifies ?t . BIND(OBJECT(?t) AS ?inner) ?x ?says ?inner FILTER(isTRIPLE(?t) && isTRIPLE(?inner))`, "x:r1 x:r10"},
		// By their objects, with columns of predicates without long terms.
		{`?x :says <<( ?s ?p :o )>>`, "x:r10"},
		{`?r :says <<( ?x :p :o )>>`, "x:s"},
		{`?x :says <<( ?s :q :o )>>`, ""},
		{`?x :says <<( ?s ?p :none )>>`, ""},
		{`?r :holds <<( ?x ?p :a2 )>> . ?x ?p 1`, "x:a1"},
		{`?x :says <<( ?s ?p :o )>> ; rdf:reifies :s`, "x:r10"},
		{`?y :says <<( ?s ?p :o )>> . ?x rdf:reifies <<( ?s ?p :o )>>`, "x:r1"},
		// 4. Long terms.
		{`?x rdf:reifies <<( LONG :p :o )>>`, "x:r8"},
		{`?x rdf:reifies <<( LONG :p ?o )>>`, "x:r8 x:r9"},
		{`:long :next ?s . ?x rdf:reifies <<( ?s :p ?o )>>`, "x:r8 x:r9"},
		{`:long :next ?s . ?s :p ?o {| |} `, "error"},
		{`:long :next ?s . ?s :p ?o ~ ?x`, "x:r9"},
		// 5. Other patterns around them.
		{`?r :source ?y OPTIONAL { ?r rdf:reifies <<( ?s ?p ?x )>> FILTER(?x = 1) }`, "1 unbound"},
		{`VALUES ?s { :s :o } OPTIONAL { ?x rdf:reifies <<( ?s :p ?o )>> FILTER(?o = 1) }`, "unbound x:r2 x:r3"},
		{`OPTIONAL { :none :none ?s } ?x rdf:reifies <<( ?s :p ?o )>> . FILTER(?s = :o)`, "x:r4"},
		{`{ ?x rdf:reifies <<( ?s :q ?o )>> } UNION { ?x :says <<( ?s ?p ?o )>> }`, "x:r10 x:r5 x:r6 x:r7"},
		{`?x rdf:reifies ?t MINUS { ?x rdf:reifies <<( :s ?p ?o )>> } FILTER(isTRIPLE(?t))`, "x:r4 x:r7 x:r8 x:r9"},
		{`?s :p ?x FILTER EXISTS { ?r rdf:reifies <<( ?s :p ?x )>> ; :source :a }`, "x:o"},
		{`?x :source ?y FILTER NOT EXISTS { ?x rdf:reifies <<( :s :p ?o )>> FILTER(?o = 1) }`, "x:r1"},
		{`GRAPH ?g { ?x rdf:reifies <<( ?s ?p ?o )>> }`, "x:r1"},
		{`GRAPH :g { ?x rdf:reifies <<( :s ?p ?o )>> }`, "x:r1"},
		{`?x (rdf:reifies|:says) <<( :s :p ?o )>> FILTER(isIRI(?o))`, "x:r1 x:r10"},
		{`?x ^:nothing?/rdf:reifies <<( ?s :p :o )>>`, "x:r1 x:r8"},
		{`<<( :s :p :o )>> (^rdf:reifies|^:says)+ ?x`, "x:r1 x:r10"},
		{`{ SELECT ?s { ?s :p 1 } } ?x rdf:reifies <<( ?s :q ?o )>>`, "x:r5 x:r6"},
		// 6. A condition makes a part equal to another variable, which must not take its place.
		{`?s :m ?o . ?r :holds <<( ?s :m ?x )>> . ?x :m ?y FILTER(?x = ?s)`, ""},
		{`?r rdf:reifies <<( ?x :p ?o )>> . ?x :p ?y FILTER(?x = :s)`, "x:s x:s x:s x:s x:s x:s"},
		{`?r rdf:reifies <<( ?s :p ?x )>> . ?z :p ?y FILTER(?x = ?z && ?y = 5)`, ""},
	} {
		for name, src := range sources {
			text := tripleTermPrologue + "SELECT ?x {" + strings.ReplaceAll(test.where, "LONG", long) + "}"
			got, plan, err := answerOf(src, text)
			if (err != nil) != (test.want == "error") || err == nil && got != test.want {
				t.Errorf("%s over %s: got %q, %v, want %q\n%s", test.where, name, got, err, test.want, plan)
			}
		}
	}
}

// answerOf returns the values of ?x, sorted, and the plan.
func answerOf(src sparql.Source, text string) (string, string, error) {
	result, err := sparql.Query(context.Background(), src, text, sparql.Options{})
	if err != nil {
		return "", "", err
	}
	var values []string
	for row, err := range result.Rows() {
		if err != nil {
			return "", "", err
		}
		if row[0].IsZero() {
			values = append(values, "unbound")
		} else {
			values = append(values, row[0].Value())
		}
	}
	slices.Sort(values)
	return strings.Join(values, " "), result.Plan().Text(true), nil
}

// TestTripleTermTemplates: CONSTRUCT makes triple terms, and leaves out what is no triple.
func TestTripleTermTemplates(t *testing.T) {
	src := memsource.New(tripleTermData(t))
	for _, test := range []struct{ query, want string }{
		{`CONSTRUCT { :x :y <<( ?s :p ?o )>> } { ?s :p ?o FILTER(?s = :s) }`, `<x:x> <x:y> <<( <x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> )>> . <x:x> <x:y> <<( <x:s> <x:p> <x:o> )>> .`},
		{`CONSTRUCT { :x :y <<( ?o :p 1 )>> } { :s :p ?o }`, `<x:x> <x:y> <<( <x:o> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> )>> .`},
		{`CONSTRUCT { :x :y <<( :s :p ?none )>> } { :s :p ?o }`, ``},
		{`CONSTRUCT { :x :y <<( :s ?p <<( :s :p 1 )>> )>> } { VALUES ?p { :p 1 } }`, `<x:x> <x:y> <<( <x:s> <x:p> <<( <x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> )>> )>> .`},
		{`CONSTRUCT { <<( ?s :p ?o )>> :x :y } { ?s :p ?o }`, ``},
		{`CONSTRUCT { _:n :y <<( _:n :p _:m )>> } { }`, `_:N <x:y> <<( _:N <x:p> _:M )>> .`},
		{`CONSTRUCT { ?s :p ?o {| :by :me |} } { ?s :p ?o FILTER(?o = :o) }`, `<x:s> <x:p> <x:o> . _:N <` + triple.RDFReifies + `> <<( <x:s> <x:p> <x:o> )>> . _:N <x:by> <x:me> .`},
		{`DESCRIBE :r7`, `<x:r7> <` + triple.RDFReifies + `> <<( _:b <x:q> _:c )>> . _:b <x:q> _:c .`},
	} {
		result, err := sparql.Query(context.Background(), src, tripleTermPrologue+test.query, sparql.Options{})
		require.NoError(t, err)
		var lines []string
		for tr, err := range result.Triples() {
			require.NoError(t, err)
			lines = append(lines, tr.String())
		}
		slices.Sort(lines)
		got := strings.Join(lines, " ")
		// New blank nodes are named in the order of the triples.
		for _, name := range []string{"N", "M"} {
			if _, rest, ok := strings.Cut(got, "_:q"); ok {
				label, _, _ := strings.Cut(rest, " ")
				got = strings.ReplaceAll(got, "_:q"+label, "_:"+name)
			}
		}
		want := strings.Split(strings.ReplaceAll(test.want, " . ", " .\n"), "\n")
		have := strings.Split(strings.ReplaceAll(got, " . ", " .\n"), "\n")
		slices.Sort(want)
		slices.Sort(have)
		if fmt.Sprint(want) != fmt.Sprint(have) {
			t.Errorf("%s:\n got %s\nwant %s", test.query, have, want)
		}
	}
}

// TestTripleTermUpdates: updates write and delete triple terms, and match language tags in any case.
func TestTripleTermUpdates(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	opts := sparql.Options{}
	opts.Uint64 = random.Uint64
	for _, test := range []struct {
		update         string
		added, deleted int
	}{
		{`INSERT DATA { :n :p 1 {| :by :me |} . :n :q <<( _:b :p _:b )>> }`, 4, 0},
		{`DELETE DATA { :r1 rdf:reifies <<( :s :p :o )>> }`, 0, 1},
		{`DELETE WHERE { ?r rdf:reifies <<( :s :q "chat"@fr )>> }`, 0, 1},
		{`DELETE WHERE { ?r rdf:reifies <<( :s :p ?o )>> }`, 0, 3},
		{`DELETE { ?r rdf:reifies <<( ?s :p ?o )>> } INSERT { ?r rdf:reifies <<( ?s :q ?o )>> } WHERE { ?r rdf:reifies <<( ?s :p ?o )>> ; :source ?x }`, 2, 2},
		{`INSERT { << ?s :p ?o >> :by :me } WHERE { ?s :p ?o FILTER(?s = :s) }`, 4, 0},
		{`INSERT { :x :y <<( ?o :p 1 )>> } WHERE { :s :p ?o }`, 1, 0},
		{`INSERT { :x :y <<( ?t :p 1 )>> } WHERE { :r1 rdf:reifies ?t }`, 0, 0},
		{`INSERT { :x :y ?t } WHERE { ?r rdf:reifies ?t FILTER(isTRIPLE(?t)) }`, 9, 0},
		{`INSERT { :x :y ?o } WHERE { ?r rdf:reifies <<( ?s ?p ?o )>> }`, 8, 0},
	} {
		request, err := sparql.PrepareUpdate(tripleTermPrologue+test.update, opts)
		if err != nil {
			t.Fatalf("%s: %v", test.update, err)
		}
		changes, err := request.Run(context.Background(), memsource.New(tripleTermData(t)))
		if err != nil {
			t.Fatalf("%s: %v", test.update, err)
		}
		added, deleted := slices.Collect(changes.Adds()), slices.Collect(changes.Deletes())
		if len(added) != test.added || len(deleted) != test.deleted {
			t.Errorf("%s: added %v, deleted %v; want %d and %d", test.update, added, deleted, test.added, test.deleted)
		}
		for _, tr := range added {
			if err := tr.Check(); err != nil {
				t.Errorf("%s: %v: %v", test.update, tr, err)
			}
		}
	}
}

// TestTripleTermsOfObject: with columns, the triple terms of an object are looked up, also those of changes and if
// the object has none.
func TestTripleTermsOfObject(t *testing.T) {
	var all []triple.Triple
	for i := range 2000 {
		iri := func(kind string, i int) triple.Term { return sparqltest.IRI(fmt.Sprint(kind, i)) }
		term := triple.NewTripleTerm(iri("s", i), iri("p", i%3), iri("o", i/2))
		all = append(all, triple.Triple{Subject: iri("r", i), Predicate: triple.NewIRI(triple.RDFReifies), Object: term})
	}
	n := 0
	for name, src := range map[string]sparql.Source{
		"columns":         sparqltest.WithColumns(memsource.New(all)),
		"changed columns": sparqltest.WithChangedColumns(all, func() bool { n++; return n%20 > 0 }),
	} {
		for _, test := range []struct{ where, want string }{
			{`?r rdf:reifies <<( ?x ?p :o500 )>>`, "x:s1000 x:s1001"},
			{`?r rdf:reifies <<( ?x :p1 :o500 )>>`, "x:s1000"},
			{`?r rdf:reifies <<( ?x ?p :o2000 )>>`, ""},
		} {
			result, err := sparql.Query(context.Background(), src, tripleTermPrologue+"SELECT ?x {"+test.where+"}", sparql.Options{})
			require.NoError(t, err)
			var values []string
			for row, err := range result.Rows() {
				require.NoError(t, err)
				values = append(values, row[0].Value())
			}
			slices.Sort(values)
			if got := strings.Join(values, " "); got != test.want || result.Plan().TotalReads() > 20 {
				t.Errorf("%s over %s: %q\n%s", test.where, name, got, result.Plan().Text(true))
			}
		}
	}
}
