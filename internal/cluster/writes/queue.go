// The queue of the sequencer, and the requests in it.

package writes

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// request is a submission in the queue of the sequencer. Its operations have no stamps yet.
type request struct {
	operations []replica.Operation
	size       int64
	origin     *tracing.Origin
	route      *route
	// coordinator is the member that submits, zero for this one. One that was excluded must submit nothing more.
	coordinator member.Process
	fence       uint64 // the epoch in which the operations must be stamped; 0 for any
	// part is set if the operations are a part of a transaction. They get a batch of their own. If forced is set, other
	// parts are stamped already, so a lack of room is no reason to refuse it.
	part   *ticks.Part
	forced bool
	record []byte // see record.go; nil if there is none
	// forwards is set if the operations are those of a record. They are stamped unless they are known, without a lease.
	forwards bool
	// known is true for each operation done before, by the answers of other machines in the view
	// of route. It is nil if they were not queried.
	known []bool
	held  heldAnnotation // of an annotation with a condition
	state atomic.Int32
	done  chan struct{} // closed when the fields below are set

	changed, unchanged int64
	removed            int64          // of those changed, the deletes
	batches            []*batch       // all must be committed before the answer is valid
	full               trie.MachineID // a holder with a full disk: nothing was done
	refused            outcome        // of an annotation: nothing was done
	version            triple.Stamp   // of an annotation: the new one; the current one if refused is conflict
	err                error          // nothing was done
}

// States of a request.
const (
	queued int32 = iota
	taken
	withdrawn
)

// isAlone reports whether the request must have a group of its own.
func (r *request) isAlone() bool { return r.part != nil || r.forwards }

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
	removed            int64          // of those changed, the deletes of a part of a transaction
	full               trie.MachineID // the machine with a full disk, if that is the outcome
	version            triple.Stamp   // of an annotation, as in request
	epoch              uint64         // of the answer about an annotation
}

// queue holds the requests waiting for the sequencer. inFlight.memory bounds their bytes.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	closed  bool
	arrived notify.Wake // if waiting is not empty, or closed is set
}

func (q *queue) init() { q.arrived = notify.NewWake() }

// put adds a request. It returns false if the queue is closed.
func (q *queue) put(r *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting = append(q.waiting, r)
	q.arrived.Send()
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
			full := bytes+r.size > groupBytes || count+len(r.operations) > groupOperations
			if len(group) > 0 && (full || r.isAlone() || group[0].isAlone()) {
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
			q.arrived.Send()
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
	q.arrived.Send()
	q.mu.Unlock()
	for _, r := range waiting {
		if r.state.CompareAndSwap(queued, taken) {
			r.finish(errClosing())
		}
	}
}
