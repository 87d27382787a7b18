package cluster

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The clock of leases is not that of the wall, which jumps when somebody sets it,
// and it goes on while the machine is suspended.
func TestSystemClock(t *testing.T) {
	boot := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
			t.Fatal(err)
		}
		return time.Duration(ts.Nano())
	}
	before := boot()
	now := systemClock().Now()
	if after := boot(); now < before || now > after {
		t.Errorf("%s is not between %s and %s", now, before, after)
	}
}
