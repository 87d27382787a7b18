// Package bootclock is the clock of leases: the time since the machine booted, including the time
// in which it was suspended.
//
// A lease is a promise about real time. The wall clock breaks it, because an operator may set it
// back. A clock that stops in suspend breaks it too: when such a machine wakes up, it would answer
// although its lease ended hours ago. So each system has its own clock here. If a system has no
// such clock, it must not run a cluster:
//
//	Linux     CLOCK_BOOTTIME
//	macOS     CLOCK_MONOTONIC_RAW, which is mach_continuous_time
//	OpenBSD   CLOCK_BOOTTIME
//	Windows   GetTickCount64, in steps of about 16 ms
//	others    none: [Supported] returns an error
package bootclock
