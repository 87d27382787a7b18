// Proofs of the leadership, each shared by all waiting calls of Verify.

package agreement

import (
	"context"
	"time"

	"github.com/trefoildb/trefoil/internal/retry"
)

const (
	// roundRest is how long the leader rests after a proof, for each server: so the
	// heartbeats of proofs are at most 10,000 a second for any number of servers.
	roundRest = 100 * time.Microsecond
	// maxRoundRest bounds the rest, because leases wait for proofs.
	maxRoundRest = 100 * time.Millisecond
	// roundTimeout bounds one proof, if four heartbeats do not last longer.
	roundTimeout = 2 * time.Second
)

// round is one proof, for all calls of Verify before it began.
type round struct {
	done chan struct{}
	err  error // set before done is closed
}

// Verify returns nil if this node is the leader now, with a majority, and View is no older than
// any view agreed on under earlier leaders. Otherwise it returns ErrNotLeader or the context's
// error. Answers from before the call do not count. Concurrent calls share one proof, begun after
// them, because each proof makes Raft send a heartbeat to every server.
func (a *Agreement) Verify(ctx context.Context) error {
	if !a.IsLeader() {
		return ErrNotLeader
	}
	// 1. Join the next proof, and start prove if it does not run.
	a.mu.Lock()
	r := a.nextRound
	if r == nil {
		r = &round{done: make(chan struct{})}
		a.nextRound = r
	}
	begins := !a.proving
	a.proving = true
	a.mu.Unlock()
	if begins {
		if !a.begin() {
			return ErrClosed
		}
		go a.prove()
	}
	// 2. Wait for the result.
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return verdict(ctx.Err())
	case <-a.closing:
		return ErrClosed
	}
}

// prove proves the leadership as long as there are calls of Verify. Close waits for it.
func (a *Agreement) prove() {
	defer a.end()
	for {
		a.mu.Lock()
		r := a.nextRound
		a.nextRound = nil
		a.proving = r != nil
		a.mu.Unlock()
		if r == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), max(roundTimeout, 4*a.cfg.Heartbeat))
		r.err = a.verify(ctx)
		cancel()
		close(r.done)
		retry.SleepUntil(context.Background(), min(time.Duration(len(a.configured()))*roundRest, maxRoundRest), a.closing)
	}
}
