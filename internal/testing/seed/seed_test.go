// Tests of seeds.

package seed_test

import (
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// TestOne: a variant can be chosen, or all of them; any one may come up.
func TestOne(t *testing.T) {
	all := []string{"a", "b", "c"}
	t.Setenv("TREFOIL_TORTURE", "")
	t.Setenv("TREFOIL_VARIANT", "1")
	if got := seed.Choose(t, all); !slices.Equal(got, all[1:2]) {
		t.Errorf("variant 1 is %q", got)
	}
	t.Setenv("TREFOIL_VARIANT", "")
	seen := map[string]bool{}
	for range 200 {
		seen[seed.Choose(t, all)[0]] = true
	}
	if len(seen) != len(all) {
		t.Errorf("only %v came up in 200 choices", seen)
	}
	t.Setenv("TREFOIL_VARIANT", "all")
	if got := seed.Choose(t, all); !slices.Equal(got, all) {
		t.Errorf("all are %q", got)
	}
}

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
