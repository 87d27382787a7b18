// Tests of the registry: what it reads of a store, and functions that are replaced.

package functions

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// rangedReader fails the test if it scans a range that has triples of other graphs.
type rangedReader struct {
	store.Reader
	t *testing.T
}

func (r rangedReader) check(keys triple.Range, err error) {
	r.t.Helper()
	graph, _ := triple.AppendTerm(nil, systemgraph.Graph)
	if order, terms := keys.SharedTerms(); err != nil || order != triple.GSPO || string(terms[triple.Graph]) != string(graph) {
		r.t.Errorf("the range from %q to %q has other triples; %v", keys.Lo, keys.Hi, err)
	}
}

func (r rangedReader) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	scan, err := p.Scan(p.Best())
	r.check(scan.Range, err)
	return r.Reader.Match(ctx, p, o)
}

func (r rangedReader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	keys, err := b.KeyRange()
	r.check(keys.Range, err)
	return r.Reader.Range(ctx, b, o)
}

// TestNames checks that the registry scans the system graph only, and names functions only. Clients
// can write the same triples to other graphs, and a scan of all would be long.
func TestNames(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	b.put(Registration{Name: "second", Pattern: "? <http://example.org/p> ?"}, module(t, "inverse"))
	b.put(Registration{Name: "first", Pattern: "? <http://example.org/p> ?"}, module(t, "inverse"))
	other, wrong := tripleOf("third"), tripleOf("fourth")
	other.Graph, wrong.Predicate = triple.Term{}, iri("p")
	if _, err := store.Add(b.ctx, b.db, []triple.Triple{other, wrong}); err != nil {
		t.Fatal(err)
	}
	r, err := b.db.Reader()
	require.NoError(t, err)
	defer r.Close()
	if got, err := names(b.ctx, rangedReader{r, t}); err != nil || !slices.Equal(got, []string{"first", "second"}) {
		t.Error(got, err)
	}
}

// TestReplacedCheck checks that a change which meets a check that is replaced at the same time is not
// rejected: the client tries again.
func TestReplacedCheck(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	check := Registration{Name: "ages", Mode: Check, Pattern: "? <http://example.org/age> ?", TimeoutMS: 10_000}
	b.put(check, module(t, "schema"))
	k, err := b.checked.(*checkedStore).checking(b.ctx)
	require.NoError(t, err)
	defer k.close()
	old := b.service.functions()["ages"]
	b.put(check, module(t, "schema"))
	if err := k.triple(feed.Add, of("a", "age", integer(5)), nil); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrRejected) {
		t.Error(err)
	}
	if n := old.figures.failures.Load(); n != 0 {
		t.Errorf("%d failures are counted", n)
	}
	b.add(of("a", "age", integer(5)))
}

// TestCompilationInTime checks that a module whose compilation was ended is not called invalid.
func TestCompilationInTime(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	ended, cancel := context.WithCancelCause(b.ctx)
	cancel(context.DeadlineExceeded)
	r := Registration{Name: "ages", Mode: Check, Pattern: "? <http://example.org/age> ?"}
	if _, err := b.service.Put(ended, r, module(t, "schema")); err == nil || errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := b.service.Put(b.ctx, r, module(t, "schema")[:40]); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// brokenStore is a store that cannot be read while broken is set.
type brokenStore struct {
	store.Triples
	broken atomic.Bool
}

func (s *brokenStore) Reader() (store.Reader, error) {
	if s.broken.Load() {
		return nil, store.ErrUnavailable
	}
	return s.Triples.Reader()
}

// TestUnreadableCheck checks that a function loses no change while the check of its effect cannot read
// its arguments: the function has not failed.
func TestUnreadableCheck(t *testing.T) {
	b := open(t, nil, Options{})
	defer b.close()
	require.NoError(t, b.service.Close())
	s := &brokenStore{Triples: b.db}
	b.service = Open(Options{Store: s, Feed: b.db.Feed()})
	b.checked = b.service.Checked()
	b.put(Registration{Name: "inverse", Pattern: "? <http://example.org/parentOf> ?", TimeoutMS: 10_000}, module(t, "inverse"))
	b.put(Registration{Name: "check", Mode: Check, Pattern: "? <http://example.org/childOf> ?", Arguments: []string{"?s <http://example.org/age> ?"}, TimeoutMS: 10_000},
		assemble(t, `(i64.const 0)`))
	b.add(of("a", "parentOf", "first"))
	b.eventually("the first effect", func() bool { return b.has(of("first", "childOf", "a")) })
	s.broken.Store(true)
	if _, err := store.Add(b.ctx, b.db, []triple.Triple{of("a", "parentOf", "b")}); err != nil {
		t.Fatal(err)
	}
	b.eventually("a call", func() bool { return b.service.functions()["inverse"].figures.calls.Load() > 1 })
	b.eventually("the problem", func() bool {
		var st Status
		f := b.service.functions()["inverse"]
		f.report(&st)
		return st.Problem != "" || f.figures.skipped.Load() > 0
	})
	s.broken.Store(false)
	b.eventually("the effect", func() bool { return b.has(of("b", "childOf", "a")) || b.state("inverse").Counts.Skipped > 0 })
	if got := b.state("inverse").Counts; got.Skipped > 0 || got.Failures > 0 {
		t.Errorf("%+v", got)
	}
}
