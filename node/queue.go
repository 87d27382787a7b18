package node

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// queue holds the requests that wait for the committer: at most so many bytes of
// them, and more than one only within that.
//
// Invariant: bytes is the sum of the sizes of waiting.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	bytes   int64
	limit   int64
	closed  bool
	arrived chan struct{} // holds a token where waiting is not empty, or closed
	room    chan struct{} // closed and made anew when requests are taken
}

func (q *queue) init(limit int64) {
	q.limit = limit
	q.arrived = make(chan struct{}, 1)
	q.room = make(chan struct{})
}

// put adds a request, and waits while there is no room for it.
func (q *queue) put(ctx context.Context, r *request) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return ErrClosed
		}
		if len(q.waiting) == 0 || q.bytes+r.size <= q.limit {
			q.waiting = append(q.waiting, r)
			q.bytes += r.size
			q.mu.Unlock()
			q.signal()
			return nil
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
}

func (q *queue) signal() {
	select {
	case q.arrived <- struct{}{}:
	default:
	}
}

// take waits for requests and returns those that make a group of at most so many
// bytes, or one; none when the queue is closed and empty. They are appended to
// group.
func (q *queue) take(group []*request, limit int64) []*request {
	for {
		<-q.arrived
		q.mu.Lock()
		n, size := 0, int64(0)
		for _, r := range q.waiting {
			if n > 0 && size+r.size > limit {
				break
			}
			n++
			size += r.size
			if r.state.CompareAndSwap(stateQueued, stateTaken) {
				group = append(group, r)
			}
		}
		q.waiting = append(q.waiting[:0:0], q.waiting[n:]...)
		q.bytes -= size
		more, closed := len(q.waiting) > 0, q.closed
		close(q.room)
		q.room = make(chan struct{})
		q.mu.Unlock()
		if more || closed {
			q.signal()
		}
		if len(group) > 0 || closed && !more {
			return group
		}
	}
}

// close refuses all further requests, and those that wait.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	waiting := q.waiting
	q.waiting, q.bytes = nil, 0
	close(q.room)
	q.room = make(chan struct{})
	q.mu.Unlock()
	for _, r := range waiting {
		if r.state.CompareAndSwap(stateQueued, stateTaken) {
			r.finish(ErrClosed)
		}
	}
	q.signal()
}

// do puts a request and waits for its answer. A context that ends takes the
// request back while it waits in the queue; once the committer has it, it goes
// on to its end, or to the timeout.
func (q *queue) do(ctx context.Context, r *request, timeout time.Duration) error {
	if err := q.put(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		if r.state.CompareAndSwap(stateQueued, stateWithdrawn) {
			return ctx.Err()
		}
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.err
	case <-timer.C:
		return fmt.Errorf("%w: the disk has not answered for %s", ErrUnknown, timeout)
	}
}
