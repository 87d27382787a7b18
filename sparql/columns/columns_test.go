// Sets of columns against plain maps.

package columns_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// key returns the form of a term in keys.
func key(t triple.Term) string {
	b, _ := triple.AppendTerm(nil, t)
	return string(b)
}

// build returns the set of some triples.
func build(t require.T, all []triple.Triple) *columns.Set {
	set, err := columns.Build(context.Background(), memsource.New(all), 1<<30)
	require.NoError(t, err)
	return set
}

// drawTriples draws triples of few terms, so that lists have several values. Some are in a named graph.
func drawTriples(t *rapid.T) (all []triple.Triple) {
	terms := []triple.Term{triple.NewBlank("b"), triple.NewString(""), triple.NewString("a\x00b"), triple.NewLang("a", "en"), triple.NewTyped("1", triple.XSDInteger), triple.NewTyped("01", triple.XSDInteger)}
	for i := range 40 {
		terms = append(terms, triple.NewIRI(fmt.Sprintf("http://example.org/%s%d", strings.Repeat("path/", i%7), i)))
	}
	nodes := slices.DeleteFunc(slices.Clone(terms), func(t triple.Term) bool { return t.Kind() == triple.Literal })
	for range rapid.IntRange(0, 300).Draw(t, "triples") {
		one := triple.Triple{
			Subject:   rapid.SampledFrom(nodes).Draw(t, "s"),
			Predicate: triple.NewIRI(fmt.Sprintf("http://example.org/p%d", rapid.IntRange(0, 3).Draw(t, "p"))),
			Object:    rapid.SampledFrom(terms).Draw(t, "o"),
		}
		if rapid.IntRange(0, 9).Draw(t, "g") == 0 {
			one.Graph = terms[6]
		}
		all = append(all, one)
	}
	return all
}

// The set of a source has the triples of its default graph, in both directions.
func TestBuild(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawTriples(t)
		set := build(t, all)
		// 1. Make the expected pairs of each predicate.
		type pair struct{ key, value string }
		want := map[string][2][]pair{}
		terms := map[string]bool{}
		for _, one := range all {
			if !one.Graph.IsZero() {
				continue
			}
			s, o := key(one.Subject), key(one.Object)
			terms[s], terms[o] = true, true
			w := want[key(one.Predicate)]
			w[0], w[1] = append(w[0], pair{s, o}), append(w[1], pair{o, s})
			want[key(one.Predicate)] = w
		}
		// 2. The dictionary has each term once, in order.
		d := &set.Dictionary
		if d.Len() != len(terms) {
			t.Fatalf("%d terms, not %d", d.Len(), len(terms))
		}
		var before []byte
		for n := range uint32(d.Len()) {
			term := d.Append(nil, n+1)
			if n > 0 && bytes.Compare(before, term) >= 0 || !terms[string(term)] || d.Number(term) != n+1 {
				t.Fatalf("term %d is %q after %q", n+1, term, before)
			}
			if got := d.Spans(nil, term, append(slices.Clone(term), 0)); !slices.Equal(got, [][2]uint32{{n + 1, n + 2}}) {
				t.Fatalf("%q and what is behind it: %d", term, got)
			}
			before = term
		}
		// 3. The lists have the pairs, sorted.
		for predicate, w := range want {
			c := set.Column(predicate)
			for i, l := range []*columns.Lists{&c.BySubject, &c.ByObject} {
				var got []pair
				near := 0
				for k := range l.Keys() {
					lo, hi := l.Bounds(k)
					if at, ok := l.Find(l.Key(k), near); !ok || at != k {
						t.Fatalf("key %d of %q is found at %d", k, predicate, at)
					}
					if keys, values := l.Count(0, l.Key(k)); keys != k || values != lo {
						t.Fatalf("%d keys and %d values before key %d of %q", keys, values, k, predicate)
					}
					near = rapid.IntRange(0, k).Draw(t, "near")
					for j := lo; j < hi; j++ {
						if at := l.FindValue(lo, hi, l.Value(j)); at != j {
							t.Fatalf("value %d of %q is found at %d", j, predicate, at)
						}
						got = append(got, pair{string(d.Append(nil, l.Key(k))), string(d.Append(nil, l.Value(j)))})
					}
				}
				compare := func(a, b pair) int {
					return 2*strings.Compare(a.key, b.key) + strings.Compare(a.value, b.value)
				}
				slices.SortFunc(w[i], compare)
				if w := slices.Compact(w[i]); !slices.Equal(got, w) {
					t.Fatalf("%q, direction %d: %q, not %q", predicate, i, got, w)
				}
			}
		}
		if c := set.Column(key(triple.NewIRI("http://example.org/none"))); c.Rows() != 0 {
			t.Fatal("a predicate without triples has no empty column")
		}
	})
}

// A key that is missing is found at the place of the next one, from wherever the search begins.
func TestFind(t *testing.T) {
	var all []triple.Triple
	for i := range 500 {
		s := triple.NewIRI(fmt.Sprintf("http://example.org/%04d", i))
		p := triple.NewIRI([]string{"p:even", "p:odd"}[i%2])
		all = append(all, triple.Triple{Subject: s, Predicate: p, Object: s})
	}
	c := build(t, all).Column(key(triple.NewIRI("p:odd")))
	l := &c.BySubject
	for near := range l.Keys() + 1 {
		for n := uint32(1); n <= 500; n++ {
			want := int((n - 1) / 2)
			if place, ok := l.Find(n, near); place != want || ok != (n%2 == 0) {
				t.Fatalf("number %d from %d: %d, %t", n, near, place, ok)
			}
		}
	}
}

