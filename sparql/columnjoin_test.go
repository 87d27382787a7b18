// Tests of the memory and the counts of joins over columns.

package sparql_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestColumnJoinMemory: a join takes memory for its own variables, not for all of the query.
func TestColumnJoinMemory(t *testing.T) {
	src := sparqltest.WithColumns(sparqltest.People(10))
	const branches, most = 1000, 16 << 20
	var parts []string
	for i := range branches {
		parts = append(parts, fmt.Sprintf("{ ?a%d <x:age> ?b%d . ?a%d <x:name> ?c%d }", i, i, i, i))
	}
	p, err := sparql.Prepare("SELECT * { "+strings.Join(parts, " UNION ")+" }", sparql.Options{})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result, err := p.Run(t.Context(), src)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > most {
		t.Errorf("%d joins take %d bytes", branches, held)
	}
	n := 0
	for _, err := range result.Rows() {
		require.NoError(t, err)
		n++
	}
	if n != 10*branches {
		t.Errorf("%d rows", n)
	}
}

// TestColumnJoinReads: the plan has all reads of a join, those of its last rows, too.
func TestColumnJoinReads(t *testing.T) {
	src := sparqltest.WithColumns(sparqltest.People(100))
	_, plan, err := sparqltest.Count(t.Context(), src, `SELECT * { ?a <x:age> 5 . ?a <x:name> ?c }`, sparql.Options{})
	if text := plan.Text(true); err != nil || !strings.Contains(text, "column join") || !strings.Contains(text, ", read ") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestColumnJoinLargeValues: rows of large terms are in flight a few at a time, whether the join reads
// the terms or gets them from its input.
func TestColumnJoinLargeValues(t *testing.T) {
	const documents, size, most = 300, 128 << 10, 12 << 20
	var all []triple.Triple
	text := sparqltest.IRI("text")
	for i := range 5000 {
		s := sparqltest.IRI(fmt.Sprint("s", i))
		if i < documents {
			all = append(all, triple.Triple{Subject: s, Predicate: text, Object: triple.NewString(strings.Repeat(fmt.Sprintf("%08d", i), size/8))})
		}
		all = append(all, triple.Triple{Subject: s, Predicate: sparqltest.IRI("age"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)})
	}
	src := memsource.New(all)
	set, err := columns.Build(t.Context(), src, 1<<30)
	require.NoError(t, err)
	key, _ := triple.AppendTerm(nil, text)
	for _, stale := range []map[string]struct{}{nil, {string(key): {}}} {
		result, err := sparql.Query(t.Context(), columns.With(src, columns.NewView(set, stale)), `SELECT ?text ?age { ?s <x:text> ?text . ?s <x:age> ?age }`, sparql.Options{})
		require.NoError(t, err)
		n := 0
		for row, err := range result.Rows() {
			require.NoError(t, err)
			join := result.Plan().Inputs[0]
			read := int(join.Rows)
			if len(join.Inputs) > 0 {
				read = int(join.Inputs[0].Rows)
			}
			if join.Operator != "column join" || len(join.Inputs) != len(stale) || (read-n)*size > most {
				t.Fatalf("%d documents are read for row %d\n%s", read, n+1, result.Plan().Text(true))
			}
			if want := strings.Repeat(fmt.Sprintf("%08s", row[1].Value()), size/8); row[0].Value() != want {
				t.Fatalf("row %d has another text", n+1)
			}
			n++
		}
		if n != documents {
			t.Errorf("%d rows", n)
		}
	}
}

// TestColumnJoinTestVariable: a variable of an EXISTS is another one than the variable of the same name
// behind it.
func TestColumnJoinTestVariable(t *testing.T) {
	src := sparqltest.WithColumns(sparqltest.People(10))
	for _, test := range []string{"EXISTS { ?a <x:knows> ?b }", "NOT EXISTS { ?a <x:none> ?b }"} {
		text := "SELECT ?b { { ?a <x:age> 5 FILTER " + test + " } OPTIONAL { ?a <x:name> ?b } }"
		rows, plan := sparqltest.Lines(t, src, text, sparql.Options{})
		if len(rows) != 1 || rows[0] != `["name 5"]` || !strings.Contains(plan, "EXISTS { ?a") {
			t.Errorf("%s: %v\n%s", text, rows, plan)
		}
	}
}

// TestColumnJoinDeletedRow: a row of a cluster may be deleted between the columns and the read of its long
// term. The answer is then that without the row, or with it, and no error.
func TestColumnJoinDeletedRow(t *testing.T) {
	a, b, p, q := sparqltest.IRI("a"), sparqltest.IRI("b"), sparqltest.IRI("p"), sparqltest.IRI("q")
	long := func(text string) triple.Term { return triple.NewString(strings.Repeat(text, 2000)) }
	before := []triple.Triple{
		{Subject: a, Predicate: q, Object: a}, {Subject: b, Predicate: q, Object: b},
		{Subject: a, Predicate: p, Object: long("a")}, {Subject: b, Predicate: p, Object: long("b")},
	}
	set, err := columns.Build(t.Context(), memsource.New(before), 1<<30)
	require.NoError(t, err)
	src := columns.With(memsource.New(before[:3]), columns.NewView(set, nil).WithMovingRows())
	for text, want := range map[string]int{
		`SELECT ?x ?y { ?x <x:q> ?x2 . ?x <x:p> ?y }`:            1,
		`SELECT ?x ?y { ?x <x:q> ?x2 OPTIONAL { ?x <x:p> ?y } }`: 2,
	} {
		if n, plan, err := sparqltest.Count(t.Context(), src, text, sparql.Options{}); err != nil || n != want {
			t.Errorf("%s: %d rows, want %d, %v\n%s", text, n, want, err, plan.Text(true))
		}
	}
}

// TestPathOfAllNodes: a path that begins at each node holds a part of the nodes at a time.
func TestPathOfAllNodes(t *testing.T) {
	const edges = 20_000
	var all []triple.Triple
	for i := range edges {
		all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("p"), Object: sparqltest.IRI(fmt.Sprint("o", i))})
	}
	opts := sparql.Options{Options: exec.Options{Memory: 1 << 20}}
	n, plan, err := sparqltest.Count(t.Context(), sparqltest.WithColumns(memsource.New(all)), `SELECT * { ?a <x:p>* ?b }`, opts)
	if err != nil || n != 3*edges {
		t.Errorf("%d rows, want %d, %v\n%s", n, 3*edges, err, plan.Text(true))
	}
}

