// The clock of macOS. Its CLOCK_MONOTONIC follows the wall clock; the raw one does not,
// and counts the time in which the machine sleeps.

package bootclock

import "golang.org/x/sys/unix"

const clockID = unix.CLOCK_MONOTONIC_RAW
