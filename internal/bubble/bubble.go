// Package bubble runs tests in virtual time that use Pebble.
package bubble

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test] for code that keeps channels in pools, as Pebble does: a
// channel belongs to the bubble that made it, and ends the process where another one,
// or a test outside of all bubbles, sends on it. Such tests must not be parallel.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	empty()
	defer empty()
	synctest.Test(t, f)
}

// empty empties all pools, which takes two collections.
func empty() {
	runtime.GC()
	runtime.GC()
}
