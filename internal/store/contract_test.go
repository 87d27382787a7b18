// The conformance of the lone store.

package store_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

func TestTriples(t *testing.T) {
	storetest.TestTriples(t, func(t *testing.T) store.Triples {
		s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	})
}