// TestEqualityWithoutProduct: however large a pattern is, an equality joins it by keys.
func TestEqualityWithoutProduct(t *testing.T) {
	var all []triple.Triple
	age := func(i, years int) triple.Triple {
		return triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("age"), Object: triple.NewTyped(fmt.Sprint(years), triple.XSDInteger)}
	}
	for i := range 5000 {
		all = append(all, age(i, i))
		if i%10 == 0 {
			all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("heads"), Object: sparqltest.IRI("d")})
		}
	}
	rows := memsource.New(all)
	const hash, column = "hash join ?x = ?y", ". ?x = ?y . ?s <x:age> ?y"
	for _, test := range []struct {
		src      sparql.Source
		memory   int64
		operator string
	}{{rows, 1 << 20, hash}, {sparqltest.WithColumns(rows), 1 << 20, hash}, {sparqltest.WithColumns(rows), 64 << 20, column}} {
		opts := sparql.Options{Options: exec.Options{Memory: test.memory}}
		rows, text := sparqltest.Lines(t, test.src, `SELECT ?h ?s { ?h <x:heads> ?d ; <x:age> ?x . ?s <x:age> ?y FILTER(?x = ?y) }`, opts)
		if len(rows) != 500 || !strings.Contains(text, test.operator) {
			t.Errorf("%d rows, want 500\n%s", len(rows), text)
		}
		for _, row := range rows {
			if h, s, _ := strings.Cut(strings.Trim(row, "[]"), " "); h != s {
				t.Fatalf("%s and %s have one age", h, s)
			}
		}
	}
}

