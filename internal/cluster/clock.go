// The clock of leases.

package cluster

import (
	"time"

	"github.com/trefoildb/trefoil/internal/bootclock"
)

// Clock returns how much time has passed since some moment. It must be monotonic and go
// on while the machine is suspended: leases end in real time. See package bootclock.
type Clock interface {
	Now() time.Duration
}

// bootClock is the clock of the machine.
type bootClock struct{}

func (bootClock) Now() time.Duration { return bootclock.Now() }
