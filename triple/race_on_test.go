//go:build race

// Whether the race detector runs: yes.

package triple

const raceEnabled = true
