//go:build !race

// Builds without the race detector.

package race

// Enabled reports whether the race detector runs.
const Enabled = false
