// Bounds: the bytes in flight, and one delivery at a time for each sequencer.

package writes

import (
	"context"
	"sync"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// room bounds the bytes of operations in flight.
//
// Invariant: used is at most limit, or the size of one request.
type room struct {
	mu          sync.Mutex
	limit, used int64
	freed       chan struct{} // closed and replaced when used shrinks
}

func (r *room) init(limit int64) {
	r.limit = limit
	r.freed = make(chan struct{})
}

// take waits until n bytes are free, or until nothing is used.
func (r *room) take(ctx context.Context, n int64) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.mu.Lock()
		if r.used == 0 || r.used+n <= r.limit {
			r.used += n
			r.mu.Unlock()
			return nil
		}
		freed := r.freed
		r.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

// give frees n bytes.
func (r *room) give(n int64) {
	if n == 0 {
		return
	}
	r.mu.Lock()
	r.used -= n
	close(r.freed)
	r.freed = make(chan struct{})
	r.mu.Unlock()
}

func (r *room) inUse() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
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

// turns admits one caller at a time for each machine.
type turns struct {
	mu sync.Mutex
	of map[trie.MachineID]chan struct{}
}

// take waits for the turn of m.
func (t *turns) take(ctx context.Context, m trie.MachineID) (done func(), err error) {
	t.mu.Lock()
	turn := t.of[m]
	if turn == nil {
		if t.of == nil {
			t.of = map[trie.MachineID]chan struct{}{}
		}
		turn = make(chan struct{}, 1)
		t.of[m] = turn
	}
	t.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
