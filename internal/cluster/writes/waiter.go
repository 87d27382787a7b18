// What readers learn of operations in flight.

package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
)

// answerWait is how long a sequencer waits for a batch before it answers: in flight.
const answerWait = 5 * time.Second

// need is what a reader needs of batches in flight.
type need byte

const (
	needStates need = iota // which are committed at present
	needTicks              // the same, and the ticks of those; if one is requested, it waits for it
	needCommit             // it waits until all are committed
	needs
)

// waiter tells readers which operations are committed, or makes them wait.
type waiter struct {
	*common
	flight   *inFlight
	handover *handover
}

// WaitCommitted waits until batches, as the store lists them, are committed, or ctx ends. It does
// not wait for other batches, because a down holder must delay only the readers of its own
// triples.
func (w *waiter) WaitCommitted(ctx context.Context, origins []replica.Origin) error {
	_, err := w.learn(ctx, origins, needCommit)
	return err
}

// Uncommitted returns which of some batches are in flight at a moment of the call, by the answers of their
// sequencers. If a sequencer is lost, it waits until others have committed what it left. With ticks, the store has
// the ticks of the others, and those that are in flight will have one that is issued after the call.
func (w *waiter) Uncommitted(ctx context.Context, origins []replica.Origin, ticks bool) ([]replica.Origin, error) {
	if ticks {
		return w.learn(ctx, origins, needTicks)
	}
	return w.learn(ctx, origins, needStates)
}

// learn gets reports about batches from all their sequencers at the same time. It returns those that are not
// committed.
func (w *waiter) learn(ctx context.Context, origins []replica.Origin, need need) (open []replica.Origin, err error) {
	// 1. Group the batches by the process of their sequencer.
	batches := map[member.Process][]uint64{}
	for _, o := range origins {
		s := sequencerOf(o)
		batches[s] = append(batches[s], o.Batch)
	}
	if len(batches) == 0 {
		return nil, nil
	}
	// 2. Wait for all groups; the first error ends the others.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.ctx, func() { cancel(store.ErrClosed) })()
	var running sync.WaitGroup
	var mu sync.Mutex
	for s, numbers := range batches {
		slices.Sort(numbers)
		running.Go(func() {
			left, err := w.learnFrom(ctx, s, slices.Compact(numbers), need)
			if err != nil {
				cancel(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, n := range left {
				open = append(open, replica.Origin{Sequencer: s.Machine, Incarnation: s.Incarnation, Batch: n})
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("learn which operations are committed: %w", context.Cause(ctx))
	}
	return open, nil
}

// learnFrom is learn for batches of one sequencer. Their numbers must ascend.
func (w *waiter) learnFrom(ctx context.Context, s member.Process, batches []uint64, need need) (open []uint64, err error) {
	if s == w.self {
		return w.learnLocal(ctx, batches, need)
	}
	pause := backoff()
	for {
		e, changed := w.flight.current()
		// 1. The sequencer is lost: wait until the entries are handed over and forgotten.
		if e == nil || !s.IsMember(e.view) {
			if !w.handover.holds(func(o replica.Origin) bool { return sequencerOf(o) == s }) {
				return nil, nil
			}
			if e != nil {
				e.strays.Send()
			}
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		// 2. It is a member: ask it, until no batch is in flight.
		open, err := w.requestStates(ctx, e, s, batches, need)
		switch {
		case err == nil && (len(open) == 0 || need != needCommit):
			return open, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err == nil:
			batches = open
			pause.Reset()
			continue
		}
		// The sequencer did not answer. A change of the view ends the pause, because it may be
		// lost then.
		if err := retry.SleepUntil(ctx, pause.Next(), changed); err != nil {
			return nil, err
		}
	}
}

// requestStates returns the batches in flight, by their sequencer's answer, and passes the others to the
// store. The call ends with the era, because the next view may exclude the sequencer.
func (w *waiter) requestStates(ctx context.Context, e *era, s member.Process, batches []uint64, need need) (open []uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait+w.options.Attempt)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	body, err := w.member.Call(ctx, s.Machine, methodCommitted, peer.Encode(20+3*len(batches), codeBatches(&s.Incarnation, &batches, &need)))
	if err != nil {
		return nil, err
	}
	var ticks replica.CommitTicks
	if err := peer.Decode(body, codeStates(&open, &ticks)); err != nil {
		return nil, err
	}
	w.record(s, batches, open, ticks)
	return open, nil
}

// record passes those of some batches to the store that are committed.
func (w *waiter) record(s member.Process, batches, open []uint64, ticks replica.CommitTicks) {
	committed := slices.DeleteFunc(slices.Clone(batches), func(n uint64) bool { return slices.Contains(open, n) })
	w.store.RecordSome(replica.Origin{Sequencer: s.Machine, Incarnation: s.Incarnation}, committed, ticks)
}

// learnLocal is learnFrom for batches of this machine.
func (w *waiter) learnLocal(ctx context.Context, batches []uint64, need need) (open []uint64, err error) {
	await := batches
	if need != needCommit {
		if err := w.commitIssued(ctx, batches, need); err != nil {
			return nil, err
		}
	}
	if need != needCommit {
		await = w.flight.relevant(batches, need)
	}
	if err := w.flight.await(ctx, await); err != nil {
		return nil, err
	}
	open, ticks := w.flight.statesOf(batches)
	w.record(w.self, batches, open, ticks)
	return open, nil
}

// commitIssued commits batches of transactions that have a tick. A reader without one does not wait for the oracle for
// long.
func (w *waiter) commitIssued(ctx context.Context, batches []uint64, need need) error {
	if need == needTicks {
		return w.flight.commitIssued(ctx, batches)
	}
	ctx, cancel := context.WithTimeout(ctx, ticks.Timeout)
	defer cancel()
	_ = w.flight.commitIssued(ctx, batches) // what is not committed is in flight for this reader
	return nil
}

// handleCommitted answers writes/settled.
func (w *waiter) handleCommitted(ctx context.Context, body []byte) ([]byte, error) {
	var incarnation uint64
	var batches []uint64
	var need need
	if err := peer.Decode(body, codeBatches(&incarnation, &batches, &need)); err != nil {
		return nil, malformed(err)
	}
	if incarnation != w.self.Incarnation {
		return nil, peer.Refuse(peer.CodeStranger, 0, "machine %s runs in incarnation %d, not %d", w.self.Machine, w.self.Incarnation, incarnation)
	}
	// 1. Wait for those that matter. The number of waits is bounded, because readers of committed rows must not queue
	// behind readers of others.
	parts := need != needCommit && w.flight.hasParts(batches)
	if await := w.flight.relevant(batches, need); parts || len(await) > 0 {
		finished, err := w.beginWait(waitCommitted)
		if err != nil {
			return nil, err
		}
		defer finished()
		waiting, cancel := context.WithTimeoutCause(ctx, answerWait, errNotYet)
		defer cancel()
		if parts {
			if err := w.commitIssued(waiting, batches, need); err != nil {
				return nil, err
			}
		}
		switch err := w.flight.await(waiting, await); {
		case errors.Is(err, errNotYet) && need == needTicks:
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "no tick was issued within %s", answerWait)
		case err != nil && !errors.Is(err, errNotYet):
			return nil, err
		}
	}
	// 2. Answer with the batches still in flight, and the ticks of the others.
	open, ticks := w.flight.statesOf(batches)
	return peer.Encode(20+4*len(batches), codeStates(&open, &ticks)), nil
}

var errNotYet = errors.New("not settled yet")
