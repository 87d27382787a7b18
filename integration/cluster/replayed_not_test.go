//go:build !faketime

// The runtime of the toolchain.

package cluster

// replayed is true in the runtime of integration/replay.
const replayed = false
