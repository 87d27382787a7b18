// Package processors counts the processors of the process, and lets more goroutines run at once.
package processors

import (
	"runtime"
	"sync/atomic"
)

// counted is GOMAXPROCS before Spare; 0 if Spare was not called.
var counted atomic.Int64

// spare is the number of goroutines for each processor after Spare.
const spare = 3

// Count returns the number of goroutines that may compute at once without sharing a processor:
// GOMAXPROCS, unless Spare has raised it.
func Count() int {
	if n := counted.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

// Spare raises GOMAXPROCS to a multiple of the processors, once. Without it, a goroutine that
// becomes ready while others compute must wait for Go's scheduler, some 10 ms at each step of a
// request. With it the goroutine gets a thread at once, because the operating system prefers
// threads that have waited. Go does not adapt GOMAXPROCS to new limits of a container afterwards.
func Spare() {
	if n := runtime.GOMAXPROCS(0); counted.CompareAndSwap(0, int64(n)) {
		runtime.GOMAXPROCS(spare * n)
	}
}
