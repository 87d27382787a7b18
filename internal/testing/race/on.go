//go:build race

// Builds with the race detector.

package race

// Enabled reports whether the race detector runs. Pebble then checks all its invariants, too.
const Enabled = true
