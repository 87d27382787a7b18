// Tests of seeds.

package seed_test

import (
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestRand: TREFOIL_SEED repeats a generator; without it two differ.
func TestRand(t *testing.T) {
	t.Setenv("TREFOIL_SEED", "")
	if a, b := seed.Rand(t).Uint64(), seed.Rand(t).Uint64(); a == b {
		t.Errorf("two generators begin with %d", a)
	}
	t.Setenv("TREFOIL_SEED", "7")
	if a, b := seed.Rand(t).Uint64(), seed.Rand(t).Uint64(); a != b {
		t.Errorf("two generators of one seed begin with %d and %d", a, b)
	}
}
