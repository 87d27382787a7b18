// Tests of the prefixes of a store: rules, limits, and the hidden row.

package prefixes_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func want(t *testing.T, db store.Triples, want prefixes.Names) {
	t.Helper()
	got, err := prefixes.Read(t.Context(), db)
	if err != nil || !maps.Equal(got, want) {
		t.Fatalf("the store has %v, %v; want %v", got, err, want)
	}
}

// TestRules: the first IRI that a document gives a name stays, a person's replaces it, and a removed
// one is gone.
func TestRules(t *testing.T) {
	db, ctx := open(t), t.Context()
	want(t, db, prefixes.Names{})
	require.NoError(t, prefixes.Keep(ctx, db, prefixes.Names{"ex": "http://a/", "foaf": "http://other/"}))
	want(t, db, prefixes.Names{"ex": "http://a/"}) // foaf is well-known
	require.NoError(t, prefixes.Keep(ctx, db, prefixes.Names{"ex": "http://b/", "new": "http://n/"}))
	want(t, db, prefixes.Names{"ex": "http://a/", "new": "http://n/"})
	require.NoError(t, prefixes.Set(ctx, db, "ex", "http://c/"))
	require.NoError(t, prefixes.Set(ctx, db, "foaf", "http://mine/"))
	require.NoError(t, prefixes.Keep(ctx, db, prefixes.Names{"ex": "http://d/"}))
	want(t, db, prefixes.Names{"ex": "http://c/", "new": "http://n/", "foaf": "http://mine/"})
	require.NoError(t, prefixes.Remove(ctx, db, "ex"))
	require.NoError(t, prefixes.Remove(ctx, db, "foaf"))
	if err := prefixes.Remove(ctx, db, "ex"); !errors.Is(err, prefixes.ErrNotFound) {
		t.Errorf("a second removal: %v", err)
	}
	want(t, db, prefixes.Names{"new": "http://n/"})
	for name, iri := range map[string]string{"": "http://a/", "1a": "http://a/", "é": "http://a/", "x": "relative", "http": "http://a/", "xsd": "http://a/",
		strings.Repeat("n", prefixes.MaxNameBytes+1): "http://a/", "y": "http://a/" + strings.Repeat("i", prefixes.MaxIRIBytes)} {
		if err := prefixes.Set(ctx, db, name, iri); !errors.Is(err, prefixes.ErrInvalid) {
			t.Errorf("%.20q %.20s: %v", name, iri, err)
		}
	}
}

// TestNothingWritten: a document without new prefixes makes no change, so it costs no write.
func TestNothingWritten(t *testing.T) {
	db, ctx := open(t), t.Context()
	position := func() string {
		at, err := db.Feed().Position(ctx)
		require.NoError(t, err)
		return at.String()
	}
	empty := position()
	require.NoError(t, prefixes.Keep(ctx, db, prefixes.Names{"rdf": triple.RDF, "1": "http://a/"}))
	require.NoError(t, prefixes.Keep(ctx, db, nil))
	if position() != empty {
		t.Error("nothing to keep was written")
	}
	require.NoError(t, prefixes.Keep(ctx, db, prefixes.Names{"ex": "http://a/"}))
	after := position()
	require.NoError(t, prefixes.Keep(ctx, db, prefixes.Names{"ex": "http://b/"}))
	if position() != after {
		t.Error("a known prefix was written again")
	}
}

// TestBounds: a document with a million prefixes leaves few, and a store has no more than its most.
func TestBounds(t *testing.T) {
	var found prefixes.Found
	for i := range 1_000_000 {
		found.Add(fmt.Sprintf("p%d", i), fmt.Sprintf("http://ex/%d/", i))
	}
	names := found.Names()
	if len(names) == 0 || len(names) > prefixes.MaxPrefixes {
		t.Fatalf("%d prefixes of a million", len(names))
	}
	db, ctx := open(t), t.Context()
	for i := range 2 + prefixes.MaxPrefixes/len(names) {
		var more prefixes.Found
		for j := range len(names) {
			more.Add(fmt.Sprintf("q%d-%d", i, j), "http://ex/")
		}
		require.NoError(t, prefixes.Keep(ctx, db, more.Names()))
	}
	got, err := prefixes.Read(ctx, db)
	if err != nil || len(got) != prefixes.MaxPrefixes {
		t.Errorf("%d prefixes are kept, %v; want %d", len(got), err, prefixes.MaxPrefixes)
	}
	if err := prefixes.Set(ctx, db, "more", "http://ex/"); !errors.Is(err, prefixes.ErrInvalid) {
		t.Errorf("one more: %v", err)
	}
}

