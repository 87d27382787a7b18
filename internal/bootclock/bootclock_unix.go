// Now on systems that have clock_gettime and a clock that goes on in suspend.

//go:build linux || openbsd || darwin

package bootclock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time since the machine booted.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clockID, &t); err != nil {
		panic("bootclock: clock_gettime: " + err.Error()) // all versions that Go runs on have it
	}
	return time.Duration(t.Nano())
}

// Supported returns nil, because this system has a clock for leases.
func Supported() error { return nil }
