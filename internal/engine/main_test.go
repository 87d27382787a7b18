// Helpers of the tests: stores, updates and results.

package engine

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openStore returns a store that is closed with the test, which demands that no
// snapshot is left open.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{CacheBytes: 8 << 20, MemTableBytes: 8 << 20, MinFreeBytes: -1})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func newEngine(t *testing.T, db *store.Store, opts Options) *Engine {
	t.Helper()
	if opts.SpillDir == "" {
		opts.SpillDir = t.TempDir()
	}
	e, err := New(db, opts)
	require.NoError(t, err)
	return e
}

// rows runs a SELECT and returns its solutions.
func rows(t *testing.T, e *Engine, text string) [][]triple.Term {
	t.Helper()
	all, err := tryRows(t, e, text, Params{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}

func tryRows(t *testing.T, e *Engine, text string, p Params) (all [][]triple.Term, err error) {
	t.Helper()
	q, err := e.Prepare(t.Context(), text, p)
	if err != nil {
		return nil, err
	}
	answer, err := q.Run(t.Context())
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	for row, err := range answer.Rows() {
		if err != nil {
			return all, err
		}
		all = append(all, append([]triple.Term(nil), row...))
	}
	return all, nil
}
