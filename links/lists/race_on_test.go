// Constant for builds with the race detector.

//go:build race

package lists

const raceEnabled = true
