// Stores of tests.

package storetest

import (
	"io"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// Open opens an empty store with little memory. It is closed with the test.
func Open(t testing.TB) *store.Store {
	t.Helper()
	return OpenDir(t, t.TempDir())
}

// OpenDir is [Open] for a directory.
func OpenDir(t testing.TB, dir string) *store.Store {
	t.Helper()
	db, err := store.Open(dir, store.Options{MinFreeBytes: -1, CacheBytes: 8 << 20, MemTableBytes: 8 << 20, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	CloseLater(t, db)
	return db
}

// CloseLater closes something with the test, behind what is registered later.
func CloseLater(t testing.TB, c io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}
