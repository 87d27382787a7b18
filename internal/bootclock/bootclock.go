// Package bootclock is the clock of leases: the time since the machine booted, with
// the time in which it was suspended.
//
// A lease is a promise about real time. The wall clock breaks it, because somebody may
// set it back. A clock that stops in suspend breaks it, too: a machine that wakes up
// would answer with a lease that ended hours ago. So each system has its own clock here,
// and a system without such a clock runs no cluster:
//
//	Linux     CLOCK_BOOTTIME
//	macOS     CLOCK_MONOTONIC_RAW, which is mach_continuous_time
//	OpenBSD   CLOCK_BOOTTIME
//	Windows   GetTickCount64, in steps of about 16 ms
//	others    none: [Supported] returns an error
package bootclock
