// Backups of a lone store under writers.

package backup_test

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

// TestChains restores chains of a lone store to points of a known history.
func TestChains(t *testing.T) {
	seed.Slow(t)
	number := seed.Number(t)
	for i := range seed.Rounds(1, 2) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			storetest.TestBackup(t, func() store.Triples { return s }, storetest.BackupTest{Writers: 3, Changes: 120, Seed: number + uint64(i), Loads: true})
		})
	}
}
