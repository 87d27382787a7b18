package cluster

import "time"

// Clock tells how much time has passed since some moment. Leases need one in
// which the time that a machine sleeps counts: Go's own clock stands still then.
type Clock interface {
	Now() time.Duration
}
