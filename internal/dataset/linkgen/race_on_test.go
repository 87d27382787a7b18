//go:build race

// Whether the race detector runs: yes.

package linkgen

const raceEnabled = true
