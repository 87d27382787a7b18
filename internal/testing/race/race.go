// Package race lets tests do less under the race detector, because it makes them ten times slower.
// scripts/test.sh runs the tests of a package that imports it without the detector, too.
package race

import "testing"

// Skip skips a test under the race detector. Other tests must cover the test's goroutines.
func Skip(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("not under the race detector: its goroutines are those of other tests")
	}
}

// Fewer returns n, or a fifth of it under the race detector.
func Fewer(n int) int {
	if Enabled {
		return (n + 4) / 5
	}
	return n
}
