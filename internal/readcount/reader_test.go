// Tests of readers that count, on a store, under queries too.

package readcount

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// people opens a store with 20 people who have a name, an age and one friend each. Five names are in
// a graph.
func people(t testing.TB) *store.Store {
	t.Helper()
	db := storetest.Open(t)
	var all []triple.Triple
	for i := range 20 {
		s := iri(fmt.Sprintf("s%02d", i))
		name := triple.Triple{Subject: s, Predicate: iri("name"), Object: triple.NewString(fmt.Sprint("name", i))}
		if i >= 15 {
			name.Graph = iri("g")
		}
		all = append(all, name,
			triple.Triple{Subject: s, Predicate: iri("age"), Object: number(i)},
			triple.Triple{Subject: s, Predicate: iri("knows"), Object: iri(fmt.Sprintf("s%02d", (i+1)%20))})
	}
	if _, err := store.Add(t.Context(), db, all); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, store.Annotate(t.Context(), db, all[0], "app", []byte("note")))
	return db
}

// counted returns what the counter has, as lines of pattern, reads and rows.
func (c *Counter) counted() (lines []string) {
	for k, n := range c.table {
		p := decodePattern(k.pattern)
		var text []string
		for _, term := range p.Terms {
			t, _ := triple.DecodeTerm(term)
			text = append(text, strings.TrimPrefix(t.Value(), "http://ex/"))
			if term == nil {
				text[len(text)-1] = "?"
			}
		}
		if p.DefaultGraph {
			text[3] = "default"
		}
		lines = append(lines, fmt.Sprintf("%s: %d, %d", strings.Join(text, " "), n.reads, n.rows))
	}
	clear(c.table)
	slices.Sort(lines)
	return lines
}

func activeCounter(t testing.TB) *Counter {
	r := &registry{}
	r.add("all", feed.Filter{})
	return newCounter(t, r)
}

