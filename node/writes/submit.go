package writes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
)

// request is a submission on its way to the sequencer. Its operations have no
// stamps yet.
type request struct {
	operations []node.Operation
	size       int64
	route      *route
	// known says which operations were done before, as other machines answered in the view
	// of route; nil if they need not be asked.
	known []bool
	state atomic.Int32
	done  chan struct{} // closed when what follows is set

	changed, unchanged int64
	batches            []*batch       // all have to be settled before the answer counts
	full               trie.MachineID // a holder whose disk is full: nothing was done
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

// await makes the answer wait for b.
func (r *request) await(b *batch) {
	if n := len(r.batches); n > 0 && r.batches[n-1] == b || slices.Contains(r.batches, b) {
		return
	}
	r.batches = append(r.batches, b)
}

// answer is what a submission did.
type answer struct {
	outcome            outcome
	changed, unchanged int64
	full               trie.MachineID // whose disk is, where that is the outcome
}

// submit has this machine stamp operations and waits until they are settled, and
// all that the answer rests on. An error that is a *peer.Refusal says that
// nothing was done; every other one leaves open what was.
// What was done before under its token is not done again. first is the epoch in which the
// request came, if there was no try before; 0 is not known.
func (w *Writes) submit(ctx context.Context, operations []node.Operation, first uint64) (answer, error) {
	if w.ctx.Err() != nil {
		return answer{}, errClosing()
	}
	v := w.cluster.View()
	if v == nil {
		return answer{}, refuse(peer.CodeUnavailable, 0, "this machine has no view yet")
	}
	route, err := newRoute(v, w.self, operations)
	if err != nil {
		return answer{}, malformed(err)
	}
	r := &request{operations: operations, size: sizeOf(operations), route: route, done: make(chan struct{})}
	if first != v.Epoch {
		if r.known, err = w.askTokens(ctx, v, operations); err != nil {
			return answer{}, err
		}
	}
	if err := w.room.take(ctx, r.size); err != nil {
		return answer{}, refuse(peer.CodeUnavailable, v.Epoch, "no room for the operations: %v", err)
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
			return answer{}, refuse(peer.CodeUnavailable, v.Epoch, "not begun in time: %v", context.Cause(ctx))
		}
		<-r.done // the sequencer has it, and waits for nobody
	}
	switch {
	case r.full != 0:
		return answer{outcome: diskFull, full: r.full}, nil
	case r.err != nil:
		return answer{}, r.err
	}
	for _, b := range r.batches {
		select {
		case <-b.settled:
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%w: %w", node.ErrUnknown, context.Cause(ctx))
		case <-w.ctx.Done():
			return answer{}, fmt.Errorf("%w: the sequencer shuts down", node.ErrUnknown)
		}
	}
	return answer{outcome: r.refused, changed: r.changed, unchanged: r.unchanged}, nil
}

func errClosing() *peer.Refusal { return refuse(peer.CodeClosing, 0, "this machine shuts down") }

func (w *Writes) handleSubmit(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := w.wait(waitSubmit)
	if err != nil {
		return nil, err
	}
	defer finished()
	d := peer.NewDecoder(body)
	first := d.Uvarint()
	operations, err := decodeOperations(d, false)
	if err == nil {
		err = d.End()
	}
	if err == nil && len(operations) > 1 && slices.ContainsFunc(operations, func(o node.Operation) bool { return o.Note != nil }) {
		err = fmt.Errorf("%w: an annotation is submitted alone", peer.ErrMessage)
	}
	if err != nil {
		return nil, malformed(err)
	}
	a, err := w.submit(ctx, operations, first)
	if err != nil {
		return nil, err
	}
	return encodeOutcome(a.outcome, uint64(a.changed), uint64(a.unchanged), uint64(a.full)), nil
}

// queue holds the requests that wait for the sequencer; room bounds them.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	arrived chan struct{} // holds a token where waiting is not empty, or closed
}

func (q *queue) init() { q.arrived = make(chan struct{}, 1) }

// put adds a request; false says that the queue is closed.
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

// A group of requests becomes one batch, of so many bytes and operations or one
// request.
const (
	groupBytes      = 4 << 20
	groupOperations = 10_000
)

// take waits for requests and returns a group of them, none when the queue is
// closed.
func (q *queue) take() []*request {
	for range q.arrived {
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

// close refuses all further requests, and those that wait.
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
