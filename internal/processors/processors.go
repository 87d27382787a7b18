// Package processors says how many processors the process computes on, and keeps room
// beside what computes on them.
package processors

import (
	"runtime"
	"sync/atomic"
)

// counted is GOMAXPROCS as it was before Spare; 0 if Spare was not called.
var counted atomic.Int64

// spare is how many times more goroutines run at once after Spare than there are
// processors.
const spare = 3

// Count returns how many goroutines may compute at once without sharing a processor:
// GOMAXPROCS, unless Spare has raised it.
func Count() int {
	if n := counted.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

// Spare raises GOMAXPROCS to a multiple of the processors, once. A goroutine that becomes
// ready while others compute then gets a thread at once, and a processor from the
// operating system, which prefers threads that have waited. With one place for each
// processor it waits for Go's scheduler, some 10 ms at each step of a request. Go does not
// adapt the number to new limits of a container afterwards.
func Spare() {
	if n := runtime.GOMAXPROCS(0); counted.CompareAndSwap(0, int64(n)) {
		runtime.GOMAXPROCS(spare * n)
	}
}
