// Transactions: changes of several triples that are committed at one tick.

package writes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// MaxTransaction is the most bytes of keys and long terms that a change may have to be one transaction.
const MaxTransaction = 8 << 20

// Limits of the transactions of one coordinator at a time. Their parts do not wait for memory of the sequencers.
const (
	maxTransactionBytes = 64 << 20
	// maxTransactionParts bounds the parts of all coordinators that wait at a sequencer, if each uses its share.
	maxTransactionParts = 256
	// maxUnfinished bounds what sequencers and the oracle remember of a coordinator's transactions.
	maxUnfinished = 4096
)

// Counts is the triples of a transaction: those that it changed, the deletes among them, and those that were as
// requested before.
type Counts struct{ Changed, Removed, Unchanged int64 }

// Transact deletes triples, then adds others, like [replica.Store.Delete] and [replica.Store.Add]. When it returns nil,
// all places of all triples have the operations durably. If the triples have several sequencers, their batches are
// committed at one tick, so a reader with a tick sees all of them or none.
//
// If the view changes meanwhile, readers may see a part of it, until all of it is there. Changes of more than
// MaxTransaction are several transactions.
//
// If it fails, the counts are of the finished triples. After [store.ErrUnknown] each of the others may be done, or be
// done later. After [store.ErrUnavailable] and [store.ErrDiskFull] none of the others is done. Operations are only sent
// again if they were refused, for Options.RetryTimeout. If an operation was done before under the key of ctx
// ([store.WithRequestKey]), or in an earlier view, it is not repeated, and counts as unchanged. If ctx ends, a
// transaction goes on.
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
		x.transact(ctx, operations)
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
func (x *writing) transact(ctx context.Context, operations []replica.Operation) {
	co := x.coordinator
	tries := newRetries(co.common)
	for {
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
			err = x.submitAlone(ctx, v, parts[0])
		default:
			x.submitParts(ctx, v, parts)
		}
		if err == nil {
			return
		}
		// 2. They were refused. Wait for a newer view or a moment.
		if err := tries.wait(ctx, err); err != nil {
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

// submitAlone submits operations of one sequencer. It returns an error if they were refused.
func (x *writing) submitAlone(ctx context.Context, v *view.View, c *chunk) (refused error) {
	var err error
	var a answer
	s := submission{operations: c.operations, first: x.first, fence: x.fence}
	// 1. If there are more machines than copies, it may be that no holder has all operations.
	if parts := []*chunk{c}; len(c.operations) > 1 && len(v.Members) > leastCopies(v) && fitsRecord(parts) {
		x.identify(v, parts)
		s.first, s.record = x.first, newRecord(parts)
	}
	kind := c.operations[0].Kind
	if s.record != nil || slices.ContainsFunc(c.operations, func(o replica.Operation) bool { return o.Kind != kind }) {
		a, err = x.coordinator.submitPartTo(ctx, v, c.machine, s)
	} else {
		a, err = x.coordinator.submitTo(ctx, v, c, x.first, x.fence)
		if kind == store.OperationDelete {
			a.removed = a.changed
		}
	}
	// 2. Its outcome.
	switch {
	case err == nil && a.outcome == diskFull:
		x.fail(errFull(v, a.full))
	case err == nil:
		x.count(a)
	case !peer.IsDefinite(err):
		x.fail(fmt.Errorf("%w: %w", store.ErrUnknown, err))
	default:
		return err
	}
	return nil
}

// count adds the counts of an answer.
func (x *writing) count(a answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changed += a.changed
	x.unchanged += a.unchanged
	x.removed += a.removed
}

// submitParts submits the parts of a transaction, and waits until all is committed or has failed, or ctx ends. It goes on
// after that, because some may be stamped.
func (x *writing) submitParts(ctx context.Context, v *view.View, parts []*chunk) {
	co := x.coordinator
	// 1. The disks must have room for all parts, because a part that is stamped cannot be taken back.
	size, total := int64(0), 0
	for _, c := range parts {
		size, total = size+sizeOf(c.operations), total+len(c.operations)
		r, err := newRoute(v, co.self.Machine, c.operations)
		if err != nil {
			x.fail(malformed(err))
			return
		}
		if full := co.sequencer.lacksRoom(&request{operations: c.operations, route: r}); full != 0 {
			x.fail(errFull(v, full))
			return
		}
	}
	give, err := co.transactions.take(ctx, size, len(v.Members))
	if err != nil {
		x.fail(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
		return
	}
	// 2. Submit them. If the view changes, submit what is left in the next one.
	done := make(chan struct{})
	started := co.sequencer.flight.start(func() {
		defer close(done)
		ctx := context.WithoutCancel(ctx)
		t := &transaction{writing: x, view: v, refused: make([]bool, len(parts)), ended: make(chan struct{})}
		left := t.run(ctx, parts)
		give()
		if len(left) == 0 || t.isEnded() {
			return
		}
		if len(left) < total {
			x.unsure.Store(true) // others complete it, if this machine does not
		}
		if co.ctx.Err() != nil {
			x.fail(store.ErrClosed)
			return
		}
		x.transact(ctx, left)
	})
	if !started {
		give()
		x.fail(store.ErrClosed)
		return
	}
	select {
	case <-done:
	case <-x.late:
		x.fail(fmt.Errorf("%w: a part of the change is refused: %w", store.ErrUnknown, x.lateErr))
	case <-ctx.Done():
		x.fail(fmt.Errorf("%w: %w", store.ErrUnknown, context.Cause(ctx)))
	}
}

// transaction is a change whose parts are submitted in one view. They are stamped all or none, unless the view changes:
// if a part is refused, it is submitted again, because others may be stamped. If all are refused for
// Options.RetryTimeout, they are given up.
type transaction struct {
	*writing
	view *view.View

	state   sync.Mutex
	refused []bool        // parts that are certainly not stamped, and were refused for Options.RetryTimeout
	ended   chan struct{} // closed if all parts are given up, because all are refused
}

// run submits the parts until all are committed, or the view changes. It returns the operations of the other ones.
func (t *transaction) run(ctx context.Context, parts []*chunk) (left []replica.Operation) {
	co := t.coordinator
	number, finished := co.transactions.begin(co.ctx)
	defer co.transactions.end(number)
	var record []byte
	if fitsRecord(parts) {
		t.identify(t.view, parts)
		record = newRecord(parts)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	for i, c := range parts {
		running.Go(func() {
			refused := t.submitPart(ctx, c.machine, submission{
				operations: c.operations, first: t.first, fence: t.view.Epoch, record: record,
				part: &ticks.Part{Coordinator: co.self, Number: number, Finished: finished, Index: uint64(i), Parts: uint64(len(parts))},
			})
			if refused != nil {
				mu.Lock()
				defer mu.Unlock()
				left = append(left, c.operations...)
			}
		})
	}
	running.Wait()
	return left
}

// submitPart submits a part until it is committed. It returns an error if the view has changed before, this machine
// shuts down, or all parts were refused.
func (t *transaction) submitPart(ctx context.Context, to trie.MachineID, s submission) (refused error) {
	co, began := t.coordinator, time.Now()
	unsure := false // an answer was lost, so the part may be stamped
	for pause := backoff(); ; {
		// 1. A part may be submitted again: it is stamped once.
		if !t.begin(int(s.part.Index)) {
			return refused
		}
		limited, cancel := context.WithTimeout(ctx, co.options.Attempt) // a message may be lost without an error
		a, err := co.submitPartTo(limited, t.view, to, s)
		cancel()
		switch {
		case err == nil && a.outcome == diskFull:
			s.forced = true // because other parts may be stamped, see memoryLimit
			continue
		case err == nil:
			t.count(a)
			return nil
		}
		// 2. In another view it is no part of the transaction any more. The operations may be submitted again if they
		// are certainly not stamped, or have tokens.
		if refused, unsure = err, unsure || !peer.IsDefinite(err); unsure {
			t.unsure.Store(true)
		}
		switch gone := co.member.View() != t.view; {
		case gone && unsure && !haveTokens(s.operations):
			t.fail(fmt.Errorf("%w: %w", store.ErrUnknown, err))
			return nil
		case gone:
			return refused
		}
		if time.Since(began) >= co.options.RetryTimeout {
			if unsure {
				t.isLate(err)
			} else {
				t.refuse(int(s.part.Index), err)
			}
		}
		limited, cancel = context.WithTimeout(co.ctx, pause.Next())
		if co.member.Newer(limited, t.view) != nil {
			<-limited.Done() // it fails at once if this machine is isolated
		}
		cancel()
		if co.ctx.Err() != nil {
			return store.ErrClosed
		}
	}
}

// begin records that a part is submitted. It returns false if the parts are given up.
func (t *transaction) begin(part int) bool {
	t.state.Lock()
	defer t.state.Unlock()
	t.refused[part] = false
	return !t.isEnded()
}

func (t *transaction) isEnded() bool {
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// giveUpTime is how long a part that was refused for too long waits for the others, which may be refused, too. It is
// longer than a pause between two tries.
const giveUpTime = time.Second

// refuse records that a part is refused for too long. It is certainly not stamped. If the others are not, either, all are
// given up. Otherwise the client need not wait any more.
func (t *transaction) refuse(part int, err error) {
	t.state.Lock()
	t.refused[part] = true
	if !slices.Contains(t.refused, false) && !t.isEnded() {
		t.fail(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
		close(t.ended)
	}
	t.state.Unlock()
	limit := time.NewTimer(giveUpTime)
	defer limit.Stop()
	select {
	case <-t.ended:
	case <-t.coordinator.ctx.Done():
	case <-limit.C:
		t.isLate(err)
	}
}

// isLate ends the wait of the client. err is why a part is not stamped.
func (x *writing) isLate(err error) {
	x.lateOnce.Do(func() {
		x.lateErr = err
		close(x.late)
	})
}

// identify gives the operations of a transaction tokens, if they have none.
func (x *writing) identify(v *view.View, parts []*chunk) {
	var key *store.RequestKey
	for _, c := range parts {
		for i := range c.operations {
			if o := &c.operations[i]; o.Token == (store.Token{}) {
				if key == nil {
					key, x.first = store.RandomKey(), v.Epoch
				}
				o.Token = key.Token(o.Kind, o.Key)
			}
		}
	}
}

// submitPartTo submits a part, or all of a transaction, to its sequencer. It stops waiting when the machine is excluded.
func (co *coordinator) submitPartTo(ctx context.Context, v *view.View, m trie.MachineID, s submission) (a answer, err error) {
	switch {
	case m != co.self.Machine:
	case s.part == nil:
		return co.sequencer.settle(ctx, s)
	default:
		return co.sequencer.submitPart(ctx, s)
	}
	body, err := co.callSequencer(ctx, v, m, MethodPart, peer.Encode(int(sizeOf(s.operations))+len(s.record), s.fields))
	if err == nil {
		err = peer.Decode(body, a.partFields)
	}
	return a, err
}

// transactions numbers and bounds the transactions of this machine.
type transactions struct {
	memory memoryLimit
	parts  memoryLimit // each transaction takes one for each member

	mu    sync.Mutex
	last  uint64
	open  map[uint64]bool // numbers of running transactions
	ended notify.Broadcast
}

func (ts *transactions) init() {
	ts.memory.limit, ts.parts.limit, ts.open = maxTransactionBytes, maxTransactionParts, map[uint64]bool{}
}

// take waits for room for a transaction.
func (ts *transactions) take(ctx context.Context, size int64, members int) (give func(), err error) {
	if err := ts.parts.take(ctx, int64(members)); err != nil {
		return nil, err
	}
	if err := ts.memory.take(ctx, size); err != nil {
		ts.parts.give(int64(members))
		return nil, err
	}
	return func() {
		ts.memory.give(size)
		ts.parts.give(int64(members))
	}, nil
}

// begin returns the number of a transaction, and the number before which all are finished. It waits while an old one
// is not finished, unless closing ends.
func (ts *transactions) begin(closing context.Context) (number, finished uint64) {
	for {
		ts.mu.Lock()
		finished = ts.last + 1
		for n := range ts.open {
			finished = min(finished, n)
		}
		if ts.last-finished < maxUnfinished || finished > ts.last || closing.Err() != nil {
			ts.last++
			ts.open[ts.last] = true
			number = ts.last
			ts.mu.Unlock()
			return number, finished
		}
		ended := ts.ended.Next()
		ts.mu.Unlock()
		select {
		case <-ended:
		case <-closing.Done():
		}
	}
}

func (ts *transactions) end(number uint64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.open, number)
	ts.ended.Send()
}
