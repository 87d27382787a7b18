// Constant for builds without the race detector.

//go:build !race

package lists

const raceEnabled = false
