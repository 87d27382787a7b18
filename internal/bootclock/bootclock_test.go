// Tests of the clock of this system.

package bootclock

import (
	"testing"
	"time"
)

// The clock ascends, and it is not the wall clock.
func TestNow(t *testing.T) {
	if err := Supported(); err != nil {
		t.Skip(err)
	}
	before := Now()
	for range 1000 {
		now := Now()
		if now < before {
			t.Fatalf("%s after %s", now, before)
		}
		before = now
	}
	if wall := time.Duration(time.Now().UnixNano()); before <= 0 || before > wall/2 {
		t.Errorf("%s since the machine booted; the wall clock shows %s", before, wall)
	}
}
