// The tick of a snapshot's rows.

package reads

import (
	"context"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/triple"
)

// moment is the tick of a snapshot and its copies.
type moment struct {
	begun atomic.Bool
	known chan struct{} // closed when tick is set
	tick  triple.Stamp  // zero if the oracle did not answer
	torn  atomic.Bool   // some rows were not to be had at the tick, so the next ones are as of later moments
}

func newMoment() *moment { return &moment{known: make(chan struct{})} }

// tick returns the tick of requests under a view, which the first call requests. It returns zero if they have none.
func (sn *Snapshot) tick(ctx context.Context, v *view.View) triple.Stamp {
	m := sn.moment
	if sn.wait || m.torn.Load() {
		return triple.Stamp{}
	}
	select {
	case <-m.known:
	default:
		_ = turns.Wait(ctx, func() error { return sn.requestTick(ctx) }) // the request finds its error itself
	}
	if m.torn.Load() || m.tick.Epoch != v.Epoch {
		m.torn.Store(true)
		return triple.Stamp{}
	}
	return m.tick
}

// requestTick requests the tick, or waits until another read has.
func (sn *Snapshot) requestTick(ctx context.Context) (err error) {
	m := sn.moment
	if m.begun.CompareAndSwap(false, true) {
		defer close(m.known)
		m.tick, err = sn.reads.peers.Now(context.WithoutCancel(ctx)) // for other reads, too; it takes ticks.Timeout at most
		return err
	}
	<-m.known
	return nil
}

// OneMoment reports whether all rows so far are those of one tick.
func (sn *Snapshot) OneMoment() bool {
	m := sn.moment
	select {
	case <-m.known:
		return !m.torn.Load() && m.tick != (triple.Stamp{})
	default:
		return false // nothing was read
	}
}
