// What a call may take.

package sandbox

import (
	"fmt"
	"runtime"
	"time"
)

// Limits bounds calls of update functions. Zero fields have defaults.
type Limits struct {
	// Timeout bounds one call; 0 is 100 ms.
	Timeout time.Duration
	// MemoryBytes bounds the linear memory of one call; 0 is 16 MiB. It is rounded down to pages of
	// 64 KiB.
	MemoryBytes int
	// Arguments bounds the argument triples of one call; 0 is 1,000.
	Arguments int
	// Results bounds the lines of output; 0 is 1,000.
	Results int
	// OutputBytes bounds the output; 0 is 4 MiB.
	OutputBytes int
	// Calls bounds the calls at a time. Others wait. 0 is the number of processors. A call may also
	// need 4 MiB, and 12 MiB for a moment, for the stack of nested functions; see stack.go.
	Calls int
}

// Validate returns an error if a limit is out of its bounds.
func (l Limits) Validate() error {
	d := l.withDefaults()
	switch {
	case d.Timeout < 0 || d.Arguments < 0 || d.Results < 0 || d.OutputBytes < 0 || d.Calls < 0:
		return fmt.Errorf("limits of update functions: a limit is negative: %+v", l)
	case d.MemoryBytes < pageBytes || d.MemoryBytes > 1<<30:
		return fmt.Errorf("limits of update functions: %d bytes of memory, not 64 KiB to 1 GiB", d.MemoryBytes)
	}
	return nil
}

func (l Limits) withDefaults() Limits {
	if l.Timeout == 0 {
		l.Timeout = 100 * time.Millisecond
	}
	if l.MemoryBytes == 0 {
		l.MemoryBytes = 16 << 20
	}
	if l.Arguments == 0 {
		l.Arguments = 1000
	}
	if l.Results == 0 {
		l.Results = 1000
	}
	if l.OutputBytes == 0 {
		l.OutputBytes = 4 << 20
	}
	if l.Calls == 0 {
		l.Calls = runtime.GOMAXPROCS(0)
	}
	return l
}
