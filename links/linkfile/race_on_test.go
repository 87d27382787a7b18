// The race detector is on.

//go:build race

package linkfile

const raceEnabled = true
