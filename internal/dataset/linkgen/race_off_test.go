//go:build !race

// Whether the race detector runs: no.

package linkgen

const raceEnabled = false
