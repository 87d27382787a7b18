//go:build !linux

package cluster

import "time"

// wallClock is the greatest of what the wall clock has shown: on these systems
// Go's own clock may stand still while the machine is suspended.
type wallClock struct{}

func (wallClock) Now() time.Duration { return time.Duration(time.Now().Round(0).UnixNano()) }

func systemClock() Clock { return wallClock{} }
