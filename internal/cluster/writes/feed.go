// What the change feed needs of a sequencer: which of its stamps are committed.

package writes

import (
	"context"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
)

// Committed describes the operations that this machine has stamped in the adopted epoch.
type Committed struct {
	Epoch uint64
	// Sequence is the greatest stamp such that its operation and all before it are committed. Batch is
	// the last batch with one of these.
	Sequence, Batch uint64
	// Stamped is the last sequence that was given.
	Stamped uint64
	// Changed is closed when more may be committed.
	Changed <-chan struct{}
}

// Committed returns what is committed in the adopted epoch.
func (fl *inFlight) Committed() (c Committed, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.era == nil || len(fl.era.streams) == 0 {
		return c, peer.Refuse(peer.CodeEpoch, 0, "machine %s is no member yet", fl.self.Machine)
	}
	if fl.advanced == nil {
		fl.advanced = make(chan struct{})
	}
	e := fl.era
	c = Committed{Epoch: e.view.Epoch, Sequence: e.sequence, Batch: fl.last, Stamped: e.sequence, Changed: fl.advanced}
	// The numbers of batches ascend with their stamps if they were stamped in this epoch. The others
	// are of earlier epochs or of other sequencers.
	for _, n := range fl.numbers {
		if b := fl.open[n]; fresh(b, c.Epoch) {
			c.Batch, c.Sequence = n-1, b.operations[0].Stamp.Sequence-1
			break
		}
	}
	return c, nil
}

// fresh reports whether this machine stamped a batch in an epoch.
func fresh(b *batch, epoch uint64) bool { return !b.handed && b.operations[0].Stamp.Epoch == epoch }

// notifyCommitted wakes readers of the feed. The caller must hold mu.
func (fl *inFlight) notifyCommitted() {
	if fl.advanced != nil {
		close(fl.advanced)
		fl.advanced = nil
	}
}

// AwaitStamped waits until all operations are committed that this machine has stamped by now. It
// returns the last sequence of the adopted epoch.
func (fl *inFlight) AwaitStamped(ctx context.Context) (epoch, sequence uint64, err error) {
	c, open, err := fl.stamped()
	if err != nil {
		return 0, 0, err
	}
	return c.Epoch, c.Stamped, fl.await(ctx, open)
}

// stamped returns what this machine has stamped, and all of its batches in flight.
func (fl *inFlight) stamped() (c Committed, open []uint64, err error) {
	if c, err = fl.Committed(); err != nil {
		return c, nil, err
	}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return c, slices.Clone(fl.numbers), nil
}

// Incarnation returns the incarnation that numbers the batches of this machine.
func (fl *inFlight) Incarnation() uint64 { return fl.self.Incarnation }
