//go:build faketime

// The runtime of integration/replay.

package cluster

// replayed is true in the runtime of integration/replay. Only there does virtual time go
// on while a goroutine waits for a mutex whose holder sleeps, so that disks can take time.
const replayed = true
