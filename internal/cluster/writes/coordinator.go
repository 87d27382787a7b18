// The coordinator: it groups the triples of a client by sequencer and submits them.

package writes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// coordinator carries the operations of this machine's clients to the sequencers of their triples.
type coordinator struct {
	*common
	sequencer    *sequencer // of this machine
	transactions transactions
}

// Write adds or deletes triples; see [Writes.Transact].
func (co *coordinator) Write(ctx context.Context, kind store.OperationKind, triples []triple.Triple) (changed, unchanged int64, err error) {
	deletes, adds := triples, []triple.Triple(nil)
	if kind == store.OperationAdd {
		deletes, adds = nil, triples
	}
	c, err := co.Transact(ctx, deletes, adds)
	return c.Changed, c.Unchanged, err
}

// Claim records durably that the request of ctx begins. It does nothing if the request has no
// key. It uses the machines of a triple which never exists. It returns [store.ErrBegun] if the
// request began before.
func (co *coordinator) Claim(ctx context.Context) error {
	key := store.RequestKeyOf(ctx)
	if key == nil {
		return nil
	}
	token := key.Claim()
	t := triple.Triple{
		Subject:   triple.NewIRI(fmt.Sprintf("urn:trefoil:request:%x", token[:])),
		Predicate: triple.NewIRI("urn:trefoil:claim"),
		Object:    triple.NewString(""),
	}
	x := co.newWriting(ctx, 1)
	x.run(store.OperationClaim, []triple.Triple{t})
	x.running.Wait()
	if err := x.result(); err != nil {
		return err
	}
	if x.unchanged > 0 {
		return store.ErrBegun
	}
	return nil
}

// writing is one call of Write.
type writing struct {
	coordinator *coordinator
	ctx         context.Context
	key         *store.RequestKey // nil if the request has none
	first       uint64            // the epoch of the first try; 0 if this may be a retry
	fence       uint64            // the epoch in which the operations must be stamped; 0 for any
	total       int
	places      chan struct{} // one for each request that is under way
	running     sync.WaitGroup

	mu                 sync.Mutex
	changed, unchanged int64
	removed            int64 // of those changed, the deletes of a transaction
	// unsure is set if an answer about a part was lost, so its operations may be done.
	unsure atomic.Bool
	// late is closed if a part is refused for too long. lateErr is why; it is set before.
	late            chan struct{}
	lateErr         error
	lateOnce        sync.Once
	unknown, failed error // the first of either kind
}

func (co *coordinator) newWriting(ctx context.Context, total int) *writing {
	x := &writing{coordinator: co, ctx: ctx, key: store.RequestKeyOf(ctx), fence: fenceOf(ctx), total: total, places: make(chan struct{}, parallel), late: make(chan struct{})}
	if v := co.member.View(); v != nil && x.key != nil && x.key.First {
		x.first = v.Epoch
	}
	return x
}

// run submits the triples in chunks, until one fails.
func (x *writing) run(kind store.OperationKind, triples []triple.Triple) {
	var chunks chunks
	var r *recovery.Resolver
	if chunks.view = x.coordinator.member.View(); chunks.view != nil {
		r = chunks.view.Joint().Resolver()
	}
	var key []byte
	// 1. Make the operations, and submit each chunk when it is full.
	for i := range triples {
		o := x.operation(kind, triples[i], &key)
		var to trie.MachineID // without a resolver send finds it
		if r != nil {
			if err := r.Resolve(o.Key); err != nil {
				x.fail(err)
				return
			}
			if m, ok := r.Sequencer(); ok {
				to = m
			}
		}
		if c := chunks.add(to, o); c != nil && !x.start(c) {
			return
		}
	}
	// 2. Submit the remaining chunks.
	for _, c := range chunks.rest() {
		if !x.start(c) {
			return
		}
	}
}

// operation returns an operation on a triple. scratch is reused.
func (x *writing) operation(kind store.OperationKind, t triple.Triple, scratch *[]byte) replica.Operation {
	key, long := triple.AppendKey((*scratch)[:0], triple.SPO, t)
	*scratch = key
	o := replica.Operation{Kind: kind, Key: bytes.Clone(key), Token: x.key.Token(kind, key)}
	switch {
	case kind == store.OperationClaim:
		o.Token = x.key.Claim()
	case long: // the change feed needs it of deletes, too
		o.Long = triple.AppendValue(nil, triple.Stamp{}, t)
	}
	return o
}

func errNoSequencer(v *view.View) *peer.Refusal {
	if v == nil {
		return peer.Refuse(peer.CodeUnavailable, 0, "this machine has no view yet")
	}
	return peer.Refuse(peer.CodeUnavailable, v.Epoch, "a triple has no sequencer")
}

// start submits a chunk in the background. It waits while too many are under way, and returns
// false if another one has failed.
func (x *writing) start(c *chunk) bool {
	x.places <- struct{}{} // the requests under way end with ctx
	if x.result() != nil {
		<-x.places
		return false
	}
	x.running.Go(func() {
		x.send(c)
		<-x.places
	})
	return true
}

