//go:build !race

package linkfile

const raceEnabled = false
