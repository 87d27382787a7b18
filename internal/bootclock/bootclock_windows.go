// The clock of Windows, which counts the time in which the machine sleeps.

package bootclock

import (
	"time"

	"golang.org/x/sys/windows"
)

// Now returns the time since the machine booted.
func Now() time.Duration { return windows.DurationSinceBoot() }

// Supported returns nil, because this system has a clock for leases.
func Supported() error { return nil }
