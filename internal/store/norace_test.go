//go:build !race

// Tests without the race detector.

package store

const raced = false