// A column says if it has long terms, and the dictionary has their form in keys.
func TestLongTerms(t *testing.T) {
	long := triple.NewString(strings.Repeat("long", 300))
	s, p, q := triple.NewIRI("x:s"), triple.NewIRI("x:p"), triple.NewIRI("x:q")
	iri := triple.NewIRI("x:" + strings.Repeat("long", 300))
	set := build(t, []triple.Triple{
		{Subject: s, Predicate: p, Object: long}, {Subject: s, Predicate: p, Object: s},
		{Subject: s, Predicate: q, Object: s}, {Subject: iri, Predicate: q, Object: s},
	})
	if c := set.Column(key(p)); c.Rows() != 2 || c.LongSubjects || !c.LongObjects {
		t.Errorf("%+v", c)
	}
	if c := set.Column(key(q)); c.Rows() != 2 || !c.LongSubjects || c.LongObjects {
		t.Errorf("%+v", c)
	}
	form, _ := triple.AppendTerm(nil, long)
	if n := set.Dictionary.Number(form); n == 0 || set.Dictionary.Len() != 3 {
		t.Errorf("number %d of %d", n, set.Dictionary.Len())
	}
}

// A set does not take more memory than allowed, and a build ends with its context.
func TestLimits(t *testing.T) {
	var all []triple.Triple
	for i := range 40_000 {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("x:%d", i)), Predicate: triple.NewIRI("x:p"), Object: triple.NewIRI("x:o")})
	}
	src := memsource.New(all)
	set, err := columns.Build(t.Context(), src, 1<<30)
	require.NoError(t, err)
	if _, err := columns.Build(t.Context(), src, set.Bytes()); err != nil {
		t.Errorf("with exactly its bytes: %v", err)
	}
	for _, limit := range []int64{0, 1000, set.Bytes() - 1} {
		if _, err := columns.Build(t.Context(), src, limit); !errors.Is(err, columns.ErrTooLarge) {
			t.Errorf("with %d bytes: %v", limit, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := columns.Build(ctx, src, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}

// The limit holds for many predicates of few triples, too.
func TestManyPredicates(t *testing.T) {
	const predicates, limit = 10_000, 2 << 20
	var all []triple.Triple
	s := triple.NewIRI("x:s")
	for i := range predicates {
		all = append(all, triple.Triple{Subject: s, Predicate: triple.NewIRI(fmt.Sprintf("x:p%d", i)), Object: s})
	}
	src := memsource.New(all)
	if _, err := columns.Build(t.Context(), src, limit); !errors.Is(err, columns.ErrTooLarge) {
		t.Errorf("%d columns in %d bytes: %v", predicates, limit, err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	set, err := columns.Build(t.Context(), src, 1<<30)
	require.NoError(t, err)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(src)
	runtime.KeepAlive(all)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); set.Bytes() < held/2 || set.Bytes() > 2*held {
		t.Errorf("a set of %d bytes takes %d", set.Bytes(), held)
	}
}

// endingSource ends a context behind the scans of the dictionary.
type endingSource struct {
	source.Source
	end   context.CancelFunc
	scans int
}

func (s *endingSource) Scan(ctx context.Context, r triple.Range, reverse bool) (source.Rows, error) {
	rows, err := s.Source.Scan(ctx, r, reverse)
	if s.scans++; s.scans == 2 {
		return endingRows{rows, s.end}, err
	}
	return rows, err
}

// endingRows end a context when they are closed.
type endingRows struct {
	source.Rows
	end context.CancelFunc
}

func (r endingRows) Close() error {
	r.end()
	return r.Rows.Close()
}

// A build that ends behind the dictionary numbers no terms, because of millions that takes seconds.
func TestBuildEnds(t *testing.T) {
	p := triple.NewIRI("x:p")
	ctx, cancel := context.WithCancel(t.Context())
	src := &endingSource{Source: memsource.New([]triple.Triple{{Subject: p, Predicate: p, Object: p}}), end: cancel}
	if _, err := columns.Build(ctx, src, 1<<20); !errors.Is(err, context.Canceled) || src.scans != 2 {
		t.Errorf("%v after %d scans", err, src.scans)
	}
}

// A view leaves out the columns of stale predicates.
func TestView(t *testing.T) {
	p, q := triple.NewIRI("x:p"), triple.NewIRI("x:q")
	src := memsource.New([]triple.Triple{{Subject: p, Predicate: p, Object: p}, {Subject: p, Predicate: q, Object: p}})
	set, err := columns.Build(t.Context(), src, 1<<30)
	require.NoError(t, err)
	view := columns.NewView(set, map[string]struct{}{key(p): {}})
	if _, ok := view.Column(key(p)); ok {
		t.Error("a stale predicate has a column")
	}
	if c, ok := view.Column(key(q)); !ok || c.Rows() != 1 {
		t.Error("another predicate has none")
	}
	if columns.FromSource(t.Context(), src) != nil || columns.FromSource(t.Context(), columns.With(src, view)) != view {
		t.Error("a source has other columns than it was given")
	}
}