// TestOffsetOfEverything: pages of all triples are the same with columns, and do not read what they skip.
func TestOffsetOfEverything(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var all []triple.Triple
	for range 4000 {
		s := sparqltest.IRI(fmt.Sprint("s", random.IntN(900)))
		if random.IntN(10) == 0 {
			s = triple.NewBlank(fmt.Sprint("b", random.IntN(50)))
		}
		tr := triple.Triple{Subject: s, Predicate: sparqltest.IRI(fmt.Sprint("p", random.IntN(7))), Object: triple.NewTyped(fmt.Sprint(random.IntN(400)), triple.XSDInteger)}
		if random.IntN(8) == 0 {
			tr.Graph = sparqltest.IRI("g")
		}
		all = append(all, tr)
	}
	rows := memsource.New(all)
	src := sparqltest.WithColumns(rows)
	for offset := 990; offset < 4010; offset += 1 + random.IntN(60) {
		query := fmt.Sprintf("SELECT ?s ?p ?o { ?s ?p ?o } OFFSET %d LIMIT 9", offset)
		want, _, err := sparqltest.Answer(t.Context(), rows, query, sparql.Options{})
		require.NoError(t, err)
		got, plan, err := sparqltest.Answer(t.Context(), src, query, sparql.Options{})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("offset %d: %v, want %v, %v", offset, got, want, err)
		}
		if read := plan.TotalReads(); offset >= 1000 && read > 200 {
			t.Errorf("offset %d: %d rows are read\n%s", offset, read, plan.Text(true))
		}
	}
}

// TestOffsetInOrder: pages in the order of a variable are the same with columns, and do not read what they
// skip, unless terms stand elsewhere in the store than in the order.
func TestOffsetInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	terms := []func(n int) triple.Term{
		func(n int) triple.Term { return triple.NewTyped(fmt.Sprint(n-300), triple.XSDInteger) },
		func(n int) triple.Term { return triple.NewTyped(fmt.Sprintf("0%d.0", n%100), triple.XSDDecimal) },
		func(n int) triple.Term { return triple.NewTyped(fmt.Sprintf("%d.5", n%50), triple.XSDDouble) },
		func(n int) triple.Term {
			return triple.NewTyped([]string{"NaN", "INF", "-INF"}[n%3], triple.XSD+"float")
		},
		func(n int) triple.Term { return triple.NewTyped(fmt.Sprintf("19%02d-01-01", n%100), triple.XSDDate) },
		func(n int) triple.Term { return sparqltest.IRI(fmt.Sprint("o", n)) },
		func(n int) triple.Term { return triple.NewString(fmt.Sprint("text ", n)) },
		func(n int) triple.Term { return triple.NewLang(fmt.Sprint("text ", n%9), "en") },
		func(n int) triple.Term { return triple.NewTyped(fmt.Sprint("no number ", n), triple.XSDInteger) },
		func(n int) triple.Term {
			return triple.NewTyped([]string{fmt.Sprintf("P%dD", n%30), "other"}[n%2], []string{triple.XSD + "dayTimeDuration", "x:type"}[n%2])
		},
	}
	for kinds := 1; kinds <= len(terms); kinds++ {
		var all []triple.Triple
		for i := range 3000 {
			kind := random.IntN(kinds)
			if kinds == len(terms) && i%2 == 0 {
				kind = kinds - 1 // more than the least offset that is skipped
			}
			object := terms[kind](random.IntN(700))
			all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", i)), Predicate: sparqltest.IRI("p"), Object: object})
		}
		rows := memsource.New(all)
		src := sparqltest.WithColumns(rows)
		for _, order := range []string{"?o", "DESC(?o)", "?s", "?o ?s"} {
			for offset := 980; offset < 3050; offset += 1 + random.IntN(1200) {
				query := fmt.Sprintf("SELECT ?s ?o { ?s <x:p> ?o } ORDER BY %s OFFSET %d LIMIT 9", order, offset)
				want, _, err := sparqltest.Answer(t.Context(), rows, query, sparql.Options{})
				require.NoError(t, err)
				got, plan, err := sparqltest.Answer(t.Context(), src, query, sparql.Options{})
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s of %d kinds:\n%v, want\n%v, %v\n%s", query, kinds, got, want, err, plan.Text(true))
				}
				if read := plan.TotalReads(); kinds < 3 && offset >= 1000 && strings.Contains(order, "o)") && read > 300 {
					t.Errorf("%s: %d rows are read\n%s", query, read, plan.Text(true))
				}
			}
		}
	}
}