// TestConcurrentKeep: of several documents at a time, one gives a name its IRI, and no name is lost.
func TestConcurrentKeep(t *testing.T) {
	db, ctx := open(t), t.Context()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := prefixes.Keep(ctx, db, prefixes.Names{"ex": fmt.Sprintf("http://%d/", i), fmt.Sprintf("p%d", i): "http://p/"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := prefixes.Read(ctx, db)
	if err != nil || len(got) != 9 {
		t.Errorf("%v, %v", got, err)
	}
}

// TestHidden: no read has the row of prefixes, unless it is of the system graph. Pages have as many rows
// as they ask for.
func TestHidden(t *testing.T) {
	db, ctx := open(t), t.Context()
	r := seed.Rand(t)
	var all []triple.Triple
	for i := range 10 {
		one := triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("urn:%c", 'a'+i*2)), Predicate: triple.NewIRI(fmt.Sprint("urn:trefoil:", i)), Object: triple.NewIRI("urn:o")}
		if i%2 == 1 {
			one.Graph = triple.NewIRI("urn:g")
		}
		all = append(all, one)
	}
	_, err := store.Add(ctx, db, all)
	require.NoError(t, err)
	require.NoError(t, prefixes.Set(ctx, db, "ex", "http://ex/"))
	if got := db.Status().Triples; got != 10 {
		t.Errorf("the status has %d triples", got)
	}
	hidden := prefixes.Hide(db)
	reader, err := hidden.Reader()
	require.NoError(t, err)
	defer reader.Close()
	// 1. Counts, patterns and ranges.
	if n, err := reader.Count(ctx, triple.Pattern{}); n != 10 || err != nil {
		t.Errorf("%d triples, %v", n, err)
	}
	if n, _, err := reader.Estimate(ctx, triple.Pattern{}); n != 10 || err != nil {
		t.Errorf("about %d triples, %v", n, err)
	}
	for _, p := range []triple.Pattern{{Subject: systemgraph.PrefixRow.Subject}, {Predicate: systemgraph.PrefixRow.Predicate}, {Object: systemgraph.PrefixRow.Object}} {
		if n, err := reader.Count(ctx, p); n != 0 || err != nil {
			t.Errorf("%v: %d triples, %v", p, n, err)
		}
	}
	for range 200 {
		reverse, order := r.IntN(2) == 1, triple.Orders[r.IntN(3)]
		for name, read := range map[string]func(store.ReadOptions) []triple.Triple{
			"pattern": func(o store.ReadOptions) []triple.Triple { return rows(t, reader.Match(ctx, triple.Pattern{}, o)) },
			"range": func(o store.ReadOptions) []triple.Triple {
				return rows(t, reader.Range(ctx, triple.Bounds{Order: order}, o))
			},
		} {
			want := read(store.ReadOptions{Reverse: reverse})
			if len(want) != 10 || slices.Contains(want, systemgraph.PrefixRow) {
				t.Fatalf("%s %v: %v", name, order, want)
			}
			o := store.ReadOptions{Reverse: reverse, Offset: r.Int64N(12), Limit: r.Int64N(13)}
			want = want[min(int(o.Offset), 10):]
			if o.Limit > 0 {
				want = want[:min(int(o.Limit), len(want))]
			}
			if got := read(o); !slices.Equal(got, want) {
				t.Errorf("%s %v %+v: %v, want %v", name, order, o, got, want)
			}
		}
	}
	// 2. The system graph.
	system := triple.Pattern{Graph: systemgraph.Graph}
	if n, err := reader.Count(ctx, system); n != 1 || err != nil {
		t.Errorf("the system graph has %d triples, %v", n, err)
	}
	if got := rows(t, reader.Match(ctx, system, store.ReadOptions{})); len(got) != 1 {
		t.Errorf("the system graph is %v", got)
	}
	// 3. Queries.
	for query, want := range map[string]string{
		"SELECT (COUNT(*) AS ?n) { ?s ?p ?o }":                                "5",
		"SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }":                   "5",
		"SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s ?p ?o } }":         "1",
		"SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <urn:trefoil:keeps> ?o } }":  "0",
		"SELECT (COUNT(*) AS ?n) { <urn:trefoil:system> ?p ?o }":              "0",
		"SELECT (COUNT(*) AS ?n) { GRAPH <urn:trefoil:system> { ?s ?p ?o } }": "1",
	} {
		if got := value(ctx, t, db, query); got != want {
			t.Errorf("%s is %s, want %s", query, got, want)
		}
	}
}

func rows(t *testing.T, all func(func(store.Row, error) bool)) (triples []triple.Triple) {
	t.Helper()
	for row, err := range all {
		require.NoError(t, err)
		one, err := row.Triple()
		require.NoError(t, err)
		triples = append(triples, one.Clone())
	}
	return triples
}

// value returns the only value of a query's answer.
func value(ctx context.Context, t *testing.T, db *store.Store, text string) (found string) {
	t.Helper()
	e, err := engine.New(db, engine.Options{})
	require.NoError(t, err)
	query, err := e.Prepare(ctx, text, engine.Params{})
	require.NoError(t, err)
	answer, err := query.Run(ctx)
	require.NoError(t, err)
	defer answer.Close()
	for row, err := range answer.Rows() {
		require.NoError(t, err)
		found = row[0].Value()
	}
	return found
}

