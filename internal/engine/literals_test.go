// Tests of filters with the trigrams of a text index: random queries with and without it.

package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/triple"
)

// literalWorld is a store with texts, and two engines: one with an index of trigrams, and one without.
type literalWorld struct {
	*testing.T
	random        *rand.Rand
	db            *store.Store
	index         *textsearch.Index
	with, without *Engine
	indexed       int // plans with candidates
}

func newLiteralWorld(t *testing.T, literals int) *literalWorld {
	w := &literalWorld{T: t, random: seed.Rand(t), db: openStore(t)}
	var err error
	if w.index, err = textsearch.Open(w.db, textsearch.Options{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.index.Close(); err != nil {
			t.Error(err)
		}
	})
	w.with, w.without = newEngine(t, w.db, Options{Text: w.index}), newEngine(t, w.db, Options{})
	require.NoError(t, w.index.AddTrigrams(t.Context(), "x:text"))
	var all []triple.Triple
	for i := range literals {
		s := triple.NewIRI(fmt.Sprint("x:s", i))
		all = append(all, triple.Triple{Subject: s, Predicate: triple.NewIRI("x:text"), Object: w.object()},
			triple.Triple{Subject: s, Predicate: triple.NewIRI("x:kind"), Object: triple.NewIRI(fmt.Sprint("x:k", i%3))},
			triple.Triple{Subject: s, Predicate: triple.NewIRI("x:same"), Object: w.object()})
	}
	if _, err := store.Add(t.Context(), w.db, all); err != nil {
		t.Fatal(err)
	}
	w.await()
	return w
}

func (w *literalWorld) await() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	if err := w.index.Await(ctx); err != nil {
		w.Fatal(err)
	}
}

// wordParts are parts of words, some with a special case.
var wordParts = []string{"gra", "ph", "Sto", "RE", "ſ", "ß", "SS", "İ", "i", "I", "ı", "Σ", "ς", "K", "k", "é", "e\u0301", "京", "都", "😀", "ﬁ", "x", "Y"}

func (w *literalWorld) word() string {
	var b strings.Builder
	for range 2 + w.random.IntN(5) {
		b.WriteString(wordParts[w.random.IntN(len(wordParts))])
	}
	return b.String()
}

// object returns a random object: a text as a rule.
func (w *literalWorld) object() triple.Term {
	text := w.word() + " " + w.word()
	switch w.random.IntN(20) {
	case 0:
		return triple.NewIRI("x:" + strings.ReplaceAll(text, " ", "/"))
	case 1:
		return triple.NewTyped(fmt.Sprint(w.random.IntN(100000)), triple.XSDInteger)
	case 2:
		return triple.NewTyped(text, "x:type")
	case 3, 4, 5:
		return triple.NewLang(text, "en")
	case 6:
		return triple.NewString(strings.Repeat("long ", 300) + text)
	}
	return triple.NewString(text)
}

// texts returns the texts of some objects.
func (w *literalWorld) texts(n int) (list []string) {
	r, err := w.db.Reader()
	if err != nil {
		w.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			w.Error(err)
		}
	}()
	for row, err := range r.Match(w.Context(), triple.Pattern{Predicate: triple.NewIRI("x:text")}, store.ReadOptions{}) {
		if err != nil {
			w.Fatal(err)
		}
		t, err := row.Triple()
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, t.Object.Value())
	}
	w.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

