// The peak memory of a process on other systems.

//go:build !linux

package cli

// peakMemory is known on Linux only.
func peakMemory(*process) (bytes int64, ok bool) { return 0, false }
