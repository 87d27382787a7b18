//go:build race

package linkfile

const raceEnabled = true