// filter returns a random condition on ?x with parts of a text.
func (w *literalWorld) filter(text string) string {
	arg := []string{"?x", "LCASE(?x)", "UCASE(?x)", "STR(?x)", "LCASE(STR(?x))", "UCASE(LCASE(?x))"}[w.random.IntN(6)]
	runes := []rune(text)
	part := func() string {
		n := min(len(runes), 1+w.random.IntN(6))
		from := w.random.IntN(len(runes) - n + 1)
		part := string(runes[from : from+n])
		switch w.random.IntN(4) {
		case 0:
			part = strings.ToLower(part)
		case 1:
			part = strings.ToUpper(part)
		}
		return part
	}
	quote := func(s string) string { return triple.NewString(s).String() }
	flags := []string{"", `, "i"`, `, "q"`, `, "iq"`, `, "x"`}[w.random.IntN(5)]
	switch w.random.IntN(10) {
	case 0:
		return "STRSTARTS(" + arg + ", " + quote(string(runes[:min(len(runes), 4)])) + ")"
	case 1:
		return "STRENDS(" + arg + ", " + quote(string(runes[max(0, len(runes)-4):])) + ")"
	case 2:
		return "REGEX(" + arg + ", " + quote(part()) + flags + ")"
	case 3:
		return "REGEX(" + arg + ", " + quote(part()+"|"+part()) + `, "i")`
	case 4:
		return "REGEX(" + arg + ", " + quote(part()+".*"+part()) + flags + ")"
	case 5:
		return "REGEX(" + arg + ", " + quote("("+part()+")+[a-z]?"+part()) + `, "i")`
	case 6:
		return "(CONTAINS(" + arg + ", " + quote(part()) + ") || CONTAINS(" + arg + ", " + quote(part()) + "))"
	case 7:
		return "(CONTAINS(" + arg + ", " + quote(part()) + ") && STRLEN(STR(?x)) > 7)"
	}
	return "CONTAINS(" + arg + ", " + quote(part()) + ")"
}

// query returns a random query with a filter.
func (w *literalWorld) query(filter string) string {
	return []string{
		"SELECT ?s ?x { ?s <x:text> ?x FILTER %s }",
		"SELECT ?s ?x { ?s <x:text> ?x FILTER %s }",
		"SELECT (COUNT(*) AS ?n) { ?s <x:text> ?x FILTER %s }",
		"SELECT ?s { ?s <x:text> ?x ; <x:kind> <x:k1> FILTER %s }",
		"SELECT ?s ?t { ?s <x:text> ?x . ?t <x:same> ?x FILTER %s }",
		"SELECT ?s ?x { ?s <x:kind> <x:k1> OPTIONAL { ?s <x:text> ?x FILTER %s } }",
		"SELECT ?s { ?s <x:kind> <x:k1> FILTER EXISTS { ?s <x:text> ?x FILTER %s } }",
		"SELECT ?k { { ?s <x:text> ?x FILTER %[1]s } UNION { ?s <x:same> ?x FILTER %[1]s } ?s <x:kind> ?k }",
		"SELECT ?s { ?s <x:kind> ?k MINUS { ?s <x:text> ?x FILTER %s } }",
		"SELECT ?x { { ?s <x:text> ?x } UNION { ?s <x:same> ?x } FILTER %s }",
		"SELECT ?x { ?s <x:text> ?x FILTER %s } ORDER BY ?x",
		"SELECT ?x { ?s <x:text> ?x FILTER %s } ORDER BY DESC(?x)",
		"SELECT ?s { GRAPH ?g { ?s <x:text> ?x FILTER %s } }",
	}[w.random.IntN(13)]
}

// rows returns the sorted rows of a query, and whether its plan has candidates of the index.
func (w *literalWorld) rows(e *Engine, query string) (rows []string, indexed bool) {
	w.Helper()
	q, err := e.Prepare(w.Context(), query, Params{})
	if err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	a, err := q.Run(w.Context())
	if err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	defer a.Close()
	for row, err := range a.Rows() {
		if err != nil {
			w.Fatalf("%s: %v", query, err)
		}
		rows = append(rows, fmt.Sprint(row))
	}
	slices.Sort(rows)
	return rows, strings.Contains(a.Plan().String(), "trigrams of <x:text>")
}

// compare compares the answers of both engines.
func (w *literalWorld) compare(query string) {
	w.Helper()
	want, _ := w.rows(w.without, query)
	got, indexed := w.rows(w.with, query)
	if indexed {
		w.indexed++
	}
	if !slices.Equal(got, want) {
		w.Errorf("%s has %d rows with trigrams (in its plan: %t)\n%.500q\nand %d without\n%.500q", query, len(got), indexed, got, len(want), want)
	}
}