// send submits a chunk until it is committed or has failed. If the view changes, the chunk may
// become several, because its triples may get different sequencers.
func (x *writing) send(c *chunk) {
	tries := newRetries(x.coordinator.common)
	for left := []*chunk{c}; len(left) > 0; {
		// 1. Group the operations under the view of this try.
		v := x.coordinator.member.View()
		if err := x.checkFence(v); err != nil {
			x.fail(err)
			return
		}
		parts, err := regroup(v, left[0])
		if err == nil && len(parts) > 1 {
			left = append(parts, left[1:]...)
			continue
		}
		// 2. Submit. Only a definite refusal may be retried: otherwise the operations may be done.
		var a answer
		if err == nil {
			a, err = x.coordinator.submitTo(x.ctx, v, parts[0], x.first, x.fence)
		}
		switch {
		case err == nil && a.outcome == diskFull:
			x.fail(errFull(v, a.full))
			return
		case err == nil:
			x.count(a)
			left = left[1:]
			tries = newRetries(x.coordinator.common)
			continue
		case !peer.IsDefinite(err):
			x.fail(fmt.Errorf("%w: %w", store.ErrUnknown, err))
			return
		}
		// 3. Wait for a newer view or a moment.
		if err := tries.wait(x.ctx, err); err != nil {
			x.fail(err)
			return
		}
	}
}

// checkFence returns an error if v is a later view than the one in which the operations must be stamped.
func (x *writing) checkFence(v *view.View) error {
	if x.fence == 0 || v == nil || v.Epoch == x.fence {
		return nil
	}
	return fmt.Errorf("%w: the operations were for epoch %d, and it is epoch %d", store.ErrUnavailable, x.fence, v.Epoch)
}

// regroup groups the operations of a chunk by their sequencers under v.
func regroup(v *view.View, c *chunk) ([]*chunk, error) {
	if v == nil {
		return nil, errNoSequencer(v)
	}
	if c.view == v && c.machine != 0 {
		return []*chunk{c}, nil
	}
	r := v.Joint().Resolver()
	chunks := chunks{view: v}
	var full []*chunk
	for i := range c.operations {
		if err := r.Resolve(c.operations[i].Key); err != nil {
			return nil, malformed(err)
		}
		m, ok := r.Sequencer()
		if !ok {
			return nil, errNoSequencer(v)
		}
		if of := chunks.add(m, c.operations[i]); of != nil {
			full = append(full, of)
		}
	}
	return append(full, chunks.rest()...), nil
}

// submitTo submits a chunk to its machine. It stops waiting when the machine is excluded. fence is 0
// or the epoch in which the operations must be stamped.
func (co *coordinator) submitTo(ctx context.Context, v *view.View, c *chunk, first, fence uint64) (answer, error) {
	if c.machine == co.self.Machine {
		return co.sequencer.settle(ctx, submission{operations: c.operations, first: first, fence: fence})
	}
	message, method := &numbered{first, c.operations, false}, MethodSubmit
	code, decode := message.fields, (*answer).fields
	if fence != 0 {
		message.number, method = fence, methodFenced
	} else if len(c.operations) == 1 && c.operations[0].Annotation != nil {
		method, code, decode = MethodAnnotate, message.conditionFields, (*answer).versionFields
	}
	body, err := co.callSequencer(ctx, v, c.machine, method, peer.Encode(int(c.size), code))
	if err != nil {
		return answer{}, err
	}
	var a answer
	err = peer.Decode(body, func(c *peer.Coder) { decode(&a, c) })
	return a, err
}

// callSequencer sends a message to a sequencer. The call ends if that one leaves the view, or this member is isolated.
func (co *coordinator) callSequencer(ctx context.Context, v *view.View, id trie.MachineID, method string, message []byte) ([]byte, error) {
	m := v.Find(id)
	if m == nil {
		return nil, wrongEpoch(v)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() { co.watch(ctx, cancel, replica.Origin{Sequencer: m.ID, Incarnation: m.Incarnation}) })
	body, err := co.member.Call(ctx, id, method, message)
	if cause := context.Cause(ctx); err != nil && cause == errGone {
		err = fmt.Errorf("machine %s: %w: %w", id, cause, err)
	}
	return body, err
}

var errGone = errors.New("the sequencer was excluded")

// watch ends ctx by cancel when the sequencer is excluded or this member is isolated.
func (co *coordinator) watch(ctx context.Context, cancel context.CancelCauseFunc, sequencer replica.Origin) {
	defer context.AfterFunc(co.ctx, func() { cancel(store.ErrClosed) })()
	for {
		v := co.member.View()
		if !alive(v, sequencer) {
			cancel(errGone)
			return
		}
		if err := co.member.Newer(ctx, v); err != nil {
			cancel(err) // has no effect if ctx has ended
			return
		}
	}
}

// fail records the first error of either kind.
func (x *writing) fail(err error) {
	if x.unsure.Load() && !errors.Is(err, store.ErrUnknown) {
		err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case !errors.Is(err, store.ErrUnknown):
		if x.failed == nil {
			x.failed = err
		}
	case x.unknown == nil:
		x.unknown = err
	}
}

// result returns the error of the call, nil if no chunk has failed.
func (x *writing) result() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.failed
	if x.unknown != nil {
		err = x.unknown
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%d of %d triples are written: %w", x.changed+x.unchanged, x.total, err)
}
