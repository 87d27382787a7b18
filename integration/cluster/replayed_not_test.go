//go:build !faketime

// The runtime of the toolchain.

package cluster

// replayed reports whether this is the runtime of integration/replay.
const replayed = false
