// Package bubble runs tests of code with Pebble in virtual time.
package bubble

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Test is [synctest.Test] for code that keeps channels in pools, as Pebble does. A channel belongs
// to the bubble that made it. If another bubble, or a test outside of all bubbles, sends on it, the
// process ends. So such tests must not be parallel.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	empty()
	defer empty()
	synctest.Test(t, f)
}

// empty empties all pools. It takes two collections, because a pool keeps its items for one.
func empty() {
	runtime.GC()
	runtime.GC()
}
