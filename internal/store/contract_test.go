// The conformance of the lone store.

package store_test

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

func TestTriples(t *testing.T) {
	storetest.TestTriples(t, func(t *testing.T) store.Triples {
		s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	})
}

func TestFeedContract(t *testing.T) {
	storetest.TestFeed(t, rand.Uint64(), func(t *testing.T) store.Triples {
		s, err := store.Open(filepath.Join(t.TempDir(), "data"), store.Options{MinFreeBytes: -1}) // files of loads are on the disk
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	})
}
