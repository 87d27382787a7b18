// Tests of counts of users with some graphs only.

package graphrights

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// observed counts the rows that are read one by one.
type observed struct {
	store.Reader
	rows int64
}

func (o *observed) Match(ctx context.Context, p triple.Pattern, options store.ReadOptions) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range o.Reader.Match(ctx, p, options) {
			if o.rows++; !yield(row, err) {
				return
			}
		}
	}
}

// TestCount: each pattern has the count of the rows of the readable graphs, and counts of all triples, of a subject and
// of a graph read no rows of others one by one.
func TestCount(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer db.Close()
	ctx := t.Context()
	term := func(kind string, i int) triple.Term { return triple.NewIRI(fmt.Sprintf("urn:%s:%d", kind, i)) }
	graph := func(i int) triple.Term {
		if i == 0 {
			return triple.Term{}
		}
		return term("g", i)
	}
	var all []triple.Triple
	for i := range 400 {
		all = append(all, triple.Triple{Subject: term("s", i%7), Predicate: term("p", i%5), Object: term("o", i%11), Graph: graph(i % 4)})
	}
	if _, err := store.Add(ctx, db, all); err != nil {
		t.Fatal(err)
	}
	r, err := db.Reader()
	require.NoError(t, err)
	defer r.Close()
	for _, readable := range [][]int{{1, 2}, {0, 3}, {3}, {9}} {
		var graphs []triple.Term
		for _, g := range readable {
			graphs = append(graphs, graph(g))
		}
		rights := New(graphs, nil)
		for bits := range 8 {
			for _, of := range []triple.Pattern{{}, {DefaultGraph: true}, {Graph: graph(1)}, {Graph: graph(3)}} {
				p := of
				if bits&1 != 0 {
					p.Subject = term("s", 1)
				}
				if bits&2 != 0 {
					p.Predicate = term("p", 1)
				}
				if bits&4 != 0 {
					p.Object = term("o", 1)
				}
				want := map[triple.Triple]bool{}
				for _, one := range all {
					if p.Match(one) && rights.mayRead(one.Graph) {
						want[one] = true
					}
				}
				o := &observed{Reader: r}
				got, err := Filter(With(ctx, rights), o).Count(ctx, p)
				if err != nil || got != int64(len(want)) {
					t.Errorf("%v of %v: %d, %v, want %d", p, readable, got, err, len(want))
				}
				summed := p.DefaultGraph || !p.Graph.IsZero() || bits == 0 || bits == 1 || bits == 3
				if summed && o.rows > 0 {
					t.Errorf("%v of %v: %d rows are read", p, readable, o.rows)
				}
			}
		}
	}
}
