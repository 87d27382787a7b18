//go:build unix && !linux

// The flag for reserved memory on Unix systems other than Linux.

package arena

const mapNoReserve = 0
