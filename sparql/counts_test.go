// Counts over columns against the rows that they count.

package sparql_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// countVars are the variables of [countedGroup].
var countVars = []string{"?a", "?b", "?c", "?d", "?e"}

// countedGroup draws patterns with what a join over columns may do below a count.
func countedGroup(t *rapid.T) string {
	var b strings.Builder
	draw := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "part") }
	variable := func() string { return draw(countVars...) }
	pattern := func() string {
		return fmt.Sprintf("%s %s %s .", draw("?a", "?a", "?b", "?c", "<x:n1>"), draw("<x:p>", "<x:q>", "<x:r>"), draw("?a", "?b", "?c", "?d", "?e", "<x:n2>", "1"))
	}
	if rapid.IntRange(0, 2).Draw(t, "linked") == 0 { // by an equality only
		fmt.Fprintf(&b, "?a %s ?b . ?c %s ?d FILTER(?b = ?d) ", draw("<x:p>", "<x:q>"), draw("<x:p>", "<x:q>"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "patterns") {
		b.WriteString(pattern())
	}
	for range rapid.IntRange(0, 3).Draw(t, "others") {
		switch draw("optional", "exists", "not exists", "union", "equal", "unequal", "filter") {
		case "optional":
			fmt.Fprintf(&b, " OPTIONAL { %s }", pattern())
		case "exists":
			fmt.Fprintf(&b, " FILTER EXISTS { %s }", pattern())
		case "not exists":
			fmt.Fprintf(&b, " FILTER NOT EXISTS { %s }", pattern())
		case "union":
			fmt.Fprintf(&b, " { %s } UNION { %s %s } %s", pattern(), pattern(), pattern(), draw("", "UNION { ?a <x:p> ?b } "))
		case "equal":
			fmt.Fprintf(&b, " FILTER(%s = %s)", variable(), variable())
		case "unequal":
			fmt.Fprintf(&b, " FILTER(%s != %s)", variable(), variable())
		case "filter":
			fmt.Fprintf(&b, " FILTER(%s %s)", variable(), draw("> 1", "!= <x:n1>", "!= <x:n1>", "= <x:n2>", "!= <x:none>"))
		}
	}
	return b.String()
}

// countedTriples draws triples whose objects have equal values in several forms.
func countedTriples(t *rapid.T) (all []triple.Triple) {
	objects := []triple.Term{
		sparqltest.IRI("n1"), sparqltest.IRI("n2"), triple.NewBlank("b"), triple.NewString("1"), triple.NewLang("1", "en"),
		triple.NewTyped("1", triple.XSDInteger), triple.NewTyped("01", triple.XSDInteger), triple.NewTyped("2.0", triple.XSDDecimal), triple.NewTyped("2", triple.XSDInteger),
		triple.NewTyped("1.0", triple.XSDDouble), triple.NewTyped("1", triple.XSD+"float"), triple.NewTyped("NaN", triple.XSDDouble), triple.NewTyped("one", triple.XSDInteger),
		triple.NewTyped("2020-01-01", triple.XSDDate), triple.NewTyped("2020-01-01Z", triple.XSDDate), triple.NewTyped("9007199254740993", triple.XSDInteger), triple.NewTyped("9007199254740992", triple.XSDInteger),
	}
	// Few kinds of objects let a column have nodes or numbers only.
	objects = objects[rapid.IntRange(0, 5).Draw(t, "from"):rapid.IntRange(6, len(objects)).Draw(t, "to")]
	seen := map[triple.Triple]bool{}
	for range rapid.IntRange(0, 40).Draw(t, "triples") {
		one := triple.Triple{
			Subject:   rapid.SampledFrom([]triple.Term{sparqltest.IRI("n1"), sparqltest.IRI("n2"), sparqltest.IRI("n3"), triple.NewBlank("b")}).Draw(t, "s"),
			Predicate: rapid.SampledFrom([]triple.Term{sparqltest.IRI("p"), sparqltest.IRI("q"), sparqltest.IRI("r")}).Draw(t, "p"),
			Object:    rapid.SampledFrom(objects).Draw(t, "o"),
		}
		if !seen[one] {
			seen[one] = true
			all = append(all, one)
		}
	}
	return all
}

// TestCountsAlike: counts over columns are those of the rows that plans without columns give.
func TestCountsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body, all := countedGroup(t), countedTriples(t)
		rows := memsource.New(all)
		var columns sparql.Source = sparqltest.WithColumns(rows)
		if rapid.Bool().Draw(t, "changed") {
			columns = changedColumns(t, all)
		}
		// 1. Count the rows, and those that bind each variable.
		text := "SELECT " + strings.Join(countVars, " ") + " { " + body + " }"
		result, err := sparql.Query(t.Context(), rows, text, sparql.Options{})
		require.NoError(t, err)
		var lines []string
		counts := make([]int, 1+len(countVars))
		for row, err := range result.Rows() {
			require.NoError(t, err)
			lines = append(lines, fmt.Sprint(row))
			counts[0]++
			for i, term := range row {
				if !term.IsZero() {
					counts[1+i]++
				}
			}
		}
		// 2. Columns give the same rows.
		got, plan, err := sparqltest.Answer(t.Context(), columns, text, sparql.Options{})
		if err != nil || len(got) != len(lines) || !within(got, lines) {
			t.Fatalf("%s\ngot  %v, %v\nwant %v\n%s", text, got, err, lines, plan.Text(true))
		}
		// 3. They give the same counts, together and one by one, because some plans count rows only.
		for _, of := range [][]int{{0}, {1 + rapid.IntRange(0, len(countVars)-1).Draw(t, "one")}, {0, 1, 2, 3, 4, 5}} {
			text, want := "SELECT", []triple.Term{}
			for _, i := range of {
				text += " (COUNT(" + append([]string{"*"}, countVars...)[i] + fmt.Sprintf(") AS ?n%d)", i)
				want = append(want, number(counts[i]))
			}
			text += " { " + body + " }"
			got, plan, err := sparqltest.Answer(t.Context(), columns, text, sparql.Options{})
			if err != nil || len(got) != 1 || got[0] != fmt.Sprint(want) {
				t.Fatalf("%s\ngot  %v, %v\nwant %v\n%s", text, got, err, want, plan.Text(true))
			}
		}
		// 4. So are those of groups.
		key := rapid.SampledFrom(countVars).Draw(t, "key")
		by := key
		if rapid.IntRange(0, 4).Draw(t, "alias") == 0 {
			by, key = "("+key+" AS ?key)", "?key"
		}
		text = fmt.Sprintf("SELECT %s (COUNT(*) AS ?n) (COUNT(%s) AS ?m) { %s } GROUP BY %s", key, rapid.SampledFrom(countVars).Draw(t, "counted"), body, by)
		want, _, err := sparqltest.Answer(t.Context(), rows, text, sparql.Options{})
		require.NoError(t, err)
		got, plan, err = sparqltest.Answer(t.Context(), columns, text, sparql.Options{})
		if err != nil || len(got) != len(want) || !within(got, want) {
			t.Fatalf("%s\ngot  %v, %v\nwant %v\n%s", text, got, err, want, plan.Text(true))
		}
	})
}

