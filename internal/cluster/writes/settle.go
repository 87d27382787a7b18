// Batches in flight, and a sequencer's report about committed ones.

package writes

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// batch is operations committed together. Writes.mu guards all fields but settled. The operations
// must not change after track.
type batch struct {
	operations []replica.Operation
	size       int64
	began      time.Time
	handed     bool // another sequencer stamped them
	unsure     bool // some annotate triples that the coordinator has looked up
	old        bool // counted in Writes.olds

	number  uint64                      // the last number under which it was sent
	numbers []uint64                    // all numbers that it had
	missing map[trie.MachineID]struct{} // holders that have not answered number
	settled chan struct{}               // closed when the batch is committed
}

func newBatch() *batch {
	return &batch{began: time.Now(), settled: make(chan struct{})}
}

// keyState is the operations in flight on a triple.
type keyState struct {
	// newest is the batch of the newest add or delete stamped by this machine, nil if it is
	// committed. live is true if it is an add.
	newest *batch
	stamp  triple.Stamp
	live   bool
	// handed are the operations handed over to this machine.
	handed []handed
}

// handed is an operation stamped by another sequencer, and this machine's batch with it.
type handed struct {
	stamp triple.Stamp
	batch *batch
}

// track adds the operations of b to those in flight. The caller holds mu.
func (w *Writes) track(b *batch) {
	// 1. By token and by key. A claim has no triple, and an annotation does not change whether
	// its triple exists.
	for i := range b.operations {
		o := &b.operations[i]
		if o.Token != (store.Token{}) {
			w.tokens[o.Token] = b
		}
		if o.Kind == store.OperationClaim {
			continue
		}
		if o.Note != nil && !b.handed {
			continue
		}
		s := w.keys[string(o.Key)]
		if s == nil {
			s = &keyState{}
			w.keys[string(o.Key)] = s
		}
		if b.handed {
			s.handed = append(s.handed, handed{o.Stamp, b})
		} else {
			s.newest, s.stamp, s.live = b, o.Stamp, o.Kind == store.OperationAdd
		}
	}
	// 2. As old, because Reconciled must wait for it. An annotation may rest on a look-up which
	// missed a tombstone. The tombstone must not be purged before the annotation is committed.
	if b.handed || b.unsure && w.era.view.Phase == recovery.Idle {
		b.old = true
		w.olds++
	}
}

// untrack reverts track. The caller holds mu.
func (w *Writes) untrack(b *batch) {
	// 1. Drop the tokens and keys of the batch. A later batch may have taken over the same token.
	for i := range b.operations {
		if token := b.operations[i].Token; token != (store.Token{}) && w.tokens[token] == b {
			delete(w.tokens, token)
		}
		// The state of the key goes when its last batch does.
		key := b.operations[i].Key
		s := w.keys[string(key)]
		if s == nil {
			continue // the batch has the key twice
		}
		if s.newest == b {
			s.newest = nil
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
		if s.newest == nil && n == 0 {
			delete(w.keys, string(key))
		}
	}
	// 2. Reconciled waits for olds to be 0.
	if b.old {
		w.olds--
	}
}

// send gives b its next number, and its parts to the streams of their machines. These must be
// members of the view of the era. The caller holds mu.
func (w *Writes) send(b *batch, parts map[trie.MachineID][]replica.Operation) {
	w.last++
	b.number = w.last
	b.numbers = append(b.numbers, b.number)
	w.open[b.number] = b
	w.numbers = append(w.numbers, b.number)
	b.missing = make(map[trie.MachineID]struct{}, len(parts))
	for m, operations := range parts {
		b.missing[m] = struct{}{}
		w.era.streams[m].put(part{b, b.number, operations, sizeOf(operations)})
	}
}

// answered records parts as durable on the holder of a stream. An answer of an earlier era must
// not count, because the batches are sent again to the holders of the new view.
func (w *Writes) answered(s *stream, parts []part) {
	free, holder := int64(0), s.to
	w.mu.Lock()
	if s.era != w.era {
		w.mu.Unlock()
		return
	}
	// 1. Commit a batch if all holders have it.
	before := w.changes
	w.acks[holder] = max(w.acks[holder], parts[len(parts)-1].number)
	for _, p := range parts {
		delete(p.batch.missing, holder)
		if len(p.batch.missing) == 0 {
			free += w.settle(p.batch)
		}
	}
	// 2. Wake the streams, because they report the commits.
	if w.changes != before {
		for _, s := range w.era.streams {
			signal(s.wake)
		}
	}
	w.mu.Unlock()
	w.room.give(free)
}

// settle commits b, because all holders have it, and returns its bytes. The caller holds mu.
func (w *Writes) settle(b *batch) int64 {
	for _, n := range b.numbers {
		delete(w.open, n)
		switch at, _ := slices.BinarySearch(w.numbers, n); at {
		case 0:
			w.numbers = w.numbers[1:]
		default:
			w.numbers = slices.Delete(w.numbers, at, at+1)
		}
	}
	w.changes++
	w.untrack(b)
	b.missing = nil
	close(b.settled)
	w.stats.settled.Add(int64(len(b.operations)))
	w.stats.settleTime.Add(int64(time.Since(b.began)))
	w.stats.settledBatches.Add(1)
	return b.size
}

// maxOpen bounds the batches in flight in one report.
const maxOpen = 1024

// settlement is a sequencer's report: its batches up to upTo.Batch are committed, except the open
// ones. The open ones ascend.
type settlement struct {
	upTo    replica.Origin
	open    []uint64
	acks    map[trie.MachineID]uint64 // the last batch that each holder had answered by then
	changes uint64                    // number of batches committed by then
}

// settlement returns the report of this moment. If it is for a witness, it has the last answers
// of all holders. If more than maxOpen batches are in flight, it ends before the first one too
// many. The caller must hold mu.
func (w *Writes) settlement(witness bool) settlement {
	s := settlement{upTo: replica.Origin{Sequencer: w.self.Machine, Incarnation: w.self.Incarnation, Batch: w.last}, changes: w.changes}
	if witness {
		s.acks = maps.Clone(w.acks)
	}
	open := w.numbers
	if len(open) > maxOpen {
		s.upTo.Batch = open[maxOpen] - 1
		open = open[:maxOpen]
	}
	s.open = slices.Clone(open)
	return s
}

// witnesses is the number of machines, besides the sequencer, which remember the last answer of
// each holder: they follow clockwise. If the sequencer is lost, they know what the disk of a
// returning holder must have. MaxCopies - 1 is enough, because no cluster survives more losses.
// If all members were witnesses, the messages would grow with their square.
const witnesses = recovery.MaxCopies - 1

// isWitness reports whether member m of v is a witness of a sequencer. A sequencer is its own.
func isWitness(v *view.View, sequencer, m trie.MachineID) bool {
	n := len(v.Members)
	at, _ := slices.BinarySearchFunc(v.Members, sequencer, func(m view.Member, id trie.MachineID) int { return cmp.Compare(m.ID, id) })
	for i := range min(witnesses+1, n) {
		if v.Members[(at+i)%n].ID == m {
			return true
		}
	}
	return false
}

// Acked returns the last batch of this incarnation each holder has answered. If a holder comes
// back, its disk must have the batch.
func (w *Writes) Acked() map[trie.MachineID]uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.acks)
}
