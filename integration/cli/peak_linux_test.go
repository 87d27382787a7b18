// The peak memory of a process on Linux.

package cli

import "syscall"

// peakMemory returns the peak memory of a process that has ended.
func peakMemory(p *process) (bytes int64, ok bool) {
	usage, ok := p.Cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	return usage.Maxrss << 10, true
}
