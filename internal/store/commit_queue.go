// The queue of requests for the committer; and jobs, the requests of package replica.

package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
)

// queue holds the waiting requests. Their bytes are limited, but one request always fits.
//
// Invariant: bytes is the sum of queued() of all waiting requests.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	bytes   int64
	limit   int64
	closed  bool
	arrived notify.Wake      // if waiting is not empty, or the queue is closed
	room    notify.Broadcast // requests are taken
}

func (q *queue) init(limit int64) { q.limit, q.arrived = limit, notify.NewWake() }

// put adds a request. If the queue is full, it waits for room until ctx ends.
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
			q.arrived.Send()
			return nil
		}
		room := q.room.Next()
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
}

// take waits for requests and appends the next group to group. A group has at most limit bytes, or
// one request, and only kinds that may share a commit. If the queue is closed and empty, nothing
// is appended.
func (q *queue) take(group []*request, limit int64) []*request {
	for {
		<-q.arrived
		q.mu.Lock()
		// 1. Take requests from the front, because order must be kept. A withdrawn one is only
		// removed.
		n, size := 0, int64(0)
		for _, r := range q.waiting {
			if n > 0 && (size+r.queued() > limit || !r.kind.mayShare(q.waiting[0].kind)) {
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
		// 2. Wake the waiting callers, because there is room now.
		more, closed := len(q.waiting) > 0, q.closed
		q.room.Send()
		q.mu.Unlock()
		if more || closed {
			q.arrived.Send()
		}
		if len(group) > 0 || closed && !more {
			return group
		}
	}
}

// close rejects all further and all waiting requests.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	waiting := q.waiting
	q.waiting, q.bytes = nil, 0
	q.room.Send()
	q.mu.Unlock()
	for _, r := range waiting {
		if r.state.CompareAndSwap(stateQueued, stateTaken) {
			r.finish(ErrClosed)
		}
	}
	q.arrived.Send()
}

// do puts a request and waits for its answer. If ctx ends, a waiting request is withdrawn; once
// the committer has it, it runs to its end. The timeout ends both waits, unless the committer
// makes progress with the request meanwhile. A failure of the store ends them, too.
func (q *queue) do(ctx context.Context, r *request, d *database.Database, timeout time.Duration) error {
	// 1. Put the request. If the queue has no room, only ctx and the timeout end the wait.
	if d.Full() {
		return ErrDiskFull
	}
	stalled := fmt.Errorf("%w for %s", ErrBusy, timeout)
	limited, cancel := context.WithTimeoutCause(ctx, timeout, stalled)
	defer cancel()
	if err := q.put(limited, r); err != nil {
		return err
	}
	var taken <-chan struct{} // the second time: ctx does not count any more
	steps := int64(0)
	// 2. Wait for the answer. When ctx ends, withdraw the request if the committer does not have
	// it yet. Otherwise wait on, as long as its steps grow.
	for ended := limited.Done(); ; ended = taken {
		select {
		case <-r.done:
			return r.err
		case <-d.Failed():
			return q.abandon(r, d.Err(), d.Err())
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

// abandon gives up an unanswered request. It returns queued if the committer does not have it,
// otherwise taken.
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

// Job is another package's write through the committer. Waiting jobs share a commit, unless one
// must be alone.
type Job interface {
	// Bytes is about how many bytes the job holds and writes.
	Bytes() int64
	// Reserved reports whether the job may use reserved space, because it adds nothing or other
	// machines count on it.
	Reserved() bool
	// Alone reports whether the job must be committed by itself.
	Alone() bool
	// Commit commits the jobs of a group; the receiver is the first of them. If it returns an
	// error, none may be done.
	Commit(c *Commit, group []Job) error
}

// Commit is the right to change the counters and the stamps of a store. It is valid until the
// called function returns.
type Commit struct{ to *Committer }

// Counters returns the last committed counters.
func (c *Commit) Counters() keyspace.Counters { return c.to.counted }

// LinksWith returns [keyspace.Counters.Links] as they will be when some tables are ingested.
func (c *Commit) LinksWith(tables []string) (int64, error) {
	n, err := c.to.newLinks(tables)
	return c.to.counted.Links + n, err
}

// Outgrow makes the store's later stamps greater than all stamps of an epoch.
func (c *Commit) Outgrow(epoch uint64, batch *pebble.Batch) error {
	return c.to.sequence.outgrow(epoch, batch)
}

// AddTokens appends rows of tokens to a batch, and deletes outdated ones.
func (c *Commit) AddTokens(batch *pebble.Batch, tokens []Token) error {
	return c.to.tokens.write(batch, tokens)
}

// Write commits a batch and sets the counters to after; see [database.Database.Commit].
func (c *Commit) Write(batch *pebble.Batch, after keyspace.Counters, durable bool) error {
	s := c.to
	if after != s.counted {
		if err := batch.Set(keyspace.RowCounters, after.Append(nil), nil); err != nil {
			return err
		}
	}
	if err := s.db.Commit(batch, durable); err != nil {
		return err
	}
	s.counted = after
	return nil
}

// Ingest makes tables part of the database, all at once and durably. One of them must set the
// counters to after. Ingest calls loaded when their rows become readable.
func (c *Commit) Ingest(ctx context.Context, tables []string, after keyspace.Counters) error {
	s := c.to
	if err := s.db.Ingest(ctx, tables); err != nil {
		return err
	}
	s.metrics.loaded.Add(after.Triples - s.counted.Triples)
	s.counted = after
	return nil
}

func newJob(job Job) *request {
	kind := kindJob
	if job.Alone() {
		kind = kindJobAlone
	}
	return &request{kind: kind, job: job, size: job.Bytes(), done: make(chan struct{})}
}

// nothing is a job that writes nothing.
type nothing struct{}

func (nothing) Bytes() int64                { return 0 }
func (nothing) Reserved() bool              { return true }
func (nothing) Alone() bool                 { return true }
func (nothing) Commit(*Commit, []Job) error { return nil }
