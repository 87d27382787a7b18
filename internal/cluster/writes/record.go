// Records: a transaction is completed although its coordinator or a sequencer is lost.

package writes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
)

// A part of a transaction carries a record: all operations of the transaction. It is an operation of the part's
// batch, which changes nothing, and goes to all holders of the part. Each operation has a token. A transaction with one
// sequencer carries one if there are more machines than copies, because a holder may have some of its operations only.
//
// If the view changes before a part is committed, another part may be missing: its coordinator died before it sent it,
// or its sequencer before any holder had it. So the sequencer of the part, or the one that takes it over, forwards the
// operations of the record to the sequencers of the new view. These stamp what no member has by its token, and answer
// when that is committed. Then the part is committed, and its record is needed no more. So each operation of a part with
// a record is stamped, also if it changes nothing: without a token it would be done again.
//
// An operation in flight counts as there when all its holders have it, because its own sequencer completes it. So no two
// parts wait for each other, and nothing of it needs a lease. An operation of a lost sequencer counts when its new
// sequencer has taken it over, although its holders have not forgotten it.
//
// A holder hands the records of a lost sequencer over first, until all their new holders have them, and then the
// operations. So an operation is committed only while several machines have its record, and a record does not keep the
// operations waiting that it waits for. Then the holder forwards the records itself, before it forgets them, because it
// counts as reconciled after that.

// maxRecord is the most bytes of a record. The parts of a larger transaction have none, and no tokens, which take space
// for as long as a store remembers them. So a part may be missing for good if a machine is lost while they are sent.
const maxRecord = 16 << 10

// maxRecordAge is less than [store.TokenTime]. The tokens of an older record may be forgotten.
const maxRecordAge = store.TokenTime / 2

func codeRecord(began *uint64, operations *[]replica.Operation) func(*peer.Coder) {
	return func(c *peer.Coder) {
		c.Uvarint(began)
		codeOperations(c, operations, false)
	}
}

// fitsRecord reports whether a transaction is small enough for a record.
func fitsRecord(parts []*chunk) bool {
	size := int64(0)
	for _, c := range parts {
		size += c.size
	}
	return size <= maxRecord
}

// newRecord returns the record of a transaction that begins now. Its operations must have tokens.
func newRecord(parts []*chunk) []byte {
	var all []replica.Operation
	for _, c := range parts {
		all = append(all, c.operations...)
	}
	began := uint64(time.Now().UnixMilli())
	return peer.Encode(maxRecord, codeRecord(&began, &all))
}

func isRecord(o replica.Operation) bool { return o.Kind == store.OperationRecord }

// hasRecords reports whether the operations of a batch have records.
func (b *batch) hasRecords() bool { return slices.ContainsFunc(b.operations, isRecord) }

// recorded returns the operations of a record; none if it is too old.
func recorded(o *replica.Operation) (operations []replica.Operation, err error) {
	var began uint64
	if err := peer.Decode(o.Long, codeRecord(&began, &operations)); err != nil {
		return nil, fmt.Errorf("the record of a transaction: %w", err)
	}
	if i := slices.IndexFunc(operations, func(o replica.Operation) bool { return o.Annotation != nil || o.Token == store.Token{} }); i >= 0 {
		return nil, fmt.Errorf("%w: operation %d of a record has no token, or is an annotation", peer.ErrMessage, i)
	}
	if time.Since(time.UnixMilli(int64(began))) > maxRecordAge {
		return nil, nil
	}
	return operations, nil
}

