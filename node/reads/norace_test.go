//go:build !race

package reads

// raced tells that the race detector runs.
const raced = false