// TestTrigramFilters compares random queries with and without trigrams, between changes.
func TestTrigramFilters(t *testing.T) {
	seed.Slow(t)
	w := newLiteralWorld(t, 2000)
	for range 6 {
		for _, text := range w.texts(40) {
			w.compare(fmt.Sprintf(w.query(""), w.filter(text)))
		}
		var added, deleted []triple.Triple
		for range 50 {
			s := triple.NewIRI(fmt.Sprint("x:s", w.random.IntN(2000)))
			added = append(added, triple.Triple{Subject: s, Predicate: triple.NewIRI("x:text"), Object: w.object(), Graph: []triple.Term{{}, triple.NewIRI("x:g")}[w.random.IntN(2)]})
		}
		for _, text := range w.texts(50) {
			for i := range 2000 {
				if w.random.IntN(500) == 0 {
					deleted = append(deleted, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", i)), Predicate: triple.NewIRI("x:text"), Object: triple.NewString(text)})
				}
			}
		}
		if _, err := store.Add(t.Context(), w.db, added); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Delete(t.Context(), w.db, deleted); err != nil {
			t.Fatal(err)
		}
	}
	if w.indexed < 20 {
		t.Errorf("%d plans used trigrams", w.indexed)
	}
}

// located counts the calls of Position, one for each request for candidates.
type located struct {
	store.Reader
	calls *int
}

// Position implements [store.Reader].
func (l located) Position() (feed.Position, bool, error) {
	*l.calls++
	return l.Reader.Position()
}

// TestTrigramUpdates compares what random updates find with and without trigrams. In some of them an operation changes texts
// before.
func TestTrigramUpdates(t *testing.T) {
	seed.Slow(t)
	w := newLiteralWorld(t, 2000)
	requests := 0
	params := Params{Observe: func(r store.Reader) store.Reader { return located{r, &requests} }}
	var changed, unchanged int
	for i, text := range w.texts(120) {
		// 1. The same operations twice lead to the same state.
		before, filter := "", w.filter(text)
		switch w.random.IntN(4) {
		case 0:
			text := w.texts(1)[0]
			before = fmt.Sprintf("DELETE DATA { <x:s%d> <x:text> %s } ; INSERT DATA { GRAPH <x:g> { <x:new%d> <x:text> %s } } ;\n", w.random.IntN(2000), triple.NewString(text), i, triple.NewString(w.word()+text))
			changed++
		case 1:
			before = fmt.Sprintf("INSERT DATA { <x:new%d> <x:kind> <x:k1> } ;\n", i)
		}
		where := []string{
			"?s <x:text> ?x FILTER %s",
			"?s <x:text> ?x ; <x:kind> <x:k1> FILTER %s",
			"?s <x:kind> <x:k1> OPTIONAL { ?s <x:text> ?x FILTER %s }",
			"?s <x:kind> <x:k1> FILTER EXISTS { ?s <x:text> ?x FILTER %s }",
			"?s <x:kind> ?k MINUS { ?s <x:text> ?x FILTER %s }",
			"GRAPH ?g { ?s <x:text> ?x FILTER %s } FILTER(?g IN (<x:g>))",
		}[w.random.IntN(6)]
		where = fmt.Sprintf(where, filter)
		// 2. Both engines write what they find.
		had := requests
		for e, engine := range []*Engine{w.with, w.without} {
			update := fmt.Sprintf("%sINSERT { GRAPH <x:found%d> { ?s <x:found%d> ?x } GRAPH <x:found%d> { ?s <x:any%d> true } } WHERE { %s }", before, e, i, e, i, where)
			if _, err := engine.Update(t.Context(), update, params); err != nil {
				t.Fatalf("%s: %v", update, err)
			}
		}
		found := func(e int) []string {
			rows, _ := w.rows(w.without, fmt.Sprintf("SELECT ?s ?p ?x { GRAPH <x:found%d> { ?s ?p ?x FILTER(?p IN (<x:found%d>, <x:any%d>)) } }", e, i, i))
			return rows
		}
		if got, want := found(0), found(1); !slices.Equal(got, want) {
			t.Errorf("%s%s finds %d with trigrams\n%.500q\nand %d without\n%.500q", before, where, len(got), got, len(want), want)
		}
		switch {
		case requests == had:
		case strings.Contains(before, "x:text"):
			t.Errorf("%s%s uses candidates", before, where)
		default:
			unchanged++
		}
	}
	if changed == 0 || unchanged < 5 {
		t.Errorf("%d updates changed texts before, and %d others used candidates", changed, unchanged)
	}
}

// TestTrigramsAreExplained: the plan names the trigrams and the number of candidates, and without them it does not.
func TestTrigramsAreExplained(t *testing.T) {
	w := newLiteralWorld(t, 500)
	s := triple.NewIRI("x:one")
	if _, err := store.Add(t.Context(), w.db, []triple.Triple{{Subject: s, Predicate: triple.NewIRI("x:text"), Object: triple.NewString("A needle")}}); err != nil {
		t.Fatal(err)
	}
	plan := func(e *Engine, query string) string {
		t.Helper()
		q, err := e.Prepare(t.Context(), query, Params{})
		require.NoError(t, err)
		p, err := q.Explain(t.Context())
		require.NoError(t, err)
		return p.String()
	}
	const by = " by trigrams of <x:text>: 1 candidate"
	for _, test := range []struct {
		query string
		want  bool
	}{
		{`SELECT ?s { ?s <x:text> ?x FILTER CONTAINS(LCASE(?x), "needle") }`, true},
		{`SELECT ?s { ?s <x:text> ?x FILTER CONTAINS(LCASE(STR(?x)), "needle") }`, true},
		{`SELECT ?s { ?s <x:text> ?x FILTER REGEX(?x, "^a n.*(EEDLE|oodle)$", "i") }`, true},
		{`SELECT ?s { ?s <x:text> ?x ; <x:kind> ?k FILTER STRENDS(?x, "needle") }`, true},
		{`SELECT ?s { ?s <x:text> ?x FILTER CONTAINS(?x, "ne") }`, false},
		{`SELECT ?s { ?s <x:text> ?x FILTER(!CONTAINS(?x, "needle")) }`, false},
		{`SELECT ?s { ?s <x:same> ?x FILTER CONTAINS(?x, "needle") }`, false},
		{`SELECT ?s { ?s <x:text> ?x FILTER(CONTAINS(?x, "needle") || ?x = "other") }`, false},
		{`SELECT ?s { ?s <x:text> ?x FILTER REGEX(?x, "(needle)?") }`, false},
		{`SELECT ?x { <x:s1> <x:text> ?x FILTER CONTAINS(?x, "needle") }`, false},
	} {
		if got := plan(w.with, test.query); strings.Contains(got, by) != test.want {
			t.Errorf("%s: want %q: %t; the plan is\n%s", test.query, by, test.want, got)
		}
		if got := plan(w.without, test.query); strings.Contains(got, "trigrams") {
			t.Errorf("%s: without an index the plan is\n%s", test.query, got)
		}
	}
	// The plan of a user with some graphs does not depend on literals of others.
	limited := graphrights.With(t.Context(), graphrights.New([]triple.Term{{}}, nil))
	q, err := w.with.Prepare(limited, `SELECT ?s { ?s <x:text> ?x FILTER CONTAINS(?x, "needle") }`, Params{})
	require.NoError(t, err)
	if p, err := q.Explain(limited); err != nil || strings.Contains(p.String(), "trigrams") {
		t.Errorf("a user with some graphs: %v\n%v", err, p)
	}
	// Without trigrams the plan is the one before.
	require.NoError(t, w.index.Add(t.Context(), "x:text"))
	w.await()
	if got := plan(w.with, `SELECT ?s { ?s <x:text> ?x FILTER CONTAINS(?x, "needle") }`); strings.Contains(got, "trigrams") {
		t.Errorf("the plan is\n%s", got)
	}
}

// TestTrigramsAmidWrites: each write swaps which of two subjects has a literal. A snapshot has one of both, so each query
// has one row, while literals come and go.
func TestTrigramsAmidWrites(t *testing.T) {
	w := newLiteralWorld(t, 1000)
	one := func(i int) triple.Triple {
		return triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:t", i%2)), Predicate: triple.NewIRI("x:text"), Object: triple.NewString(fmt.Sprint("the needle ", i%4))}
	}
	if _, err := store.Add(t.Context(), w.db, []triple.Triple{one(0)}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if _, err := store.Apply(t.Context(), w.db, store.Steps{Add: slices.Values([]triple.Triple{one(i + 1)}), Delete: slices.Values([]triple.Triple{one(i)})}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	indexed := 0
	for i := range 150 {
		query := fmt.Sprintf(`SELECT ?s ?x { ?s <x:text> ?x FILTER CONTAINS(UCASE(?x), "NEEDLE") } #%d`, i)
		rows, by := w.rows(w.with, query)
		if len(rows) != 1 {
			t.Errorf("%d rows, by trigrams: %t: %q", len(rows), by, rows)
		}
		if by {
			indexed++
		}
	}
	stop()
	writing.Wait()
	if indexed == 0 {
		t.Error("no query used trigrams")
	}
}
