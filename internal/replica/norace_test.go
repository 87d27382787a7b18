//go:build !race

// Tests without the race detector.

package replica

const raced = false
