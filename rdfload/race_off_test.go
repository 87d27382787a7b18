//go:build !race

package rdfload_test

const raceEnabled = false
