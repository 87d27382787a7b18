package writes

import (
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is up to where operations are settled, by the stamps of the sequencers
// that their triples have now. Stamps of two sequencers say nothing of each other.

// Bounds is what this machine knows of that.
type Bounds struct {
	Epoch uint64
	// Next is a stamp that no operation has had that this machine stamped, nor a
	// greater one.
	Next triple.Stamp
	// Lowest has, by the triples' sequencers, the lowest stamp of the operations that
	// are not known here to be settled.
	Lowest map[trie.MachineID]triple.Stamp
}

// Bounds returns up to where operations are settled as far as this machine knows, in
// the adopted view.
func (w *Writes) Bounds() (Bounds, error) {
	w.mu.Lock()
	e := w.era
	if e == nil || len(e.streams) == 0 {
		w.mu.Unlock()
		return Bounds{}, refuse(peer.CodeEpoch, 0, "machine %s is no member yet", w.self)
	}
	b := Bounds{Epoch: e.view.Epoch, Next: triple.Stamp{Epoch: e.view.Epoch, Sequence: e.sequence + 1}, Lowest: map[trie.MachineID]triple.Stamp{}}
	open := slices.Collect(maps.Values(w.open))
	w.mu.Unlock()
	r := e.view.Joint().Resolver()
	for _, batch := range open { // its operations do not change
		if err := b.note(r, batch.operations); err != nil {
			return b, err
		}
	}
	for _, batch := range w.store.UnsettledBatches() {
		if err := b.note(r, batch.Operations); err != nil {
			return b, err
		}
	}
	return b, nil
}

func (b *Bounds) note(r *recovery.Resolver, operations []node.Operation) error {
	for i := range operations {
		o := &operations[i]
		if err := r.Resolve(o.Key); err != nil {
			return err
		}
		m, ok := r.Sequencer()
		if !ok {
			return refuse(peer.CodeUnavailable, b.Epoch, "a triple has no sequencer")
		}
		if lowest, ok := b.Lowest[m]; !ok || o.Stamp.Less(lowest) {
			b.Lowest[m] = o.Stamp
		}
	}
	return nil
}

// SetFloors says below which stamps all is settled, by sequencer, in the adopted view:
// what is delivered or handed over of that comes late, and once more, and nothing is
// done. The caller holds the gate, as with Adopted, which takes the floors away.
func (w *Writes) SetFloors(f node.Floors) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.era != nil {
		w.store.SetFloors(f)
		w.era.floor = f[w.self]
	}
}
