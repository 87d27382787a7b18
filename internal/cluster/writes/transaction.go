// Transactions: changes of several triples that are committed at one tick.

package writes

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// MaxTransaction is the most bytes of keys and long terms that a change may have to be one transaction.
const MaxTransaction = 8 << 20

// Limits of the transactions of one coordinator at a time. Their parts do not wait for memory of the sequencers.
const (
	maxTransactions      = 32
	maxTransactionsBytes = 2 * MaxTransaction
)

// Counts is the triples of a transaction: those that it changed, the deletes among them, and those that were as
// requested before.
type Counts struct{ Changed, Removed, Unchanged int64 }

// Transact deletes triples, then adds others, like [replica.Store.Delete] and [replica.Store.Add]. When it returns nil,
// all places of all triples have the operations durably. If the triples have several sequencers, their batches are
// committed at one tick, so a reader with a tick sees all of them or none.
//
// These are not one transaction: changes of more than MaxTransaction, and what is left of one if the view changes, or if
// a sequencer refuses its part for Options.RetryTimeout.
//
// If it fails, the counts are of the finished triples. After [store.ErrUnknown] each of the others may be done, or be
// done later. After [store.ErrUnavailable] and [store.ErrDiskFull] none of the others is done. Operations are only sent
// again if they were refused, for Options.RetryTimeout. If an operation was done before under the key of ctx
// ([store.WithRequestKey]), it is not repeated, and counts as unchanged. If ctx ends, a transaction goes on.
func (co *coordinator) Transact(ctx context.Context, deletes, adds []triple.Triple) (c Counts, err error) {
	for _, list := range [][]triple.Triple{deletes, adds} {
		for i := range list {
			if err := list[i].Check(); err != nil {
				return c, fmt.Errorf("triple %d: %w", i, err)
			}
		}
	}
	x := co.newWriting(ctx, len(deletes)+len(adds))
	if operations := x.operations(deletes, adds); operations != nil {
		x.transact(operations)
	} else {
		x.run(store.OperationDelete, deletes)
		x.running.Wait() // the adds come after all deletes
		x.removed = x.changed
		x.run(store.OperationAdd, adds)
		x.running.Wait()
	}
	x.mu.Lock() // a transaction may go on
	c = Counts{x.changed, x.removed, x.unchanged}
	x.mu.Unlock()
	co.stats.coordinated.Add(c.Changed + c.Unchanged)
	return c, x.result()
}

// operations returns the operations of a transaction; nil if they are too large for one.
func (x *writing) operations(deletes, adds []triple.Triple) []replica.Operation {
	all, size := make([]replica.Operation, 0, x.total), 0
	var scratch []byte
	for i, list := range [][]triple.Triple{deletes, adds} {
		for _, t := range list {
			o := x.operation([]store.OperationKind{store.OperationDelete, store.OperationAdd}[i], t, &scratch)
			if size += bytesOf(&o); size > MaxTransaction {
				return nil
			}
			all = append(all, o)
		}
	}
	return all
}

// transact submits operations until they are committed or have failed.
func (x *writing) transact(operations []replica.Operation) {
	co := x.coordinator
	tries := newRetries(co.common)
	for len(operations) > 0 {
		// 1. Group the operations under the view of this try. One sequencer makes one batch of them.
		v := co.member.View()
		if err := x.checkFence(v); err != nil {
			x.fail(err)
			return
		}
		parts, err := bySequencer(v, operations)
		switch {
		case err != nil:
		case len(parts) == 1:
			operations, err = x.submitAlone(v, parts[0])
		default:
			operations, err = x.submitParts(v, parts)
		}
		if err == nil || x.result() != nil {
			return
		}
		// 2. What is left was refused. Wait for a newer view or a moment.
		if err := tries.wait(x.ctx, err); err != nil {
			x.fail(err)
			return
		}
	}
}

// bySequencer groups operations by their sequencers under v. Those of one keep their order.
func bySequencer(v *view.View, operations []replica.Operation) (parts []*chunk, err error) {
	if v == nil {
		return nil, errNoSequencer(v)
	}
	r := v.Joint().Resolver()
	of := map[trie.MachineID]*chunk{}
	for i := range operations {
		if err := r.Resolve(operations[i].Key); err != nil {
			return nil, malformed(err)
		}
		m, ok := r.Sequencer()
		if !ok {
			return nil, errNoSequencer(v)
		}
		c := of[m]
		if c == nil {
			c = &chunk{view: v, machine: m}
			of[m], parts = c, append(parts, c)
		}
		c.operations = append(c.operations, operations[i])
		c.size += int64(bytesOf(&operations[i]) + 32)
	}
	return parts, nil
}

// submitAlone submits operations of one sequencer. It returns them if they were refused.
func (x *writing) submitAlone(v *view.View, c *chunk) (left []replica.Operation, err error) {
	a, err := x.coordinator.submitTo(x.ctx, v, c, x.first, x.fence)
	switch {
	case err == nil && a.outcome == diskFull:
		x.fail(errFull(v, a.full))
	case err == nil:
		x.count(a)
	case !peer.IsDefinite(err):
		x.fail(fmt.Errorf("%w: %w", store.ErrUnknown, err))
	default:
		return c.operations, err
	}
	return nil, nil
}

// count adds the counts of an answer.
func (x *writing) count(a answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changed += a.changed
	x.unchanged += a.unchanged
	x.removed += a.removed
}

