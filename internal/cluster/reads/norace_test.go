// The tests run without the race detector.

//go:build !race

package reads

// raced reports whether the race detector runs.
const raced = false