// TestCountForms: what a plan may count without rows is what the rows give, in each form of a count.
func TestCountForms(t *testing.T) {
	var all []triple.Triple
	for i := range 12 {
		s := sparqltest.IRI(fmt.Sprint("n", i))
		all = append(all, triple.Triple{Subject: s, Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI(fmt.Sprint("n", i/2))})
		if i%3 == 0 {
			all = append(all, triple.Triple{Subject: s, Predicate: sparqltest.IRI("q"), Object: number(i % 2)})
		}
	}
	rows := memsource.New(all)
	for text, want := range map[string][]int{
		`(COUNT(*) AS ?n) (COUNT(?b) AS ?m) { ?s <x:p> ?a OPTIONAL { ?s <x:q> ?b } }`:                                      {12, 4},
		`(COUNT(?a) AS ?n) (COUNT(?none) AS ?m) { ?s <x:p> ?a . ?a <x:p> ?b }`:                                             {12, 0},
		`(COUNT(DISTINCT ?a) AS ?n) { ?s <x:p> ?a . ?a <x:p> ?b }`:                                                         {6},
		`(COUNT(DISTINCT ?b) AS ?n) (COUNT(DISTINCT ?b) AS ?m) { ?s <x:p> ?a OPTIONAL { ?s <x:q> ?b } }`:                   {2, 2},
		`(COUNT(DISTINCT *) AS ?n) { { ?s <x:q> ?b } UNION { ?s <x:q> ?b } UNION { ?s <x:p> ?a } }`:                        {16},
		`(COUNT(*) AS ?n) (COUNT(?a) AS ?m) { { ?s <x:q> ?b } UNION { ?s <x:p> ?a OPTIONAL { ?s <x:q> ?b } } }`:            {16, 12},
		`(COUNT(*) AS ?n) { ?s <x:p>+ ?a }`:                                                                                {34},
		`(COUNT(?n) AS ?m) { SELECT ?b (COUNT(?a) AS ?n) { ?s <x:p> ?a OPTIONAL { ?s <x:q> ?b } } GROUP BY ?b }`:           {3},
		`(SUM(?n) AS ?m) { SELECT ?a (COUNT(?b) AS ?n) { ?s <x:p> ?a OPTIONAL { ?s <x:q> ?b } } GROUP BY ?a }`:             {4},
		`(SUM(?n) AS ?m) { SELECT ?b (COUNT(DISTINCT ?a) AS ?n) { ?s <x:p> ?a . ?t <x:p> ?a . ?s <x:q> ?b } GROUP BY ?b }`: {4},
	} {
		for _, src := range []sparql.Source{rows, sparqltest.WithColumns(rows)} {
			var terms []triple.Term
			for _, n := range want {
				terms = append(terms, number(n))
			}
			got, plan, err := sparqltest.Answer(t.Context(), src, "SELECT "+text, sparql.Options{})
			if err != nil || len(got) != 1 || got[0] != fmt.Sprint(terms) {
				t.Errorf("%s\ngot  %v, %v\nwant %v\n%s", text, got, err, terms, plan.Text(true))
			}
		}
	}
}

