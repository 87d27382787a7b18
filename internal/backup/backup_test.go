// Backups of a lone store under writers.

package backup_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

// TestChains restores chains of a lone store to points of a known history.
func TestChains(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("TREFOIL_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	for i := range 2 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			t.Logf("TREFOIL_SEED=%d repeats the changes", seed)
			storetest.TestBackup(t, func() store.Triples { return s }, storetest.BackupTest{Writers: 3, Changes: 120, Seed: seed + uint64(i), Loads: true})
		})
	}
}
