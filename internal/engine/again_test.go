// Queries whose state is not kept long enough.

package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// brief is a store whose first snapshots lose their state after some rows of each scan.
type brief struct {
	*store.Store
	losing, rows int
	published    bool // the state is lost by a bulk load, so releases have no effect
	opened       int
}

type briefSnapshot struct {
	*store.Snapshot
	rows int // -1 loses nothing
}

func (b *brief) StateReader() (r store.Reader, release func(), err error) {
	sn, err := b.Snapshot()
	if err != nil {
		return nil, nil, err
	}
	s := &briefSnapshot{sn, -1}
	if b.opened++; b.opened <= b.losing {
		s.rows = b.rows
	}
	return s, func() {
		if !b.published {
			s.rows = -1
		}
	}, nil
}

func (s *briefSnapshot) Source() sparql.Source { return briefSource{s.Snapshot.Source(), s} }

type briefSource struct {
	sparql.Source
	of *briefSnapshot
}

func (s briefSource) Scan(ctx context.Context, r triple.Range, reverse bool) (source.Rows, error) {
	rows, err := s.Source.Scan(ctx, r, reverse)
	return &briefRows{Rows: rows, of: s.of}, err
}

type briefRows struct {
	source.Rows
	of   *briefSnapshot
	read int
}

func (r *briefRows) lost() bool { return r.of.rows >= 0 && r.read > r.of.rows }

func (r *briefRows) Next() bool {
	r.read++
	return !r.lost() && r.Rows.Next()
}

func (r *briefRows) Err() error {
	if r.lost() {
		return fmt.Errorf("read: %w", store.ErrSnapshotTooOld)
	}
	return r.Rows.Err()
}

// A query whose state is not kept begins again on the present one, as long as nothing was returned.
func TestBeginsAgain(t *testing.T) {
	lone := openStore(t)
	const triples = 3000 // more than an operator reads at a time
	var all []triple.Triple
	for i := range triples {
		all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:", i)), Predicate: triple.NewIRI("x:p"), Object: triple.NewTyped(fmt.Sprint(i), triple.XSDInteger)})
	}
	_, err := store.Add(t.Context(), lone, all)
	require.NoError(t, err)
	sorted := `SELECT ?o { ?s <x:p> ?o } ORDER BY ?o`
	for name, c := range map[string]struct {
		text         string
		losing, rows int
		published    bool
		want         int // rows; -1 are some, but not all
		opened       int
		old          bool
	}{
		"kept":                    {sorted, 0, 0, false, triples, 1, false},
		"lost twice":              {sorted, 2, 3, false, triples, 3, false},
		"a graph":                 {`CONSTRUCT { ?s <x:q> ?o } { ?s <x:p> ?o }`, 2, 0, false, triples, 3, false},
		"a boolean":               {`ASK { ?s <x:p> ?o }`, 3, 0, false, 1, 4, false},
		"always":                  {sorted, 1000, 3, false, triples, maxBegun + 1, false},
		"always, a boolean":       {`ASK { ?s <x:p> ?o }`, 1000, 0, false, 1, maxBegun + 1, false},
		"after some rows":         {`SELECT ?o { ?s <x:p> ?o }`, 1, triples - 1, false, triples, 1, false},
		"loads":                   {sorted, 2, 3, true, triples, 3, false},
		"always loads":            {sorted, 1000, 3, true, 0, maxBegun + 1, true},
		"always loads, a boolean": {`ASK { ?s <x:p> ?o }`, 1000, 0, true, 0, maxBegun + 1, true},
		"a load after some rows":  {`SELECT ?o { ?s <x:p> ?o }`, 1, triples - 1, true, -1, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &brief{Store: lone, losing: c.losing, rows: c.rows, published: c.published}
			e, err := New(b, Options{SpillDir: t.TempDir()})
			require.NoError(t, err)
			q, err := e.Prepare(t.Context(), c.text, Params{})
			require.NoError(t, err)
			answer, err := q.Run(t.Context())
			require.NoError(t, err)
			rows, old := 0, false
			count := func(err error) {
				if err == nil {
					rows++
				} else if old = true; !errors.Is(err, store.ErrSnapshotTooOld) {
					t.Error(err)
				}
			}
			switch c.text[0] {
			case 'A':
				_, err := answer.Boolean()
				count(err)
			case 'C':
				for _, err := range answer.Triples() {
					count(err)
				}
			default:
				for _, err := range answer.Rows() {
					count(err)
				}
			}
			if rows != c.want && (c.want >= 0 || rows == 0 || rows == triples) || b.opened != c.opened || old != c.old {
				t.Errorf("%d rows of %d snapshots, too old: %t, want %d of %d", rows, b.opened, old, c.want, c.opened)
			}
			answer.Close()
			if held := e.pool.held.Load(); e.Running() != 0 || held != 0 {
				t.Errorf("%d queries run, %d bytes are held", e.Running(), held)
			}
		})
	}
}
