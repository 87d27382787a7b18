//go:build race

// Tests with the race detector.

package replica

// raced is true if the race detector is on. Pebble then checks all its invariants and is ten
// times slower. So the longest tests must do less.
const raced = true
