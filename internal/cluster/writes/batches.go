// Batches in flight by number, key and token.

package writes

import (
	"context"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// batches has the batches in flight, by number, key and token. It is not safe for concurrent use.
//
// Invariant: numbers are the keys of open, and n <= last for each.
type batches struct {
	last         uint64                    // number of the last batch of this incarnation
	open         map[uint64]*batch         // in flight, by number
	numbers      []uint64                  // of open, ascending
	commits      commits                   // of this epoch
	unreconciled int                       // batches in flight of older epochs or from a handover
	keys         map[string]*keyState      // by SPO key, of operations in flight
	tokens       map[store.Token]*batch    // of operations in flight
	takenOver    map[store.Token]struct{}  // of operations handed over and committed in the epoch
	acks         map[trie.MachineID]uint64 // the last batch that each holder has answered
}

func newBatches() batches {
	return batches{open: map[uint64]*batch{}, keys: map[string]*keyState{}, tokens: map[store.Token]*batch{}, takenOver: map[store.Token]struct{}{}, acks: map[trie.MachineID]uint64{}}
}

// batch is operations committed together. inFlight.mu guards all fields but settled. The operations
// must not change after track.
type batch struct {
	operations []replica.Operation
	size       int64
	began      time.Time
	origin     *tracing.Origin // of the first of its requests that has one
	handed     bool            // another sequencer stamped them
	unsure     bool            // some annotate triples that the coordinator has looked up
	// unreconciled is true if inFlight.unreconciled counts the batch.
	unreconciled bool

	number    uint64                      // the last number under which it was sent
	numbers   []uint64                    // all numbers that it had
	missing   map[trie.MachineID]struct{} // holders that have not answered number
	stored    bool                        // no holder is missing
	durable   chan struct{}               // closed when it is stored for the first time
	forwarded bool                        // of the operations of a record
	part      *ticks.Part                 // of a transaction, in the epoch of the era; nil if it is none
	stopJoin  context.CancelFunc          // ends the wait for the tick of part
	after     []*batch                    // batches of transactions with its triples: they get their ticks first
	complete  bool                        // it is stored, and a tick is requested for it alone
	tick      uint64                      // of the commit, in the epoch of the era
	committed chan struct{}               // closed when the batch is committed
}

func newBatch() *batch {
	return &batch{began: time.Now(), durable: make(chan struct{}), committed: make(chan struct{})}
}

// isDurable reports whether all holders had it in some view.
func (b *batch) isDurable() bool {
	select {
	case <-b.durable:
		return true
	default:
		return false
	}
}

// follow lets b have a later tick than a batch with the same triple, if that one's depends on other sequencers. Parts
// of transactions follow nothing, because two of them could wait for each other.
func (b *batch) follow(before *batch) {
	if before == nil || before == b || b.part != nil || before.part == nil && len(before.after) == 0 || slices.Contains(b.after, before) {
		return
	}
	b.after = append(b.after, before)
}

// keyState is the operations in flight on a triple.
type keyState struct {
	// newest is the batch of the newest add or delete stamped by this machine, nil if it is
	// committed. live is true if it is an add.
	newest *batch
	stamp  triple.Stamp
	live   bool
	// annotated is the batch of the newest annotation stamped by this machine, nil if it is committed.
	annotated *batch
	// handed are the operations handed over to this machine.
	handed []handed
}

// handed is an operation stamped by another sequencer, and this machine's batch with it.
type handed struct {
	stamp triple.Stamp
	batch *batch
}

// track adds the operations of b to those in flight. idle is true if the view is.
func (bs *batches) track(b *batch, idle bool) {
	// 1. By token and by key. Claims and records change no triple.
	for i := range b.operations {
		o := &b.operations[i]
		if o.Token != (store.Token{}) {
			bs.tokens[o.Token] = b
		}
		if !o.Kind.Changes() && (!b.handed || o.Kind == store.OperationClaim) {
			continue
		}
		s := bs.keys[string(o.Key)]
		if s == nil {
			s = &keyState{}
			bs.keys[string(o.Key)] = s
		}
		switch {
		case b.handed:
			s.handed = append(s.handed, handed{o.Stamp, b})
		case o.Annotation != nil: // it does not change whether its triple exists
			s.annotated = b
		default:
			s.newest, s.stamp, s.live = b, o.Stamp, o.Kind == store.OperationAdd
		}
	}
	// 2. Count it, because Reconciled must wait for it. An annotation may rest on a look-up which
	// missed a tombstone. The tombstone must not be purged before the annotation is committed.
	if b.handed || b.unsure && idle {
		b.unreconciled = true
		bs.unreconciled++
	}
}

// remove removes b, because it is committed.
func (bs *batches) remove(b *batch) {
	for _, n := range b.numbers {
		delete(bs.open, n)
		switch at, _ := slices.BinarySearch(bs.numbers, n); at {
		case 0:
			bs.numbers = bs.numbers[1:]
		default:
			bs.numbers = slices.Delete(bs.numbers, at, at+1)
		}
		bs.commits.add(n, b.tick)
	}
	// 1. Drop the tokens and keys of the batch. A later batch may have taken over the same token.
	for i := range b.operations {
		if token := b.operations[i].Token; token != (store.Token{}) {
			if bs.tokens[token] == b {
				delete(bs.tokens, token)
			}
		}
		if b.handed {
			bs.takeOver(&b.operations[i])
		}
		// The state of the key goes when its last batch does.
		key := b.operations[i].Key
		s := bs.keys[string(key)]
		if s == nil {
			continue // the batch has the key twice
		}
		if s.newest == b {
			s.newest = nil
		}
		if s.annotated == b {
			s.annotated = nil
		}
		n := 0
		for _, h := range s.handed {
			if h.batch != b {
				s.handed[n] = h
				n++
			}
		}
		clear(s.handed[n:])
		s.handed = s.handed[:n]
		if s.newest == nil && s.annotated == nil && n == 0 {
			delete(bs.keys, string(key))
		}
	}
	// 2. Reconciled waits for unreconciled to be 0.
	if b.unreconciled {
		bs.unreconciled--
	}
}

// takeOver records that an operation was handed over, and is committed.
func (bs *batches) takeOver(o *replica.Operation) {
	if o.Token != (store.Token{}) {
		bs.takenOver[o.Token] = struct{}{}
	}
}

// number gives b its next number.
func (bs *batches) number(b *batch) {
	bs.last++
	b.number = bs.last
	b.numbers = append(b.numbers, b.number)
	bs.open[b.number] = b
	bs.numbers = append(bs.numbers, b.number)
}

// openOf returns which of some batches of this incarnation are in flight.
func (bs *batches) openOf(batches []uint64) (open []uint64) {
	for _, n := range batches {
		if n > bs.last || bs.open[n] != nil {
			open = append(open, n)
		}
	}
	return open
}

// partsOf returns which of some batches of this incarnation are parts of transactions that all their holders have.
func (bs *batches) partsOf(batches []uint64) map[*batch]ticks.Part {
	var parts map[*batch]ticks.Part
	for _, n := range batches {
		if b := bs.open[n]; b != nil && b.stored && b.part != nil {
			if parts == nil {
				parts = map[*batch]ticks.Part{}
			}
			parts[b] = *b.part
		}
	}
	return parts
}

// completeOf returns which of some batches of this incarnation are complete, but not committed.
func (bs *batches) completeOf(batches []uint64) (complete []uint64) {
	for _, n := range batches {
		if b := bs.open[n]; b != nil && b.complete {
			complete = append(complete, n)
		}
	}
	return complete
}

// handedBatch returns the batch with a handed-over operation, nil if there is none.
func (bs *batches) handedBatch(o *replica.Operation) *batch {
	s := bs.keys[string(o.Key)]
	if s == nil {
		return nil
	}
	for _, h := range s.handed {
		if h.stamp == o.Stamp {
			return h.batch
		}
	}
	return nil
}

// forgetAcks drops the answers of machines if they left or joined as new, because their disks
// need not have the batches.
func (bs *batches) forgetAcks(before, adopted *view.View) {
	for id := range bs.acks {
		m, was := adopted.Find(id), before.Find(id)
		if m == nil || was != nil && was.Incarnation != m.Incarnation && !m.Waits {
			delete(bs.acks, id)
		}
	}
}
