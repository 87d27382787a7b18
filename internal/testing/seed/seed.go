// Package seed gives random tests a generator that can be had again: its seed is logged, and the
// environment variable TREFOIL_SEED repeats it. It also says how much a test does.
package seed

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// long reports whether TREFOIL_TORTURE is set: tests then do all that they can.
func long() bool { return os.Getenv("TREFOIL_TORTURE") != "" }

// Long skips a test unless TREFOIL_LONG or TREFOIL_TORTURE is set: make test has no time for it, and
// make test-long runs it.
func Long(t testing.TB) {
	t.Helper()
	if !long() && os.Getenv("TREFOIL_LONG") == "" {
		t.Skip("long: make test-long, or TREFOIL_LONG=1")
	}
}

// Slow skips a test if TREFOIL_QUICK is set: make test has no time for it, and make test-all runs it.
// It must be called in the body of the test itself, because scripts/test.sh finds it there.
func Slow(t testing.TB) {
	t.Helper()
	if os.Getenv("TREFOIL_QUICK") != "" {
		t.Skip("slow: make test-all, or no TREFOIL_QUICK")
	}
}

// Rounds returns how often a test repeats its work: usual times, or all times if TREFOIL_TORTURE is
// set.
func Rounds(usual, all int) int {
	if long() {
		return all
	}
	return usual
}

// Choose returns one of the variants of a test, chosen at random, so that all of them run in the course
// of time. TREFOIL_VARIANT has the index of another one, and TREFOIL_VARIANT=all or TREFOIL_TORTURE
// runs all.
func Choose[T any](t testing.TB, variants []T) []T {
	t.Helper()
	text := os.Getenv("TREFOIL_VARIANT")
	if long() || text == "all" || len(variants) < 2 {
		return variants
	}
	i := rand.IntN(len(variants))
	if text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatalf("TREFOIL_VARIANT is an index or all: %v", err)
		}
		i = int(n) % len(variants)
	}
	t.Logf("TREFOIL_VARIANT=%d of %d variants repeats this, TREFOIL_VARIANT=all runs all", i, len(variants))
	return variants[i : i+1]
}

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
