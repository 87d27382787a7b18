//go:build !race

// Whether the race detector runs: no.

package rdfload_test

const raceEnabled = false
