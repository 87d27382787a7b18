// Package await waits in tests for what another goroutine or process does.
package await

import (
	"testing"
	"time"
)

// Condition waits until a condition holds, and fails the test if it does not within two minutes. Inside of a bubble of
// testing/synctest these are minutes of its clock.
func Condition(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
	}
}
