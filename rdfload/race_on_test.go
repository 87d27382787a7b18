//go:build race

// Whether the race detector runs: yes.

package rdfload_test

const raceEnabled = true
