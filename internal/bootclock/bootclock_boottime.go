// The clock of systems that have CLOCK_BOOTTIME.

//go:build linux || openbsd

package bootclock

import "golang.org/x/sys/unix"

const clockID = unix.CLOCK_BOOTTIME
