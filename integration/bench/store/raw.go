// The bound of scans: a Pebble iterator.

package store

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/store"
)

// rawScan copies the store by hard links and reads the rows of one order with a plain Pebble
// iterator. The layers above cannot be faster.
func rawScan(ctx context.Context, store *store.Store) (rate float64, err error) {
	// Pebble must not open the directory of an open store; the copy costs no bytes.
	dir, err := os.MkdirTemp(filepath.Dir(store.Dir()), "raw-scan-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "copy")
	if err := store.Checkpoint(ctx, copied); err != nil {
		return 0, err
	}
	db, err := pebble.Open(filepath.Join(copied, "store"), &pebble.Options{ReadOnly: true, Logger: silent{}, CacheSize: 1 << 30})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	// Rows of one order, since each triple has one there.
	rows := store.Status().Triples
	// The faster of two rounds counts, because the first one reads the disk.
	for range 2 {
		it, err := db.NewIter(nil)
		if err != nil {
			return 0, err
		}
		begun := time.Now()
		n := int64(0)
		// Keys only: the iterator's position is the least that a scan must pay.
		for ok := it.First(); ok && n < rows; ok = it.Next() {
			n++
		}
		rate = max(rate, rig.PerSecond(n, time.Since(begun)))
		if err := it.Close(); err != nil {
			return 0, err
		}
	}
	return rate, nil
}