// TestReader checks that each call of a reader counts as one read, with the rows that it returned.
func TestReader(t *testing.T) {
	db, c := people(t), activeCounter(t)
	name := triple.Pattern{Predicate: iri("name")}
	first := triple.Triple{Subject: iri("s00"), Predicate: iri("name"), Object: triple.NewString("name0")}
	ages := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{iri("age")}, GE: number(5), LT: number(12)}
	drain := func(r store.Reader, p triple.Pattern, limit int64) {
		for _, err := range r.Match(t.Context(), p, store.ReadOptions{Limit: limit}) {
			require.NoError(t, err)
		}
	}
	for _, test := range []struct {
		what string
		do   func(store.Reader)
		want []string
	}{
		{"match", func(r store.Reader) { drain(r, name, 0) }, []string{"? name ? ?: 1, 20"}},
		{"of the default graph", func(r store.Reader) { drain(r, triple.Pattern{Predicate: iri("name"), DefaultGraph: true}, 0) }, []string{"? name ? default: 1, 15"}},
		{"limit", func(r store.Reader) { drain(r, name, 7) }, []string{"? name ? ?: 1, 7"}},
		{"break", func(r store.Reader) {
			for range r.Match(t.Context(), name, store.ReadOptions{}) {
				break
			}
		}, []string{"? name ? ?: 1, 1"}},
		{"nothing", func(r store.Reader) { drain(r, triple.Pattern{Subject: iri("none")}, 0) }, []string{"none ? ? ?: 1, 0"}},
		{"count", func(r store.Reader) {
			for range 3 {
				if n, err := r.Count(t.Context(), name); n != 20 || err != nil {
					t.Error(n, err)
				}
			}
		}, []string{"? name ? ?: 3, 60"}},
		{"range", func(r store.Reader) {
			for _, err := range r.Range(t.Context(), ages, store.ReadOptions{}) {
				if err != nil {
					t.Error(err)
				}
			}
		}, []string{"? age ? ?: 1, 7"}},
		{"annotations", func(r store.Reader) {
			for _, app := range []string{"app", "other"} {
				if _, err := r.Annotation(t.Context(), first, app); err != nil {
					t.Error(err)
				}
			}
			for _, err := range r.Annotations(t.Context(), first) {
				if err != nil {
					t.Error(err)
				}
			}
		}, []string{"s00 name name0 default: 3, 2"}},
		{"failure", func(r store.Reader) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for _, err := range r.Match(ctx, name, store.ReadOptions{}) {
				if err == nil {
					t.Error("no error")
				}
			}
			if _, err := r.Count(ctx, name); err == nil {
				t.Error("no error")
			}
		}, nil},
		{"estimate", func(r store.Reader) {
			if _, _, err := r.Estimate(t.Context(), name); err != nil {
				t.Error(err)
			}
		}, nil},
	} {
		r, err := db.Reader()
		require.NoError(t, err)
		r = c.Observe(r, anonymous)
		test.do(r)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if got := c.counted(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

// TestQueries checks that each scan and each look-up of a query counts, with the rows that it read.
func TestQueries(t *testing.T) {
	db, c := people(t), activeCounter(t)
	e, err := engine.New(db, engine.Options{})
	require.NoError(t, err)
	var many []triple.Triple
	for i := range 2000 {
		many = append(many, triple.Triple{Subject: iri("m"), Predicate: iri("many"), Object: number(i)})
	}
	if _, err := store.Add(t.Context(), db, many); err != nil {
		t.Fatal(err)
	}
	params := engine.Params{Observe: func(r store.Reader) store.Reader { return c.Observe(r, anonymous) }}
	const prefix = "PREFIX : <http://ex/> "
	for text, want := range map[string][]string{
		`SELECT * { ?s :name ?n }`:                          {"? name ? ?: 1, 20"}, // rows of the graph are read, and left out
		`SELECT * { ?s :many ?n } LIMIT 3`:                  {"? many ? ?: 1, "},
		`SELECT * { GRAPH ?g { ?s ?p ?o } }`:                {"? ? ? ?: 1, 5"},
		`SELECT * { :s03 :name ?n }`:                        {"s03 name ? ?: 1, 1"},
		`SELECT * { :s03 :knows ?t . ?t :age ?a }`:          {"s03 knows ? ?: 1, 1", "s04 age ? ?: 1, 1"},
		`SELECT (COUNT(*) AS ?n) { ?s :age ?a }`:            {"? age ? ?: 1, 20"},
		`ASK { :s03 :knows :s09 }`:                          {"s03 knows s09 default: 1, 0"},
		`SELECT * { ?s :age ?a FILTER(?a >= 5 && ?a < 12)}`: {"? age ? ?: 1, 7"},
		`SELECT * { GRAPH :g { :s16 :name ?n } }`:           {"s16 name ? g: 1, 1"},
		`SELECT * { VALUES ?s { :s01 :s05 :s01 :none } ?s :age ?a }`: {
			"none age ? ?: 1, 0", "s01 age ? ?: 1, 1", "s05 age ? ?: 1, 1"},
	} {
		q, err := e.Prepare(t.Context(), prefix+text, params)
		if err != nil {
			t.Fatal(text, err)
		}
		a, err := q.Run(t.Context())
		if err != nil {
			t.Fatal(text, err)
		}
		for _, err := range a.Rows() {
			if err != nil {
				t.Fatal(text, err)
			}
		}
		a.Close()
		got := c.counted()
		if strings.Contains(text, "LIMIT") {
			var reads, rows int
			if _, err := fmt.Sscanf(got[0], "? many ? ?: %d, %d", &reads, &rows); err != nil || len(got) != 1 || reads != 1 || rows < 3 || rows >= 2000 {
				t.Errorf("%s: %q: %v", text, got, err)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	// The plan alone reads nothing for the client. An update reads what its WHERE does.
	q, err := e.Prepare(t.Context(), prefix+`SELECT * { ?s :knows ?t . ?t :age ?a }`, params)
	require.NoError(t, err)
	if _, err := q.Explain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.counted(); len(got) != 0 {
		t.Errorf("explain: %q", got)
	}
	if _, err := e.Update(t.Context(), prefix+`DELETE WHERE { :s07 :age ?a }`, params); err != nil {
		t.Fatal(err)
	}
	if got := c.counted(); !slices.Equal(got, []string{"s07 age ? ?: 1, 1"}) {
		t.Errorf("update: %q", got)
	}
}

// TestLookup checks that ranges behind the end of a look-up do not count, and that a request with many
// patterns hands them over in time.
func TestLookup(t *testing.T) {
	db, c := people(t), activeCounter(t)
	r, err := db.Reader()
	require.NoError(t, err)
	r = c.Observe(r, anonymous)
	defer r.Close()
	var ranges []triple.Range
	for i := range 1000 {
		scan, err := triple.Pattern{Subject: iri(fmt.Sprintf("s%04d", i))}.Scan(triple.SPO)
		require.NoError(t, err)
		ranges = append(ranges, scan.Range)
	}
	require.NoError(t, r.Source().Lookup(t.Context(), ranges, func(int, []byte, []byte) error { return nil }))
	if n := len(c.table); n < 1000-maxObserved || n > 1000 {
		t.Errorf("the counter has %d", n)
	}
	r.(*reader).flush()
	if got := c.counted(); len(got) != 1000 || got[7] != "s0007 ? ? ?: 1, 0" {
		t.Errorf("%d", len(got))
	}
	// The third row of all ends it.
	ranges = ranges[:0]
	for _, s := range []string{"none", "s00", "s01"} {
		scan, err := triple.Pattern{Subject: iri(s)}.Scan(triple.SPO)
		require.NoError(t, err)
		ranges = append(ranges, scan.Range)
	}
	enough, rows := errors.New("enough"), 0
	err = r.Source().Lookup(t.Context(), ranges, func(int, []byte, []byte) error {
		if rows++; rows == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	r.(*reader).flush()
	if got := c.counted(); !slices.Equal(got, []string{"none ? ? ?: 1, 0", "s00 ? ? ?: 1, 2"}) {
		t.Errorf("%q", got)
	}
}

// TestUnused checks that a reader is left as it is while no subscription needs counts.
func TestUnused(t *testing.T) {
	db := people(t)
	c := newCounter(t, &registry{})
	for _, counter := range []*Counter{nil, c} {
		r, err := db.Reader()
		require.NoError(t, err)
		if got := counter.Observe(r, anonymous); got != r {
			t.Errorf("%T", got)
		}
		if allocs := testing.AllocsPerRun(100, func() { counter.Observe(r, anonymous) }); allocs != 0 {
			t.Error(allocs, "allocations")
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkUnused measures what a request pays for counts while no subscription needs them.
func BenchmarkUnused(b *testing.B) {
	r, err := people(b).Reader()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	c := newCounter(b, &registry{})
	for b.Loop() {
		c.Observe(r, anonymous)
	}
}

// BenchmarkObserve compares a scan of 20 rows and a look-up of one, unobserved and observed.
func BenchmarkObserve(b *testing.B) {
	db := people(b)
	for _, one := range []struct {
		name    string
		counter *Counter
	}{{"none", nil}, {"unused", newCounter(b, &registry{})}, {"used", activeCounter(b)}} {
		for what, p := range map[string]triple.Pattern{"scan": {Predicate: iri("name")}, "look-up": {Subject: iri("s03"), Predicate: iri("name")}} {
			b.Run(what+"/"+one.name, func(b *testing.B) {
				for b.Loop() {
					r, err := db.Reader()
					if err != nil {
						b.Fatal(err)
					}
					r = one.counter.Observe(r, anonymous)
					for _, err := range r.Match(b.Context(), p, store.ReadOptions{}) {
						if err != nil {
							b.Fatal(err)
						}
					}
					if err := r.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
