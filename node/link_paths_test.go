// Paths over links in queries of a store: from cells, and from rows.

package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/path"
)

// pathQueries are queries with paths over the predicate $L. $A and $B are pages, or other terms.
var pathQueries = []string{
	`SELECT ?b { $A $L+ ?b }`, `SELECT ?b { $A $L* ?b }`, `SELECT ?b { $A $L? ?b }`, `SELECT ?b { $A ^$L+ ?b }`, `SELECT ?a { ?a $L* $B }`,
	`SELECT ?b { $A ($L/$L)+ ?b }`, `SELECT ?b { $A ($L|^$L)* ?b }`, `SELECT ?b { $A (^$L/$L)* ?b }`, `SELECT ?b { $A ($L+/^$L?)? ?b }`, `SELECT ?b { $A $L?/$L?/$L? ?b }`,
	`SELECT (COUNT(*) AS ?n) { $A $L+ ?b }`, `SELECT (COUNT(DISTINCT *) AS ?n) { $A $L?/$L* ?b }`, `SELECT (COUNT(?b) AS ?n) { $A $L* ?b }`,
	`SELECT * { $A $L+ $B }`, `SELECT * { $A $L* $B }`, `SELECT * { $A $L* $A }`, `SELECT * { $A ($L/$L)* $B }`,
	`SELECT * { ?a <x:topic> ?t . ?a $L+ ?b }`, `SELECT * { ?a <x:topic> ?t . ?a $L? ?b . ?b <x:topic> ?t }`, `SELECT * { ?a <x:topic> ?t . ?b $L* ?t }`,
	`SELECT * { ?a <x:topic> ?t . ?a $L+ ?a }`, `SELECT DISTINCT ?t { ?a <x:topic> ?t . ?a $L+ ?b }`, `SELECT ?a { ?a <x:topic> ?t FILTER EXISTS { ?a $L+ $B } }`,
	`SELECT * { ?a <x:topic> ?t OPTIONAL { ?a ($L/$L)+ ?b } }`,
	`SELECT ?b { { SELECT ?x { $A $L+ ?x } } ?x $L? ?b }`,
}

// rowQueries are paths from ends that not every row binds, and of other graphs than the default one.
var rowQueries = []string{
	`SELECT * { ?a $L+ ?b }`, `SELECT * { { ?a <x:topic> ?t } UNION { ?b <x:topic> ?t } ?a $L? ?b }`, `SELECT * { VALUES ?a { $A $B 1 UNDEF } ?a $L* ?b }`,
	`SELECT * { GRAPH ?g { $A $L+ ?b } }`, `SELECT * FROM <x:g> { $A $L* ?b }`, `SELECT * FROM <x:g> FROM <x:h> { $A $L+ ?b }`, `SELECT * { GRAPH <x:g> { ?a $L? $B } }`,
}

// pathStore is a store whose links change.
type pathStore struct {
	*Store
	t      *testing.T
	random *rand.Rand
	mixed  bool // terms that are no pages, and named graphs, are among the changes
}

// page returns a term that may be linked.
func (s *pathStore) page() string {
	if s.random.IntN(30) == 0 {
		return "<http://host.example/" + strings.Repeat("long/", 300) + ">"
	}
	return fmt.Sprintf("<http://host%d.example/%d>", s.random.IntN(3), s.random.IntN(8))
}

// term returns a term of a query.
func (s *pathStore) term() string {
	if s.random.IntN(6) == 0 {
		return []string{`<x:nowhere>`, `<x:topic>`, `"rdf"`, `"no page"@en`}[s.random.IntN(4)]
	}
	return s.page()
}

