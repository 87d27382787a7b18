// A test of what the registry reads of a store.

package subscriptions

import (
	"context"
	"iter"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// rangedStore fails the test if a reader scans a range that has triples of other graphs.
type rangedStore struct {
	*store.Store
	t     *testing.T
	scans int
}

type rangedReader struct {
	store.Reader
	of *rangedStore
}

func (s *rangedStore) Reader() (store.Reader, error) {
	r, err := s.Store.Reader()
	return &rangedReader{r, s}, err
}

// check fails the test if a range has keys outside the system graph.
func (s *rangedStore) check(r triple.Range) {
	s.t.Helper()
	s.scans++
	graph, _ := triple.AppendTerm(nil, systemgraph.Graph)
	if order, terms := r.SharedTerms(); order != triple.GSPO || string(terms[triple.Graph]) != string(graph) {
		s.t.Errorf("the range from %q to %q has other triples", r.Lo, r.Hi)
	}
}

func (r *rangedReader) checkPattern(p triple.Pattern) {
	r.of.t.Helper()
	scan, err := p.Scan(p.Best())
	require.NoError(r.of.t, err)
	r.of.check(scan.Range)
}

func (r *rangedReader) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	r.checkPattern(p)
	return r.Reader.Match(ctx, p, o)
}

func (r *rangedReader) Count(ctx context.Context, all ...triple.Pattern) (int64, error) {
	for _, p := range all {
		r.checkPattern(p)
	}
	return r.Reader.Count(ctx, all...)
}

func (r *rangedReader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	kr, err := b.KeyRange()
	require.NoError(r.of.t, err)
	r.of.check(kr.Range)
	return r.Reader.Range(ctx, b, o)
}

// TestRanges checks that the registry scans the system graph only. Clients can write any triples to
// other graphs, and each scan would read them.
func TestRanges(t *testing.T) {
	w := newWorld(t)
	ranged := &rangedStore{Store: w.store, t: t}
	w.registry.Store = ranged
	client := triple.NewIRI(namePrefix + "client")
	w.add(
		triple.Triple{Subject: client, Predicate: triple.NewIRI(triple.RDFType), Object: class},
		triple.Triple{Subject: triple.NewIRI(systemgraph.Reads), Predicate: client, Object: triple.NewString("{}")},
	)
	w.put("reads", map[string]string{"kinds": "read"})
	w.put("changes", nil)
	list, err := w.registry.List(t.Context())
	if err != nil || len(list) != 2 {
		t.Errorf("%d subscriptions, %v", len(list), err)
	}
	reads, err := w.registry.Reads(t.Context())
	if err != nil || len(reads) != 1 {
		t.Errorf("%d subscriptions of kind read, %v", len(reads), err)
	}
	if err := w.registry.Delete(t.Context(), Caller{Operator: true}, "reads"); err != nil {
		t.Error(err)
	}
	if reads, err = w.registry.Reads(t.Context()); err != nil || len(reads) != 0 {
		t.Errorf("%d subscriptions of kind read, %v", len(reads), err)
	}
	if ranged.scans < 6 {
		t.Errorf("%d scans", ranged.scans)
	}
}
