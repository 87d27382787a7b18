// Bounds of stamps: below them every operation of a sequencer is committed.

package writes

import (
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds are bounds of the stamps of committed operations, by the present sequencers of their
// triples. Stamps of two sequencers are not comparable.
type Bounds struct {
	Epoch uint64
	// Next is greater than every stamp given by this machine.
	Next triple.Stamp
	// Lowest is the lowest stamp of operations which may be in flight, by sequencer.
	Lowest map[trie.MachineID]triple.Stamp
}

// Bounds returns the bounds in the adopted view, as far as this machine knows.
func (fl *inFlight) Bounds() (Bounds, error) {
	fl.mu.Lock()
	e := fl.era
	if e == nil || len(e.streams) == 0 {
		fl.mu.Unlock()
		return Bounds{}, peer.Refuse(peer.CodeEpoch, 0, "machine %s is no member yet", fl.self.Machine)
	}
	b := Bounds{Epoch: e.view.Epoch, Next: triple.Stamp{Epoch: e.view.Epoch, Sequence: e.sequence + 1}, Lowest: map[trie.MachineID]triple.Stamp{}}
	open := slices.Collect(maps.Values(fl.open))
	fl.mu.Unlock()
	r := e.view.Joint().Resolver()
	for _, batch := range open { // its operations do not change
		if err := b.lower(r, batch.operations); err != nil {
			return b, err
		}
	}
	for _, batch := range fl.store.InFlightBatches() {
		if err := b.lower(r, batch.Operations); err != nil {
			return b, err
		}
	}
	return b, nil
}

// lower lowers the bounds to the stamps of operations.
func (b *Bounds) lower(r *recovery.Resolver, operations []replica.Operation) error {
	for i := range operations {
		o := &operations[i]
		if err := r.Resolve(o.Key); err != nil {
			return err
		}
		m, ok := r.Sequencer()
		if !ok {
			return peer.Refuse(peer.CodeUnavailable, b.Epoch, "a triple has no sequencer")
		}
		if lowest, ok := b.Lowest[m]; !ok || o.Stamp.Less(lowest) {
			b.Lowest[m] = o.Stamp
		}
	}
	return nil
}

// SetFloors sets a stamp for each sequencer. Every operation below it must be committed in the
// adopted view. If such an operation is delivered or handed over again, it is ignored. The caller
// must hold the gate, as for Adopted, because Adopted removes the floors.
func (fl *inFlight) SetFloors(f replica.Floors) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.era != nil {
		fl.store.SetFloors(f)
		fl.era.floor = f[fl.self.Machine]
	}
}
