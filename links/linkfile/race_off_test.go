// The race detector is off.

//go:build !race

package linkfile

const raceEnabled = false
