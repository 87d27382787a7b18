package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// queue holds the requests that wait for the committer: at most so many bytes of
// them, and more than one only within that.
//
// Invariant: bytes is the sum of what waiting counts by queued().
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

// put adds a request, and waits while there is no room for it, until ctx ends.
func (q *queue) put(ctx context.Context, r *request) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q.mu.Lock()
		if q.closed {
			q.mu.Unlock()
			return ErrClosed
		}
		if len(q.waiting) == 0 || q.bytes+r.queued() <= q.limit {
			q.waiting = append(q.waiting, r)
			q.bytes += r.queued()
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
// bytes, or one, of kinds that go together. There are none when the queue is closed
// and empty. They are appended to group.
func (q *queue) take(group []*request, limit int64) []*request {
	for {
		<-q.arrived
		q.mu.Lock()
		n, size := 0, int64(0)
		for _, r := range q.waiting {
			if n > 0 && (size+r.queued() > limit || !r.kind.beside(q.waiting[0].kind)) {
				break
			}
			n++
			size += r.queued()
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
// on to its end. The timeout ends both, unless the committer gets on with the
// request meanwhile, and so does a failure of the store.
func (q *queue) do(ctx context.Context, r *request, h *health, timeout time.Duration) error {
	if h.full.Load() {
		return ErrDiskFull
	}
	stalled := fmt.Errorf("%w for %s", ErrBusy, timeout)
	limited, cancel := context.WithTimeoutCause(ctx, timeout, stalled)
	defer cancel()
	if err := q.put(limited, r); err != nil {
		return err
	}
	var taken <-chan struct{} // the second time: what ctx says does not count any more
	steps := int64(0)
	for ended := limited.Done(); ; ended = taken {
		select {
		case <-r.done:
			return r.err
		case <-h.failed:
			return q.abandon(r, h.err(), h.err())
		case <-ended:
			err := context.Cause(limited)
			if at := r.steps.Load(); errors.Is(err, ErrBusy) && at == steps {
				return q.abandon(r, err, fmt.Errorf("%w: %w", ErrUnknown, err))
			}
			if r.state.CompareAndSwap(stateQueued, stateWithdrawn) {
				return err
			}
			steps = r.steps.Load()
			timer, stop := context.WithTimeoutCause(context.Background(), timeout, stalled)
			defer stop()
			limited, taken = timer, timer.Done()
		}
	}
}

// abandon leaves a request that is not answered; the error depends on whether
// the committer has it.
func (q *queue) abandon(r *request, queued, taken error) error {
	select {
	case <-r.done:
		return r.err
	default:
	}
	if r.state.CompareAndSwap(stateQueued, stateWithdrawn) {
		return queued
	}
	return taken
}
