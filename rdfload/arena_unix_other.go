//go:build unix && !linux

// The flag for reserved memory on Unix systems other than Linux.

package rdfload

const mapNoReserve = 0
