//go:build !race

// Whether the race detector runs: no.

package triple

const raceEnabled = false
