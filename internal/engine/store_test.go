// The engine over stores other than package store's.

package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// partial is a store whose snapshots are degraded once something was read of them.
type partial struct {
	*store.Store
	err error // of Snapshot
}

type partialSnapshot struct {
	*store.Snapshot
	read bool
}

func (p partial) StateReader() (r store.Reader, release func(), err error) {
	if p.err != nil {
		return nil, nil, p.err
	}
	sn, err := p.Store.Snapshot()
	return &partialSnapshot{Snapshot: sn}, func() {}, err
}

func (s *partialSnapshot) Source() sparql.Source {
	s.read = true
	return s.Snapshot.Source()
}

func (s *partialSnapshot) Degraded() bool { return s.read }

// An engine asks any store that has the methods; the answer tells what the snapshot
// says of itself.
func TestAnyStore(t *testing.T) {
	lone := openStore(t)
	e, err := New(partial{Store: lone}, Options{SpillDir: t.TempDir()})
	require.NoError(t, err)
	if r, err := e.Update(t.Context(), `INSERT { <x:a> <x:b> 1 } WHERE {}`, Params{}); err != nil || r.Added != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for name, test := range map[string]struct {
		engine   *Engine
		degraded bool
	}{"partial": {e, true}, "alone": {newEngine(t, lone, Options{}), false}} {
		q, err := test.engine.Prepare(t.Context(), `SELECT ?o { <x:a> <x:b> ?o }`, Params{})
		require.NoError(t, err)
		answer, err := q.Run(t.Context())
		require.NoError(t, err)
		n := 0
		for row, err := range answer.Rows() {
			if n++; err != nil || row[0] != triple.NewTyped("1", triple.XSDInteger) {
				t.Errorf("%s: %v, %v", name, row, err)
			}
		}
		if n != 1 || answer.Degraded() != test.degraded {
			t.Errorf("%s: %d rows, degraded %t", name, n, answer.Degraded())
		}
		answer.Close()
	}
}

// A store that has no snapshot to give is an error, not a snapshot that is nil.
func TestNoSnapshot(t *testing.T) {
	e, err := New(partial{Store: openStore(t), err: errors.New("no quorum")}, Options{SpillDir: t.TempDir()})
	require.NoError(t, err)
	q, err := e.Prepare(t.Context(), `ASK {}`, Params{})
	require.NoError(t, err)
	if _, err := q.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no quorum") {
		t.Errorf("got %v", err)
	}
	if e.Running() != 0 {
		t.Error("the query keeps its turn")
	}
}
