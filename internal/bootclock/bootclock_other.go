// Systems whose monotonic clocks may stop in suspend.

//go:build !linux && !openbsd && !darwin && !windows

package bootclock

import (
	"fmt"
	"runtime"
	"time"
)

var start = time.Now()

// Now returns the time since the process started. It may stand still if the machine is suspended:
// see [Supported].
func Now() time.Duration { return time.Since(start) }

// Supported returns an error, because this system has no clock for leases.
func Supported() error {
	return fmt.Errorf("clusters do not run on %s: it has no clock that is monotonic and goes on while the machine is suspended. "+
		"Use Linux, macOS, OpenBSD or Windows, or run this node alone", runtime.GOOS)
}
