// Look-ups of many ranges: of IN lists, and of an index of literals.

package sparql_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// coloured returns subjects with one of 40 texts: 1,500 each, but 40,000 the last one.
func coloured() *memsource.Source {
	var all []triple.Triple
	for i := range 40 {
		n := 1500
		if i == 39 {
			n = 40_000
		}
		for k := range n {
			s := triple.NewIRI(fmt.Sprintf("x:s%d.%d", i, k))
			all = append(all, triple.Triple{Subject: s, Predicate: triple.NewIRI("x:p"), Object: triple.NewString(fmt.Sprintf("colour %02d", i))})
			if k == 0 {
				all = append(all, triple.Triple{Subject: s, Predicate: triple.NewIRI("x:first"), Object: triple.NewIRI("x:yes")})
			}
		}
	}
	return memsource.New(all)
}

// TestManyRanges: a variable in many ranges has all rows, in their order, also if these are too many for one look-up.
func TestManyRanges(t *testing.T) {
	var list []string
	for i := 2; i < 40; i++ {
		list = append(list, fmt.Sprintf(`"colour %02d"`, i))
	}
	in := "FILTER(?x IN (" + strings.Join(list, ", ") + "))"
	for _, src := range []sparql.Source{coloured(), sparqltest.WithColumns(coloured())} {
		for _, test := range []struct {
			query string
			want  int
		}{
			{`SELECT ?s ?x { ?s <x:p> ?x ` + in + ` }`, 37*1500 + 40_000},
			{`SELECT ?s ?x { ?s <x:p> ?x ` + in + ` } ORDER BY ?x`, 37*1500 + 40_000},
			{`SELECT ?s ?x { ?s <x:p> ?x ` + in + ` } ORDER BY DESC(?x) LIMIT 70000`, 70_000},
			{`SELECT ?s ?x { ?s <x:p> ?x ` + in + ` } LIMIT 2000`, 2000},
			{`SELECT ?s ?x { ?s <x:first> ?y ; <x:p> ?x ` + in + ` }`, 38},
			{`SELECT ?s ?x { ?s <x:first> ?y OPTIONAL { ?s <x:p> ?x ` + in + ` } }`, 40},
			{`SELECT ?s ?x { VALUES ?n { 1 2 } ?s <x:p> ?x ` + in + ` }`, 2 * (37*1500 + 40_000)},
		} {
			result, err := sparql.Query(t.Context(), src, test.query, sparql.Options{})
			require.NoError(t, err)
			n, last := 0, ""
			for row, err := range result.Rows() {
				require.NoError(t, err)
				n++
				text := row[1].Value()
				if up, down := strings.Contains(test.query, "ORDER BY ?x"), strings.Contains(test.query, "DESC"); last != "" && (up && text < last || down && text > last) {
					t.Fatalf("%s: %s follows %s", test.query, text, last)
				}
				last = text
			}
			result.Close()
			if n != test.want {
				t.Errorf("%s has %d rows, want %d", test.query, n, test.want)
			}
		}
	}
}

// lookups counts the calls for look-ups.
type lookups struct {
	sparql.Source
	calls int
}

func (l *lookups) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	l.calls++
	return l.Source.Lookup(ctx, ranges, each)
}

// TestManyRangesOfRows: the ranges of several rows are looked up together.
func TestManyRangesOfRows(t *testing.T) {
	var all []triple.Triple
	var list []string
	for i := range 40 {
		list = append(list, fmt.Sprint("<x:o", i*10, ">"))
	}
	for i := range 300 {
		p := sparqltest.IRI(fmt.Sprint("p", i))
		all = append(all, triple.Triple{Subject: p, Predicate: sparqltest.IRI("kind"), Object: sparqltest.IRI(fmt.Sprint("k", i%2))})
		for k := range 100 {
			all = append(all, triple.Triple{Subject: sparqltest.IRI(fmt.Sprint("s", k)), Predicate: p, Object: sparqltest.IRI(fmt.Sprint("o", i+k))})
		}
	}
	src := &lookups{Source: memsource.New(all)}
	query := "SELECT ?s ?p ?o { ?p <x:kind> <x:k1> . ?s ?p ?o FILTER(?o IN (" + strings.Join(list, ", ") + ")) } ORDER BY ?p ?o"
	rows := func(src sparql.Source, query string) (rows []string, plan string) {
		result, err := sparql.Query(t.Context(), src, query, sparql.Options{})
		require.NoError(t, err)
		defer result.Close()
		for row, err := range result.Rows() {
			require.NoError(t, err)
			rows = append(rows, fmt.Sprint(row))
		}
		return rows, result.Plan().String()
	}
	got, plan := rows(src, query)
	want, _ := rows(src.Source, strings.NewReplacer("?o IN", "STR(?o) IN", "<x:o", "\"x:o", ">,", "\",", ">))", "\"))").Replace(query))
	if !slices.Equal(got, want) || src.calls > 20 {
		t.Errorf("%d rows by %d look-ups, want %d rows; the plan is\n%s", len(got), src.calls, len(want), plan)
	}
}

// someLiterals is an index of literals that finds those of a function.
type someLiterals struct {
	find   func() ([][]byte, error)
	asked  int
	wanted exec.LiteralRequest
}

// Indexed implements [exec.LiteralIndex].
func (s *someLiterals) Indexed(predicate string) bool { return predicate == "x:p" }

// Candidates implements [exec.LiteralIndex].
func (s *someLiterals) Candidates(_ context.Context, r exec.LiteralRequest) ([][]byte, error) {
	s.asked++
	s.wanted = r
	return s.find()
}

// TestLiteralIndex: a plan requests candidates once for each filter, and reads rows if there are none to be had.
func TestLiteralIndex(t *testing.T) {
	key := func(i int) []byte {
		b, _ := triple.AppendTerm(nil, triple.NewString(fmt.Sprintf("colour %02d", i)))
		return b
	}
	const query = `SELECT ?s ?x { ?s <x:p> ?x FILTER CONTAINS(UCASE(?x), "COLOUR 07") }`
	for _, src := range []sparql.Source{coloured(), sparqltest.WithColumns(coloured())} {
		for _, test := range []struct {
			name string
			find func() ([][]byte, error)
			want string // of the plan
		}{
			{"one", func() ([][]byte, error) { return [][]byte{key(7)}, nil }, "trigrams of <x:p>: 1 candidate"},
			{"others", func() ([][]byte, error) { return [][]byte{key(3), key(7), key(9)}, nil }, "trigrams of <x:p>: 3 candidates"},
			{"error", func() ([][]byte, error) { return nil, errors.New("not now") }, ""},
		} {
			index := &someLiterals{find: test.find}
			result, err := sparql.Query(t.Context(), src, query, sparql.Options{Options: exec.Options{Literals: index}})
			require.NoError(t, err)
			n := 0
			for _, err := range result.Rows() {
				require.NoError(t, err)
				n++
			}
			plan := result.Plan().String()
			result.Close()
			if n != 1500 {
				t.Errorf("%s: %d rows", test.name, n)
			}
			if has := strings.Contains(plan, "trigrams"); has != (test.want != "") || !strings.Contains(plan, test.want) {
				t.Errorf("%s: the plan is\n%s\nwant %q", test.name, plan, test.want)
			}
			if index.asked != 1 || !slices.Equal(index.wanted.Texts[0], []string{"COLOUR 07"}) || index.wanted.Most < 1000 || index.wanted.Most > 100_000/32 {
				t.Errorf("%s: %d requests, the last is %+v", test.name, index.asked, index.wanted)
			}
		}
	}
}
