package writes

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// batch is operations that are settled together. All but settled is guarded by
// Writes.mu; operations do not change once it is tracked.
type batch struct {
	operations []node.Operation
	size       int64
	began      time.Time
	handed     bool // another sequencer stamped them
	unsure     bool // some are annotations of triples that others have looked up
	old        bool // counted in Writes.olds

	number  uint64                      // the last that it was sent under
	numbers []uint64                    // all of them
	missing map[trie.MachineID]struct{} // who has not answered number yet
	settled chan struct{}               // closed when it is
}

func newBatch() *batch {
	return &batch{began: time.Now(), settled: make(chan struct{})}
}

// keyState is what is on its way to a triple.
type keyState struct {
	// newest is the batch of the newest add or delete that this machine stamped; live
	// reports whether it is an add. It is nil where that is settled.
	newest *batch
	stamp  triple.Stamp
	live   bool
	// handed are the operations that others stamped and this machine drives.
	handed []handed
}

// handed is an operation that another sequencer stamped, and the batch in which
// this machine drives it.
type handed struct {
	stamp triple.Stamp
	batch *batch
}

// track notes what b has on its way. The caller holds mu.
func (w *Writes) track(b *batch) {
	for i := range b.operations {
		o := &b.operations[i]
		if o.Token != (node.Token{}) {
			w.tokens[o.Token] = b
		}
		if o.Kind == node.OperationClaim {
			continue
		}
		if o.Note != nil && !b.handed {
			continue // it does not change whether the triple is there
		}
		s := w.keys[string(o.Key)]
		if s == nil {
			s = &keyState{}
			w.keys[string(o.Key)] = s
		}
		if b.handed {
			s.handed = append(s.handed, handed{o.Stamp, b})
		} else {
			s.newest, s.stamp, s.live = b, o.Stamp, o.Kind == node.OperationAdd
		}
	}
	// A tombstone that who looked up a triple had not heard of must not be purged
	// before what was noted on it then is settled: see Reconciled.
	if b.handed || b.unsure && w.era.view.Phase == recovery.Idle {
		b.old = true
		w.olds++
	}
}

// untrack is the end of track.
func (w *Writes) untrack(b *batch) {
	for i := range b.operations {
		if token := b.operations[i].Token; token != (node.Token{}) && w.tokens[token] == b {
			delete(w.tokens, token)
		}
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
	if b.old {
		w.olds--
	}
}

// send numbers b and hands the parts to the streams of their machines, which are
// members of the era's view. The caller holds mu.
func (w *Writes) send(b *batch, parts map[trie.MachineID][]node.Operation) {
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

// answered takes the answer of the holder that a stream goes to: it has all of
// parts, durably. An answer from before the view changed does not count: who else
// has to answer is not known again before they are sent anew.
func (w *Writes) answered(s *stream, parts []part) {
	free, holder := int64(0), s.to
	w.mu.Lock()
	if s.era != w.era {
		w.mu.Unlock()
		return
	}
	before := w.changes
	w.acks[holder] = max(w.acks[holder], parts[len(parts)-1].number)
	for _, p := range parts {
		delete(p.batch.missing, holder)
		if len(p.batch.missing) == 0 {
			free += w.settle(p.batch)
		}
	}
	if w.changes != before {
		for _, s := range w.era.streams {
			signal(s.wake)
		}
	}
	w.mu.Unlock()
	w.room.give(free)
}

// settle notes that all holders have b and returns the bytes that it used. The
// caller holds mu.
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

// maxOpen bounds the open batches that a message names.
const maxOpen = 1024

// settlement is what a sequencer reports of its batches: those up to upTo.Batch are
// settled, except the open ones, which ascend.
type settlement struct {
	upTo    node.Origin
	open    []uint64
	acks    map[trie.MachineID]uint64 // up to where each holder has answered by then
	changes uint64                    // how many batches had been settled
}

// settlement returns what is settled now, for a witness with up to where each holder has
// answered by then. If more than maxOpen batches are open, it
// ends before the first that it would not name. The caller holds mu.
func (w *Writes) settlement(witness bool) settlement {
	s := settlement{upTo: node.Origin{Sequencer: w.self, Incarnation: w.incarnation, Batch: w.last}, changes: w.changes}
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

// witnesses is how many machines, beside the sequencer, remember what each holder has
// answered it: those that follow clockwise. If it dies, they tell what the disk of a
// holder must show that comes back. As many may die with it as copies may without loss,
// with at most five copies. All members would be the square of them in each interval.
const witnesses = 4

// isWitness reports whether a member of v remembers the answers to a sequencer, itself one.
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

// Acked returns the number of the last batch of this incarnation that each holder
// has answered: what its disk must show if it comes back.
func (w *Writes) Acked() map[trie.MachineID]uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.acks)
}
