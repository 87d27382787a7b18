// The tick of a snapshot's rows.

package reads

import (
	"context"
	"errors"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/triple"
)

// moment is the tick of a snapshot and its copies. If the rows of the tick are not to be had, the next tries of all reads
// have none. With [Snapshot.OneState] they are as of another tick, or fail if something was returned as of the first one.
type moment struct {
	mu        sync.Mutex
	tick      triple.Stamp  // zero if none is known
	requested chan struct{} // closed when the request under way has ended; nil if there is none
	returned  bool          // something was returned as of tick
	torn      bool          // rows were returned, or will be, as of several moments
	oneState  bool          // see Snapshot.OneState
}

// tick returns the tick for a try under a view, and requests it if none is known. It is zero if the try has none: then
// each answer is as of a moment of its own.
func (sn *Snapshot) tick(ctx context.Context, v *view.View) (triple.Stamp, error) {
	m := sn.moment
	for !sn.wait {
		// 1. Without a tick: the next ones are those of rows of several moments, or fail.
		m.mu.Lock()
		switch {
		case len(v.Members) == 2 || sn.reads.isSoleHolder(v):
			m.torn = true // see Ticks.Now
		case m.torn || m.tick.Epoch == v.Epoch:
		case m.tick != triple.Stamp{} && !m.oneState:
			m.torn = true
		case m.returned:
			m.mu.Unlock()
			return triple.Stamp{}, store.ErrSnapshotTooOld
		case m.tick.Epoch > v.Epoch:
			m.mu.Unlock()
			return triple.Stamp{}, errMoved
		default:
			// 2. None is known yet, or that of an earlier view was given up.
			if err := sn.requestTick(ctx, v); err != nil {
				return triple.Stamp{}, err
			}
			continue
		}
		tick := m.tick
		if m.torn {
			tick = triple.Stamp{}
		}
		m.mu.Unlock()
		return tick, nil
	}
	return triple.Stamp{}, nil
}

// requestTick requests a tick, or waits until another read has. The caller holds mu, and has not after that.
func (sn *Snapshot) requestTick(ctx context.Context, v *view.View) error {
	// 1. One request serves all reads.
	m := sn.moment
	if under := m.requested; under != nil {
		m.mu.Unlock()
		return turns.Wait(ctx, func() error {
			select {
			case <-under:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
	// 2. A context that ends is that of one read, so the others request it anew.
	m.requested = make(chan struct{})
	m.mu.Unlock()
	var tick triple.Stamp
	err := turns.Wait(ctx, func() (err error) {
		tick, err = sn.reads.peers.Now(ctx)
		return err
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.requested)
	m.requested = nil
	switch {
	case err == nil:
		m.tick = tick
	case ctx.Err() != nil || errors.Is(err, store.ErrClosed):
		return err
	case m.oneState:
		return &remoteError{v.Oracle(), err}
	default:
		m.torn = true
	}
	return nil
}

// failed returns the error of a try with a tick, given that of its requests. If a machine does not have the rows of the
// tick, the next tries are as of another one, unless something was returned as of it and all rows must be of one state.
func (sn *Snapshot) failed(tick triple.Stamp, err error) error {
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) || refusal.Code != peer.CodeTick {
		return err
	}
	m := sn.moment
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.tick != tick || m.torn: // another read has found it
	case !m.oneState:
		m.torn = true
	case m.returned:
		return store.ErrSnapshotTooOld
	default:
		m.tick = triple.Stamp{}
	}
	return err
}

// returns must be called before anything of a try is returned, with its tick. The error is errMoved if others are as of
// another tick by now. Then the try must be repeated.
func (sn *Snapshot) returns(tick triple.Stamp) error {
	m := sn.moment
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case tick == triple.Stamp{}:
		m.torn = true
	case m.tick != tick || m.torn && !m.returned:
		return errMoved
	}
	m.returned = true
	return nil
}

// release permits rows of later moments.
func (m *moment) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.oneState = false
}

// OneMoment reports whether all rows so far are those of one tick.
func (sn *Snapshot) OneMoment() bool {
	m := sn.moment
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.returned && !m.torn
}
