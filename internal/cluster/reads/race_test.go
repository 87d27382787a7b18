// The tests run with the race detector.

//go:build race

package reads

// raced reports whether the race detector runs.
const raced = true
