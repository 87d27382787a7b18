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
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
)

// answerWait is how long a sequencer waits for a batch before it answers: in flight.
const answerWait = 5 * time.Second

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
	_, err := w.learn(ctx, origins, true)
	return err
}

// Uncommitted returns which of some batches are in flight at a moment of the call, by the answers of their
// sequencers. If a sequencer is lost, it waits until others have committed what it left.
func (w *waiter) Uncommitted(ctx context.Context, origins []replica.Origin) ([]replica.Origin, error) {
	return w.learn(ctx, origins, false)
}

// learn gets reports about batches from all their sequencers at the same time. With wait it waits until
// all are committed, else it returns those that are not.
func (w *waiter) learn(ctx context.Context, origins []replica.Origin, wait bool) (open []replica.Origin, err error) {
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
			left, err := w.learnFrom(ctx, s, slices.Compact(numbers), wait)
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
func (w *waiter) learnFrom(ctx context.Context, s member.Process, batches []uint64, wait bool) (open []uint64, err error) {
	if s == w.self {
		return w.learnLocal(ctx, batches, wait)
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
		open, err := w.requestReport(ctx, e, s, batches, wait)
		switch {
		case err == nil && (len(open) == 0 || !wait):
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

// requestReport returns the batches in flight, by their sequencer's answer, and passes its report to the
// store. The call ends with the era, because the next view may exclude the sequencer.
func (w *waiter) requestReport(ctx context.Context, e *era, s member.Process, batches []uint64, wait bool) (open []uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait+w.options.Attempt)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	body, err := w.member.Call(ctx, s.Machine, methodCommitted, peer.Encode(20+3*len(batches), codeBatches(&s.Incarnation, &batches, &wait)))
	if err != nil {
		return nil, err
	}
	var report commitReport
	if err := peer.Decode(body, report.withOpen(&open)); err != nil {
		return nil, err
	}
	report.upTo.Sequencer, report.upTo.Incarnation = s.Machine, s.Incarnation
	w.store.RecordCommitted(report.upTo, report.open, report.acks)
	return open, nil
}

// learnLocal is learnFrom for batches of this machine. It passes the report to the store.
func (w *waiter) learnLocal(ctx context.Context, batches []uint64, wait bool) (open []uint64, err error) {
	if wait {
		if err := w.flight.await(ctx, batches); err != nil {
			return nil, err
		}
	}
	report, open := w.flight.reportAndOpen(batches, true)
	w.store.RecordCommitted(report.upTo, report.open, report.acks)
	return open, nil
}

// handleCommitted answers writes/settled.
func (w *waiter) handleCommitted(ctx context.Context, body []byte) ([]byte, error) {
	var incarnation uint64
	var batches []uint64
	var wait bool
	if err := peer.Decode(body, codeBatches(&incarnation, &batches, &wait)); err != nil {
		return nil, malformed(err)
	}
	if incarnation != w.self.Incarnation {
		return nil, peer.Refuse(peer.CodeStranger, 0, "machine %s runs in incarnation %d, not %d", w.self.Machine, w.self.Incarnation, incarnation)
	}
	// 1. If all are in flight and the caller wants that, wait for the first. The number of waits is bounded, because
	// readers of committed rows must not queue behind readers of others.
	if open := w.flight.stillOpen(batches); wait && len(open) == len(batches) && len(open) > 0 {
		finished, err := w.beginWait(waitCommitted)
		if err != nil {
			return nil, err
		}
		defer finished()
		waiting, cancel := context.WithTimeoutCause(ctx, answerWait, errNotYet)
		defer cancel()
		if err := w.flight.await(waiting, batches[:1]); err != nil && !errors.Is(err, errNotYet) {
			return nil, err
		}
	}
	// 2. Answer with the report and the batches still in flight.
	report, open := w.flight.reportAndOpen(batches, false)
	return peer.Encode(report.size()+4*len(open), report.withOpen(&open)), nil
}

var errNotYet = errors.New("not settled yet")
