// Operations in flight: from their stamps until all holders have them.

package writes

import (
	"context"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// inFlight is the batches in flight of this machine's sequencer, and the streams that send them
// in the era of the adopted view.
//
// A stamped operation cannot be taken back: a holder may have it although its answer was lost. It
// must reach all its places, although holders fail and views change on the way, and nothing may be
// acknowledged that the places of the present view lack. And one holder that does not answer must
// not stop the batches that it has no part in.
//
// Invariants:
//
//  1. A batch is in open, under all numbers that it had, until it is committed. The numbers of an
//     incarnation are 1, 2, 3 and so on, and none is given twice.
//  2. missing has the holders that have not answered the last number of a batch. If missing is empty, the batch
//     is complete, and committed when it has a tick that was requested after that. Answers of an earlier era
//     do not count (answered).
//  3. A stream sends one message at a time, its numbers ascend, and the next one is sent when the one
//     before is answered. So if a holder has answered a batch, it has all its earlier ones (acks).
//  4. unreconciled counts the batches of earlier epochs, those that were handed over, and annotations
//     whose triples only a look-up has found. The leader waits for it to be 0 (Reconciled).
//
// The protocol:
//
//	stampGroup, within the gate       stream to a holder            Adopted, the gate is locked
//	  stamps; track by key and token    wait for parts                end the streams of the old era
//	  send: the next number,            one message of those          missing = nil: no answers count
//	    missing = the holders,            that wait                   begin streams to the members
//	    a part for each stream          with it: what is committed    resend: each batch in flight, with
//	                                    answered:                       its stamps, under a new number
//	                                      out of missing; empty?      handover: what lost sequencers left
//	                                      request a tick, commit,
//	                                      close committed
//	                                    failed: the same again,
//	                                      until the era ends
//
// The answer to a client and the reports to holders follow from commit. A report is the number of the
// last batch and those up to it that are open, at most maxOpen; so holders and readers need no list of
// what is committed. Clients wait across eras, and see no error.
type inFlight struct {
	*common
	memory    memoryLimit // of operations in flight or in the queue
	holder    *holder
	diskRooms *diskRooms
	clock     *ticks.Ticks
	handover  *handover
	pauses    pauses

	mu     sync.Mutex // guards the fields below
	closed bool
	era    *era // nil before the first view
	batches
	changed  notify.Broadcast // a view is adopted or entries of lost sequencers are forgotten
	advanced notify.Broadcast // a batch is committed or a view is adopted: for readers of the feed
}

// send gives b its next number, and its parts to the streams of their machines. These must be
// members of the view of the era. The caller holds mu.
func (fl *inFlight) send(b *batch, parts map[trie.MachineID][]replica.Operation) {
	fl.number(b)
	b.missing = make(map[trie.MachineID]struct{}, len(parts))
	for m, operations := range parts {
		b.missing[m] = struct{}{}
		fl.era.streams[m].put(part{b, b.number, operations, sizeOf(operations)})
	}
}

// answered records parts as durable on the holder of a stream. An answer of an earlier era must
// not count, because the batches are sent again to the holders of the new view.
func (fl *inFlight) answered(s *stream, parts []part) {
	holder := s.to
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if s.era != fl.era {
		return
	}
	fl.acks[holder] = max(fl.acks[holder], parts[len(parts)-1].number)
	for _, p := range parts {
		delete(p.batch.missing, holder)
		if len(p.batch.missing) == 0 {
			fl.complete(p.batch)
		}
	}
}

// commit commits b, because all holders have it and it has a tick, and returns its bytes. The caller holds mu.
func (fl *inFlight) commit(b *batch) int64 {
	fl.remove(b)
	if e := fl.era; fresh(b, e.view.Epoch) {
		e.committed = max(e.committed, b.operations[len(b.operations)-1].Stamp.Sequence)
	}
	b.missing = nil
	if b.stopJoin != nil {
		b.stopJoin()
	}
	close(b.committed)
	fl.advanced.Send()
	fl.stats.settled.Add(int64(len(b.operations)))
	fl.stats.settleTime.Add(int64(time.Since(b.began)))
	fl.stats.settledBatches.Add(1)
	return b.size
}

// tokenStates returns the state of each token by the operations in flight of this machine. Those that were handed over and
// committed count as done, because other machines report them as in flight until they have forgotten all strays.
func (fl *inFlight) tokenStates(tokens []store.Token) []tokenState {
	states := make([]tokenState, len(tokens))
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for i, t := range tokens {
		switch b := fl.tokens[t]; {
		case b != nil && b.isDurable():
			states[i] = tokenStored
		case b != nil:
			states[i] = tokenPending
		default:
			if _, ok := fl.takenOver[t]; ok {
				states[i] = tokenDone
			}
		}
	}
	return states
}

// relevant returns the batches that a reader waits for: the complete ones of some batches if it needs their ticks,
// the first one if it waits until none is in flight.
func (fl *inFlight) relevant(batches []uint64, need need) []uint64 {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	switch open := fl.openOf(batches); {
	case need == needTicks:
		return fl.completeOf(batches)
	case need == needCommit && len(open) == len(batches) && len(open) > 0:
		return open[:1]
	}
	return nil
}

// await waits until batches of this incarnation are committed.
func (fl *inFlight) await(ctx context.Context, batches []uint64) error {
	for _, n := range batches {
		fl.mu.Lock()
		var committed chan struct{} // nil, which blocks, if the number is not in use yet
		b := fl.open[n]
		if b != nil {
			committed = b.committed
		}
		known := n <= fl.last
		fl.mu.Unlock()
		if known && b == nil {
			continue
		}
		select {
		case <-committed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-fl.ctx.Done():
			return store.ErrClosed
		}
	}
	return nil
}

// Stored reports whether the store of this machine has all operations it has stamped. If a batch
// must be sent again, it counts as missing.
func (fl *inFlight) Stored() bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for _, b := range fl.open {
		if _, missing := b.missing[fl.self.Machine]; missing || b.missing == nil {
			return false
		}
	}
	return true
}

// start begins a task, for which Close waits. It returns false if this machine shuts down.
func (fl *inFlight) start(task func()) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.closed {
		return false
	}
	fl.running.Go(task)
	return true
}

// close makes this machine accept no more operations.
func (fl *inFlight) close() {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	fl.closed = true
}