// TestClearKeepsPrefixes: an update that clears everything leaves the prefixes, and one that deletes the
// triples of all graphs is not refused because of them.
func TestClearKeepsPrefixes(t *testing.T) {
	db, ctx := open(t), t.Context()
	require.NoError(t, prefixes.Set(ctx, db, "ex", "http://ex/"))
	e, err := engine.New(db, engine.Options{})
	require.NoError(t, err)
	for _, text := range []string{"CLEAR ALL", "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }", "DROP NAMED"} {
		_, err := store.Add(ctx, db, []triple.Triple{{Subject: triple.NewIRI("a:s"), Predicate: triple.NewIRI("a:p"), Object: triple.NewIRI("a:o"), Graph: triple.NewIRI("a:g")}})
		require.NoError(t, err)
		result, err := e.Update(ctx, text, engine.Params{})
		if err != nil || result.Deleted != 1 {
			t.Errorf("%s: %+v, %v", text, result, err)
		}
		want(t, db, prefixes.Names{"ex": "http://ex/"})
	}
}

// TestNames expands and shortens.
func TestNames(t *testing.T) {
	names := prefixes.Names{"b": "http://ex/", "a": "http://ex/", "long": "http://ex/long/", "foaf": "http://mine/"}
	short := names.All().Shortener()
	for iri, want := range map[string]string{
		"http://ex/age": "a:age", "http://ex/long/x": "long:x", "http://ex/": "", "http://ex/a.b": "", "http://ex/long/a/b": "", "http://mine/x": "foaf:x",
		triple.RDFType: "rdf:type", "http://ex/-a": "", "http://ex/a-1_b": "a:a-1_b",
	} {
		if got, ok := short(iri); got != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", iri, got, want)
		}
	}
	merged := names.With(map[string]string{"": "http://ex/", "foaf": "http://doc/"})
	if !maps.Equal(merged, prefixes.Names{"": "http://ex/", "foaf": "http://doc/", "long": "http://ex/long/"}) {
		t.Errorf("merged %v", merged)
	}
}

// moving is a reader each of whose counts is of another moment, as in a cluster: pages get UIDs before the first so many.
type moving struct {
	store.Reader
	t    *testing.T
	db   *store.Store
	left int
	uids int
}

// Count implements [store.Matcher].
func (m *moving) Count(ctx context.Context, all ...triple.Pattern) (int64, error) {
	m.t.Helper()
	r := m.next(ctx)
	defer r.Close()
	return r.Count(ctx, all...)
}

// next returns a reader of the next moment.
func (m *moving) next(ctx context.Context) store.Reader {
	m.t.Helper()
	if m.left > 0 {
		m.left--
		m.uids++
		page := triple.NewIRI(fmt.Sprintf("%s:page%d", systemgraph.IRI, m.uids))
		_, err := store.Add(systemgraph.WithOperator(ctx), m.db, []triple.Triple{{Subject: page, Predicate: page, Object: page, Graph: systemgraph.Graph}})
		require.NoError(m.t, err)
	}
	r, err := m.db.Reader()
	require.NoError(m.t, err)
	return r
}

// Source implements [store.Reader].
func (m *moving) Source() sparql.Source { return movingSource{m.Reader.Source(), m} }

type movingSource struct {
	sparql.Source
	m *moving
}

// Count implements [sparql.Source].
func (s movingSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	reader := s.m.next(ctx)
	defer reader.Close()
	return reader.Source().Count(ctx, r)
}

// TestCountsOfOtherMoments: a count is right although pages get UIDs while it reads: none, some, or before each part.
func TestCountsOfOtherMoments(t *testing.T) {
	for _, left := range []int{0, 1, 2, 3, 5, 8, 1000} {
		db, ctx := open(t), t.Context()
		require.NoError(t, prefixes.Set(ctx, db, "ex", "http://ex/"))
		odd := triple.NewIRI(systemgraph.IRI + ":mine") // of another graph, amid the hidden rows
		p := triple.NewIRI("http://ex/p")
		_, err := store.Add(ctx, db, []triple.Triple{{Subject: p, Predicate: p, Object: p}, {Subject: odd, Predicate: odd, Object: odd}, {Subject: odd, Predicate: p, Object: p, Graph: p}})
		require.NoError(t, err)
		for _, c := range []struct {
			of   triple.Pattern
			want int64
		}{{triple.Pattern{}, 3}, {triple.Pattern{Predicate: p}, 2}, {triple.Pattern{Subject: odd}, 2}, {triple.Pattern{Object: odd}, 1}, {triple.Pattern{Graph: systemgraph.Graph}, 1}} {
			r, err := db.Reader()
			require.NoError(t, err)
			m := &moving{Reader: r, t: t, db: db, left: left}
			if n, err := prefixes.HideIn(m).Count(ctx, c.of); n != c.want || err != nil {
				t.Errorf("%d UIDs meanwhile: %v has %d triples, want %d: %v", left, c.of, n, c.want, err)
			}
			require.NoError(t, r.Close())
		}
		require.NoError(t, db.Close())
	}
}