// submitParts submits the parts of a transaction, and waits until they are committed or have failed. It returns the
// operations of parts that were refused because the view has changed.
func (x *writing) submitParts(v *view.View, parts []*chunk) (left []replica.Operation, err error) {
	co := x.coordinator
	// 1. The disks must have room for all parts, because a part that is stamped cannot be taken back.
	size := int64(0)
	for _, c := range parts {
		size += c.size
		r, err := newRoute(v, co.self.Machine, c.operations)
		if err != nil {
			return nil, malformed(err)
		}
		if full := co.sequencer.lacksRoom(&request{operations: c.operations, route: r}); full != 0 {
			x.fail(errFull(v, full))
			return nil, nil
		}
	}
	// 2. Submit them all, also if the client goes away.
	if err := co.transactions.take(x.ctx, size); err != nil {
		x.fail(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
		return nil, nil
	}
	done := make(chan struct{})
	started := co.sequencer.flight.start(func() {
		defer close(done)
		defer co.transactions.give(size)
		left, err = x.runParts(context.WithoutCancel(x.ctx), v, parts)
	})
	if !started {
		co.transactions.give(size)
		x.fail(store.ErrClosed)
		return nil, nil
	}
	select {
	case <-done:
		return left, err
	case <-x.ctx.Done():
		x.fail(fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(x.ctx)))
		return nil, nil
	}
}

// runParts is submitParts to its end.
func (x *writing) runParts(ctx context.Context, v *view.View, parts []*chunk) (left []replica.Operation, err error) {
	co := x.coordinator
	number, finished := co.transactions.begin(v.Epoch)
	var mu sync.Mutex
	var running sync.WaitGroup
	abandoned := false
	for i, c := range parts {
		p := ticks.Part{Coordinator: co.self.Machine, Number: number, Finished: finished, Index: uint64(i), Parts: uint64(len(parts))}
		running.Go(func() {
			refused, ended := x.submitPart(ctx, v, c, p)
			mu.Lock()
			defer mu.Unlock()
			if abandoned = abandoned || !ended; refused != nil {
				left, err = append(left, c.operations...), refused
			}
		})
	}
	running.Wait()
	co.transactions.end(number, abandoned)
	return left, err
}

// submitPart submits a part until it is committed, or the view has changed. If it is refused for too long, the
// transaction is abandoned, and ended is false. If the part was refused because the view has changed, it returns why.
func (x *writing) submitPart(ctx context.Context, v *view.View, c *chunk, p ticks.Part) (refused error, ended bool) {
	co := x.coordinator
	s := submission{operations: c.operations, first: x.first, fence: v.Epoch, part: &p}
	unsure := false // an answer was lost, so the part may be stamped
	tries := newRetries(co.common)
	for {
		// 1. A part may be submitted again: it is stamped once.
		a, err := co.submitPartTo(ctx, v, c.machine, int(c.size), s)
		switch {
		case err == nil && a.outcome == diskFull:
			s.forced = true // because other parts may be stamped, see the invariants of room.go
			continue
		case err == nil:
			x.count(a)
			return nil, true
		}
		unsure = unsure || !peer.IsDefinite(err)
		// 2. In another view it is no part of the transaction any more.
		failed := tries.wait(ctx, err)
		if failed == nil && co.member.View() == v {
			continue
		}
		if failed == nil && !unsure {
			return err, true
		}
		if unsure {
			failed = fmt.Errorf("%w: %w", store.ErrUnknown, err)
		}
		x.fail(failed)
		if co.member.View() != v {
			return nil, true
		}
		co.abandon(ctx, v, p)
		return nil, false
	}
}

// submitPartTo submits a part to its sequencer. It stops waiting when the machine is excluded.
func (co *coordinator) submitPartTo(ctx context.Context, v *view.View, m trie.MachineID, size int, s submission) (a answer, err error) {
	if m == co.self.Machine {
		return co.sequencer.submitPart(ctx, s)
	}
	body, err := co.callSequencer(ctx, v, m, MethodPart, peer.Encode(size, s.fields))
	if err == nil {
		err = peer.Decode(body, a.partFields)
	}
	return a, err
}

// abandon lets the other parts of a transaction be committed, as long as the view is adopted.
func (co *coordinator) abandon(ctx context.Context, v *view.View, p ticks.Part) {
	pause := backoff()
	for co.member.View() == v {
		limited, cancel := context.WithTimeout(ctx, co.options.Attempt)
		err := co.sequencer.flight.clock.Abandon(limited, v, p)
		cancel()
		if err == nil || pause.Wait(co.ctx) != nil {
			return
		}
	}
}

// transactions numbers and bounds the transactions of this machine.
type transactions struct {
	memory memoryLimit
	slots  chan struct{} // a token for each that runs

	mu   sync.Mutex
	last uint64
	open map[uint64]uint64 // by number, the epoch of each that runs or was abandoned, in the newest epoch
}

func (ts *transactions) init() {
	ts.memory.limit, ts.slots, ts.open = maxTransactionsBytes, make(chan struct{}, maxTransactions), map[uint64]uint64{}
}

// take waits for room for a transaction.
func (ts *transactions) take(ctx context.Context, size int64) error {
	select {
	case ts.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	err := ts.memory.take(ctx, size)
	if err != nil {
		<-ts.slots
	}
	return err
}

func (ts *transactions) give(size int64) {
	ts.memory.give(size)
	<-ts.slots
}

// begin returns the number of a transaction of an epoch, and the number before which all are finished.
func (ts *transactions) begin(epoch uint64) (number, finished uint64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.last++
	number, finished = ts.last, ts.last
	ts.open[number] = epoch
	for n, of := range ts.open {
		if of < epoch {
			delete(ts.open, n) // nobody knows it any more
		} else {
			finished = min(finished, n)
		}
	}
	return number, finished
}

// end ends a transaction. Parts of one that was abandoned may still come.
func (ts *transactions) end(number uint64, abandoned bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if !abandoned {
		delete(ts.open, number)
	}
}