// TestCountTooLarge: a count beyond 64 bits is an error, and takes no time.
func TestCountTooLarge(t *testing.T) {
	var all []triple.Triple
	for i := range 1000 {
		all = append(all, triple.Triple{Subject: sparqltest.IRI("s"), Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI(fmt.Sprint("o", i))})
	}
	src := sparqltest.WithColumns(memsource.New(all))
	for patterns := range 9 {
		text := "SELECT (COUNT(*) AS ?n) { <x:s> <x:p> ?a "
		for i := range patterns {
			text += fmt.Sprintf(". <x:s> <x:p> ?v%d ", i)
		}
		got, _, err := sparqltest.Answer(t.Context(), src, text+"}", sparql.Options{})
		if want := math.Pow(1000, float64(patterns+1)); want > math.MaxInt64 {
			if err == nil || !strings.Contains(err.Error(), "64 bits") {
				t.Errorf("%d patterns: %v, %v", patterns+1, got, err)
			}
		} else if err != nil || len(got) != 1 || got[0] != fmt.Sprint([]triple.Term{triple.NewTyped(fmt.Sprintf("%.0f", want), triple.XSDInteger)}) {
			t.Errorf("%d patterns: %v, want %.0f, %v", patterns+1, got, want, err)
		}
	}
}

// TestCountsOfTripleTerms compares counts that test triple terms in a join with those of its rows: a BIND needs these.
func TestCountsOfTripleTerms(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	reifies, tested := triple.NewIRI(triple.RDFReifies), 0
	for round := range 10 {
		// 1. Reifiers of triples, of other terms and of long ones.
		var all []triple.Triple
		add := func(s, p, o triple.Term) { all = append(all, triple.Triple{Subject: s, Predicate: p, Object: o}) }
		node := func() triple.Term { return sparqltest.IRI(fmt.Sprintf("n%d", random.IntN(8))) }
		predicate := func() triple.Term { return sparqltest.IRI(fmt.Sprintf("p%d", random.IntN(3))) }
		long := round%3 == 0
		for i := range 100 {
			r := sparqltest.IRI(fmt.Sprintf("r%d", i/2))
			o := node()
			if long && random.IntN(20) == 0 {
				o = triple.NewString(strings.Repeat("long", 400) + fmt.Sprint(i))
			}
			switch random.IntN(8) {
			case 0:
				add(r, reifies, node())
			case 1:
				add(r, reifies, triple.NewTripleTerm(node(), predicate(), triple.NewTripleTerm(node(), predicate(), node())))
			default:
				add(r, reifies, triple.NewTripleTerm(node(), predicate(), o))
			}
			add(r, sparqltest.IRI("source"), node())
		}
		rows := memsource.New(all)
		sources := []sparql.Source{sparqltest.WithColumns(rows), sparqltest.WithChangedColumns(all, func() bool { return random.IntN(3) == 0 }), rows}
		// 2. Each count with and without rows.
		const prefix = "PREFIX : <x:> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> "
		for _, query := range []string{
			`SELECT (COUNT(*) AS ?k) { << ?s :p0 ?o >> :source ?x %s }`,
			`SELECT (COUNT(?s) AS ?k) (COUNT(*) AS ?j) { << ?s ?p ?o >> :source ?x %s }`,
			`SELECT ?x (COUNT(?o) AS ?k) { << ?s :p0 ?o >> :source ?x %s } GROUP BY ?x`,
			`SELECT ?x (COUNT(*) AS ?k) { << ?s ?p :n1 >> :source ?x %s } GROUP BY ?x`,
			`SELECT ?x (COUNT(*) AS ?k) { << :n2 ?p ?o >> :source ?x %s } GROUP BY ?x`,
			`SELECT ?x (COUNT(*) AS ?k) { << ?s :p1 ?s >> :source ?x %s } GROUP BY ?x`,
			`SELECT ?x (COUNT(*) AS ?k) { << ?x :p1 ?o >> :source ?x %s } GROUP BY ?x`,
			`SELECT ?s (COUNT(*) AS ?k) { << ?s :p1 ?o >> :source ?x %s } GROUP BY ?s`,
			`SELECT ?x (COUNT(*) AS ?k) { << ?s :p1 <<( ?a :p2 ?b )>> >> :source ?x %s } GROUP BY ?x`,
			`SELECT ?x (COUNT(?y) AS ?k) { ?r rdf:reifies <<( ?s :p0 ?o )>> ; :source ?x OPTIONAL { ?o :source ?y } %s } GROUP BY ?x`,
			`SELECT (COUNT(*) AS ?k) { ?r rdf:reifies <<( ?s :p0 ?o )>> , <<( ?a :p1 ?b )>> %s }`,
			`SELECT (COUNT(*) AS ?k) { ?r rdf:reifies <<( ?s :p0 ?o )>> FILTER EXISTS { ?r :source :n3 } %s }`,
		} {
			query = prefix + query
			for i, src := range sources {
				want, _ := sparqltest.Lines(t, src, fmt.Sprintf(query, "BIND(1 AS ?one)"), sparql.Options{})
				got, plan := sparqltest.Lines(t, src, fmt.Sprintf(query, ""), sparql.Options{})
				if !slices.Equal(got, want) {
					t.Fatalf("%s over source %d: %s, want %s\n%s", query, i, got, want, plan)
				}
				if strings.Contains(plan, "column join") && strings.Contains(plan, "?.triple = ") && !strings.Contains(plan, "unfold") {
					tested++
				}
			}
		}
	}
	if tested < 50 {
		t.Errorf("only %d counts tested the terms in a join", tested)
	}
}
