// What the change feed needs of a sequencer: which of its stamps are committed, and pauses for consistent ends.

package writes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/store"
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
	if c.Epoch, err = fl.epoch(); err != nil {
		return c, err
	}
	stamped := fl.era.sequence
	c = Committed{Epoch: c.Epoch, Sequence: stamped, Batch: fl.last, Stamped: stamped, Changed: fl.advanced.Next()}
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

// AwaitAcknowledged waits until the operations are committed that precede the last acknowledged one
// in the order of stamps: batches are committed in any order. It returns the epoch and the sequence
// of that one. It does not wait for later operations in flight, because a holder that is down
// would delay readers as long as writers. It waits for all of earlier epochs, because an end covers them.
func (fl *inFlight) AwaitAcknowledged(ctx context.Context) (epoch, sequence uint64, err error) {
	a, err := fl.acknowledged()
	if err != nil {
		return 0, 0, err
	}
	return a.epoch, a.sequence, fl.await(ctx, a.open)
}

// acknowledgement is the last acknowledged operation of an epoch.
type acknowledgement struct {
	epoch, sequence uint64
	open            []uint64 // batches in flight that an end at the sequence covers
}

// acknowledged returns the last operation of the adopted epoch that this machine has acknowledged.
func (fl *inFlight) acknowledged() (a acknowledgement, err error) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if a.epoch, err = fl.epoch(); err != nil {
		return a, err
	}
	a.sequence = fl.era.committed
	for _, n := range fl.numbers {
		if b := fl.open[n]; !fresh(b, a.epoch) || b.operations[0].Stamp.Sequence < a.sequence {
			a.open = append(a.open, n)
		}
	}
	return a, nil
}

// epoch returns the adopted epoch. It refuses if this machine is no member. The caller must hold mu.
func (fl *inFlight) epoch() (uint64, error) {
	if fl.era == nil || len(fl.era.streams) == 0 {
		return 0, peer.Refuse(peer.CodeEpoch, 0, "machine %s is no member yet", fl.self.Machine)
	}
	return fl.era.view.Epoch, nil
}

// MaxPause bounds a pause, because the reader that began it may be gone.
const MaxPause = time.Second

// pauses keeps the sequencer from stamping while there is a pause.
type pauses struct {
	stamping sync.Mutex // held while a group is stamped

	mu     sync.Mutex // guards the fields below
	last   uint64
	active map[uint64]*time.Timer // by number; the timer ends the pause
	ended  chan struct{}          // closed when no pause is active any more; nil if none is
}

// Pause keeps this machine from stamping until [Writes.AwaitPaused], at most for [MaxPause]. It returns
// the number of the pause, greater than 0, when the group that is being stamped is done.
func (fl *inFlight) Pause() (number uint64) {
	p := &fl.pauses
	p.mu.Lock()
	p.last++
	number = p.last
	if p.ended == nil {
		p.active, p.ended = map[uint64]*time.Timer{}, make(chan struct{})
	}
	p.active[number] = time.AfterFunc(MaxPause, func() { p.resume(number) })
	p.mu.Unlock()
	p.stamping.Lock()
	defer p.stamping.Unlock()
	return number
}

// resume ends a pause. It reports whether the pause lasted until now.
func (p *pauses) resume(number uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	timer := p.active[number]
	if timer == nil {
		return false
	}
	timer.Stop()
	if delete(p.active, number); len(p.active) == 0 {
		close(p.ended)
		p.ended = nil
	}
	return true
}

// begin waits until there is no pause, and keeps Pause waiting until done is called.
func (p *pauses) begin() (done func()) {
	for {
		p.stamping.Lock()
		p.mu.Lock()
		ended := p.ended
		p.mu.Unlock()
		if ended == nil {
			return p.stamping.Unlock
		}
		p.stamping.Unlock()
		<-ended // soon, because pauses are bounded
	}
}

// AwaitPaused is AwaitAcknowledged as of a pause, which it ends. It returns [store.ErrUnavailable] if the pause
// ended earlier.
func (fl *inFlight) AwaitPaused(ctx context.Context, pause uint64) (epoch, sequence uint64, err error) {
	a, err := fl.acknowledged()
	if !fl.pauses.resume(pause) {
		return 0, 0, fmt.Errorf("%w: the pause ended early", store.ErrUnavailable)
	}
	if err != nil {
		return 0, 0, err
	}
	return a.epoch, a.sequence, fl.await(ctx, a.open)
}