// commitForwarded requests the commit of a batch when the operations of its records are forwarded.
func (fl *inFlight) commitForwarded(e *era, b *batch) {
	if fl.handover.forwardAll(e, b.operations) != nil {
		return
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.era == e {
		fl.requestCommit(b)
	}
}

// forwardAll forwards the operations of the records among some operations, until all are there or the era ends. All
// holders must have the operations themselves.
func (ho *handover) forwardAll(e *era, all []replica.Operation) error {
	own := map[store.Token]bool{}
	for i := range all {
		own[all[i].Token] = true
	}
	pause := backoff()
	for rest := all; len(rest) > 0; {
		operations, behind := firstRecorded(rest) // in each try, because a record may become too old
		operations = slices.DeleteFunc(operations, func(o replica.Operation) bool { return own[o.Token] })
		if ho.forward(e, operations) == nil {
			rest = behind
			pause.Reset()
		} else if err := pause.Wait(e.ctx); err != nil {
			return err
		}
	}
	return nil
}

// firstRecorded returns the operations of the first records of a batch, for one message, and what is behind these records.
func firstRecorded(all []replica.Operation) (operations, rest []replica.Operation) {
	for size := 0; len(all) > 0 && size < chunkBytes; all = all[1:] {
		if !isRecord(all[0]) {
			continue
		}
		of, err := recorded(&all[0])
		if err != nil {
			continue // impossible: the sequencer has checked it
		}
		operations, size = append(operations, of...), size+len(all[0].Long)
	}
	return operations, all
}

// forward sends the operations of records to their sequencers, and returns when all holders have them.
func (ho *handover) forward(e *era, operations []replica.Operation) error {
	parts, err := bySequencer(e.view, operations)
	if err != nil {
		return err
	}
	for _, c := range parts {
		ctx, cancel := context.WithTimeout(e.ctx, ho.options.Attempt)
		if c.machine == ho.self.Machine {
			err = ho.sequencer.forward(ctx, e.view.Epoch, c.operations)
		} else {
			m := numbered{e.view.Epoch, c.operations, false}
			_, err = ho.member.Call(ctx, c.machine, methodForward, peer.Encode(int(c.size), m.fields))
		}
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// handleForward answers writes/forward.
func (sq *sequencer) handleForward(ctx context.Context, body []byte) ([]byte, error) {
	finished, err := sq.beginWait(waitForward)
	if err != nil {
		return nil, err
	}
	defer finished()
	m := numbered{stamped: false}
	if err := peer.Decode(body, m.fields); err != nil {
		return nil, malformed(err)
	}
	return nil, sq.forward(ctx, m.number, m.operations)
}

// forward stamps the operations of a record that no member has, and waits until they are committed, and until all
// holders have those that are in flight here.
func (sq *sequencer) forward(ctx context.Context, epoch uint64, operations []replica.Operation) error {
	// 1. This machine must be their sequencer in the epoch.
	v := sq.member.View()
	if v == nil || v.Epoch != epoch {
		return wrongEpoch(v)
	}
	route, err := newRoute(v, sq.self.Machine, operations)
	if err != nil {
		return malformed(err)
	}
	known, err := sq.tokens.stampedBefore(ctx, v, operations)
	if err != nil {
		return err
	}
	// 2. Stamp the others, one request after the other.
	r := &request{operations: operations, size: sizeOf(operations), route: route, coordinator: coordinatorOf(ctx), fence: epoch, known: known, forced: true, forwards: true, done: make(chan struct{})}
	sq.flight.memory.force(r.size)
	if !sq.queue.put(r) {
		sq.flight.memory.give(r.size)
		return errClosing()
	}
	<-r.done
	if r.err != nil {
		return r.err
	}
	for _, b := range r.batches {
		ready := b.durable
		if b.forwarded { // it depends on nothing else, and the record's batch must not be committed before it
			ready = b.committed
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return errors.Join(errEnded, context.Cause(ctx))
		case <-sq.ctx.Done():
			return errClosing()
		}
	}
	return nil
}

// stampForwarded stamps the operations of a record that are not known, although they may change nothing.
func (sq *sequencer) stampForwarded(g *grouped) {
	for i := range g.requests[0].operations {
		g.findings, g.of = append(g.findings, finding{}), append(g.of, int32(i))
	}
	if err := sq.remember(g); err != nil {
		sq.refuseAll(g.requests, peer.Refuse(peer.CodeUnavailable, g.view.Epoch, "look up tokens: %v", err))
		return
	}
	r := g.requests[0]
	if slices.Contains(g.pending, true) {
		sq.drop(r, peer.Refuse(peer.CodeUnavailable, g.view.Epoch, "an operation of a transaction is being taken over"))
		return
	}
	sq.flight.memory.give(sq.flight.stamp(g))
	r.finish(nil)
}
