// The limit of memory for operations in flight.

package writes

import (
	"context"
	"sync"

	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
)

// memoryLimit bounds the bytes of operations in flight.
//
// Invariant: used is at most limit, or the size of one request.
type memoryLimit struct {
	mu          sync.Mutex
	limit, used int64
	freed       notify.Broadcast // used shrinks
}

// take waits until n bytes are free, or until nothing is used.
func (l *memoryLimit) take(ctx context.Context, n int64) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.mu.Lock()
		if l.used == 0 || l.used+n <= l.limit {
			l.used += n
			l.mu.Unlock()
			return nil
		}
		freed := l.freed.Next()
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

// give frees n bytes.
func (l *memoryLimit) give(n int64) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	l.used -= n
	l.freed.Send()
	l.mu.Unlock()
}

func (l *memoryLimit) inUse() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// operationBytes estimates the memory of an operation without its key and long terms: the
// struct, its copies in lists of holders, and the state of its key.
const operationBytes = 256

func sizeOf(operations []replica.Operation) (n int64) {
	for i := range operations {
		n += size(&operations[i])
	}
	return n
}

func size(o *replica.Operation) int64 {
	return int64(bytesOf(o)) + operationBytes
}

// bytesOf returns the bytes of an operation of variable size.
func bytesOf(o *replica.Operation) int {
	n := len(o.Key) + len(o.Long)
	if o.Note != nil {
		n += len(o.Note.ApplicationID) + len(o.Note.Data)
	}
	return n
}
