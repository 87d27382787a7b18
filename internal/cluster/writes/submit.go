// Submissions: requests on their way to the sequencer, and its queue.

package writes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// request is a submission in the queue of the sequencer. Its operations have no stamps yet.
type request struct {
	operations []replica.Operation
	size       int64
	route      *route
	// known is true for each operation done before, by the answers of other machines in the view
	// of route. It is nil if they were not asked.
	known []bool
	state atomic.Int32
	done  chan struct{} // closed when the fields below are set

	changed, unchanged int64
	batches            []*batch       // all must be committed before the answer is valid
	full               trie.MachineID // a holder with a full disk: nothing was done
	refused            outcome        // of an annotation: missing or unsure, nothing was done
	err                error          // nothing was done
}

// States of a request.
const (
	queued int32 = iota
	taken
	withdrawn
)

func (r *request) finish(err error) {
	r.err = err
	close(r.done)
}

// await makes the answer wait until b is committed.
func (r *request) await(b *batch) {
	if n := len(r.batches); n > 0 && r.batches[n-1] == b || slices.Contains(r.batches, b) {
		return
	}
	r.batches = append(r.batches, b)
}

// answer is the result of a submission.
type answer struct {
	outcome            outcome
	changed, unchanged int64
	full               trie.MachineID // the machine with a full disk, if that is the outcome
}

// submit stamps operations on this machine and waits until they are committed, together with
// every batch the answer depends on. After a *peer.Refusal nothing was done; after any other
// error each operation may be done or not. If an operation was done before under its token, it is
// not repeated. first is the epoch of the client's first try, 0 if this may be a retry.
func (w *Writes) submit(ctx context.Context, operations []replica.Operation, first uint64) (answer, error) {
	if w.ctx.Err() != nil {
		return answer{}, errClosing()
	}
	// 1. Find the holders under this view. If it may be a retry from an earlier view, ask the
	// other members for their operations.
	v := w.member.View()
	if v == nil {
		return answer{}, peer.Refuse(peer.CodeUnavailable, 0, "this machine has no view yet")
	}
	route, err := newRoute(v, w.self.Machine, operations)
	if err != nil {
		return answer{}, malformed(err)
	}
	r := &request{operations: operations, size: sizeOf(operations), route: route, done: make(chan struct{})}
	if first != v.Epoch {
		if r.known, err = w.askTokens(ctx, v, operations); err != nil {
			return answer{}, err
		}
	}
	// 2. Wait in the queue until the sequencer has stamped or refused the request.
	if err := w.room.take(ctx, r.size); err != nil {
		return answer{}, peer.Refuse(peer.CodeUnavailable, v.Epoch, "no room for the operations: %v", err)
	}
	if !w.queue.put(r) {
		w.room.give(r.size)
		return answer{}, errClosing()
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, withdrawn) {
			w.room.give(r.size)
			return answer{}, peer.Refuse(peer.CodeUnavailable, v.Epoch, "not begun in time: %v", context.Cause(ctx))
		}
		<-r.done // the sequencer has taken it, and does not wait for ctx
	}
	switch {
	case r.full != 0:
		return answer{outcome: diskFull, full: r.full}, nil
	case r.err != nil:
		return answer{}, r.err
	}
	// 3. Wait until its batches are committed. From here on the outcome is unknown if the wait
	// ends early.
	for _, b := range r.batches {
		select {
		case <-b.settled:
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx))
		case <-w.ctx.Done():
			return answer{}, fmt.Errorf("%w: the sequencer shuts down", store.ErrUnknown)
		}
	}
	return answer{outcome: r.refused, changed: r.changed, unchanged: r.unchanged}, nil
}

func errClosing() *peer.Refusal { return peer.Refuse(peer.CodeClosing, 0, "this machine shuts down") }

func (w *Writes) handleSubmit(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := w.wait(waitSubmit)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: false}
	err = peer.Decode(body, m.fields)
	if err == nil && len(m.operations) > 1 && slices.ContainsFunc(m.operations, func(o replica.Operation) bool { return o.Note != nil }) {
		err = fmt.Errorf("%w: an annotation is submitted alone", peer.ErrMessage)
	}
	if err != nil {
		return nil, malformed(err)
	}
	a, err := w.submit(ctx, m.operations, m.number)
	if err != nil {
		return nil, err
	}
	return peer.Encode(0, a.fields), nil
}

// queue holds the requests waiting for the sequencer. Writes.room bounds their bytes.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	arrived chan struct{} // holds a token if waiting is not empty, or closed is set
}

func (q *queue) init() { q.arrived = make(chan struct{}, 1) }

// put adds a request. It returns false if the queue is closed.
func (q *queue) put(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, r)
	signal(q.arrived)
	return true
}

// Limits of a group of requests; it becomes one batch. A single request may exceed them.
const (
	groupBytes      = 4 << 20
	groupOperations = 10_000
)

// take waits for requests and returns a group of them. The group is empty if the queue is
// closed.
func (q *queue) take() []*request {
	for range q.arrived {
		// 1. Take requests up to the limits; if a request was withdrawn, drop it.
		q.mu.Lock()
		var group []*request
		bytes, count := int64(0), 0
		n := 0
		for _, r := range q.waiting {
			if len(group) > 0 && (bytes+r.size > groupBytes || count+len(r.operations) > groupOperations) {
				break
			}
			n++
			if r.state.CompareAndSwap(queued, taken) {
				group = append(group, r)
				bytes += r.size
				count += len(r.operations)
			}
		}
		// 2. Keep the rest, and wake the next call for it.
		q.waiting = append(q.waiting[:0:0], q.waiting[n:]...)
		if len(q.waiting) > 0 || q.closed {
			signal(q.arrived)
		}
		closed := q.closed
		q.mu.Unlock()
		if len(group) > 0 || closed {
			return group
		}
	}
	return nil
}

// close refuses all requests, also the waiting ones.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	waiting := q.waiting
	q.waiting = nil
	signal(q.arrived)
	q.mu.Unlock()
	for _, r := range waiting {
		if r.state.CompareAndSwap(queued, taken) {
			r.finish(errClosing())
		}
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
