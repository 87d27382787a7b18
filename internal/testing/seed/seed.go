// Package seed gives random tests a generator that can be had again: its seed is logged, and the
// environment variable TREFOIL_SEED repeats it.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Rand returns a generator whose seed is that of [Number].
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(Number(t), 0))
}

// Number returns the number in TREFOIL_SEED, or else a random one, and logs it.
func Number(t testing.TB) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("TREFOIL_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("TREFOIL_SEED: %v", err)
		}
	}
	t.Logf("TREFOIL_SEED=%d repeats this", n)
	return n
}