// change makes a random update.
func (s *pathStore) change() {
	s.t.Helper()
	var text []string
	for i := range 1 + s.random.IntN(5) {
		verb := []string{"INSERT", "INSERT", "DELETE"}[s.random.IntN(3)]
		data := fmt.Sprintf("%s <urn:trefoil:linksTo> %s . %s <x:topic> %q", s.page(), s.page(), s.page(), []string{"rdf", "web"}[s.random.IntN(2)])
		if s.mixed && s.random.IntN(3) == 0 {
			data = fmt.Sprintf("%s <urn:trefoil:linksTo> %s", s.page(), s.term())
			if verb == "INSERT" && s.random.IntN(3) == 0 {
				data = fmt.Sprintf("_:b%d <urn:trefoil:linksTo> %s . %s <urn:trefoil:linksTo> _:b%d", i, s.page(), s.page(), i)
			}
		}
		if s.mixed && s.random.IntN(3) == 0 {
			data = fmt.Sprintf("GRAPH <x:%c> { %s }", 'g'+rune(s.random.IntN(2)), data)
		}
		text = append(text, fmt.Sprintf("%s DATA { %s }", verb, data))
	}
	if _, err := s.Update(s.t.Context(), strings.Join(text, " ;\n"), QueryOptions{}); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

// rows returns the sorted rows of a query, and whether it read cells.
func (s *pathStore) rows(text string) (rows []string, cells bool) {
	s.t.Helper()
	answer, err := s.run(s.t.Context(), text, QueryOptions{}, ast.Select)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	defer answer.Close()
	for row, err := range answer.Rows() {
		if err != nil {
			s.t.Fatalf("%s: %v", text, err)
		}
		rows = append(rows, fmt.Sprint(row))
	}
	slices.Sort(rows)
	return rows, strings.Contains(answer.Plan().Text(false), path.CellsName)
}

// compare compares a query with the same one from rows, whose path is not of links alone. It reports whether
// the first one read cells.
func (s *pathStore) compare(text string) (cells bool) {
	s.t.Helper()
	text = strings.NewReplacer("$A", s.term(), "$B", s.term()).Replace(text)
	got, cells := s.rows(strings.ReplaceAll(text, "$L", "<urn:trefoil:linksTo>"))
	want, not := s.rows(strings.ReplaceAll(text, "$L", "(<urn:trefoil:linksTo>|<x:none>)"))
	if not {
		s.t.Fatalf("%s: a path of two predicates reads cells", text)
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("%s: %d rows, want %d (cells %t)\n%s\nwant\n%s", text, len(got), len(want), cells, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return cells
}

// until repeats do until it returns true, because cells follow the feed, and a query does not wait long.
func (s *pathStore) until(what string, do func() bool) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); !do(); {
		if time.Now().After(end) {
			s.t.Fatalf("after a minute: %s", what)
		}
	}
}

// TestPathsOverLinks compares paths that read cells with the same paths from rows, while links change.
func TestPathsOverLinks(t *testing.T) {
	for _, union := range []bool{false, true} {
		t.Run(fmt.Sprintf("union=%t", union), func(t *testing.T) {
			// 1. Without columns, paths over links read cells.
			db, err := Open(t.TempDir(), Options{ColumnMemory: -1, UnionDefaultGraph: union})
			require.NoError(t, err)
			defer db.Close()
			s := &pathStore{Store: db, t: t, random: seed.Rand(t)}
			if s.change(); s.compare(`SELECT ?b { $A $L+ ?b }`) {
				t.Error("a query reads cells that nobody has opened")
			}
			if _, err := db.Links(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range seed.Rounds(10, 40) {
				s.change()
				for _, text := range pathQueries {
					s.until("no cells are read: "+text, func() bool { return s.compare(text) })
				}
				for _, text := range rowQueries {
					if s.compare(text) {
						t.Errorf("%s reads cells", text)
					}
				}
			}
			// 2. Of mixed triples the rows are read.
			s.mixed = true
			s.until("there are no mixed triples", func() bool {
				s.change()
				return !s.compare(`SELECT ?b { $A $L+ ?b }`) && !s.compare(`SELECT ?b { $A $L? ?b }`)
			})
			for range 20 {
				s.change()
				for _, text := range slices.Concat(pathQueries, rowQueries) {
					s.compare(text)
				}
			}
		})
	}
}

// TestPathsOverColumns: if the predicate has a column, a path reads that, because it is faster.
func TestPathsOverColumns(t *testing.T) {
	db, err := Open(t.TempDir(), Options{ColumnMemory: 1 << 20})
	require.NoError(t, err)
	defer db.Close()
	s := &pathStore{Store: db, t: t, random: seed.Rand(t)}
	if _, err := db.Links(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.until("cells are read in spite of columns", func() bool { return !s.compare(`SELECT ?b { $A $L+ ?b }`) })
}
