// Pauses of the sequencer, for consistent ends of the change feed.

package writes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
)

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
