// Package gate holds the view that this machine has adopted, and keeps it from changing while
// work of its epoch is applied.
//
//	adopt a view     Lock, Set, Unlock, Announce    waits for all that has entered
//	apply something  leave := Enter(epoch)          rejects another epoch
//	wait             Changed                        until another view is adopted
//	long work        During(epoch)                  ends when another view is adopted
//
// This is what makes a view safe: nothing of an old epoch is applied after a machine has
// adopted a newer one. So a holder's answer in the new epoch covers all earlier operations.
package gate

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// Gate is the adopted view of one process. Its methods are safe for concurrent use.
type Gate struct {
	self        trie.MachineID
	incarnation uint64

	// mu is held for reading while something of an epoch is applied, and for writing while
	// a view is adopted.
	mu      sync.RWMutex
	current atomic.Pointer[view.View] // changes only while mu is held for writing

	announce sync.Mutex
	changed  chan struct{} // closed by Announce; guarded by announce
}

// New returns the gate of a process, without a view.
func New(self trie.MachineID, incarnation uint64) *Gate {
	return &Gate{self: self, incarnation: incarnation, changed: make(chan struct{})}
}

// Self returns the machine's ID.
func (g *Gate) Self() trie.MachineID { return g.self }

// View returns the adopted view; nil before the first.
func (g *Gate) View() *view.View { return g.current.Load() }

// Epoch returns the epoch of the adopted view, 0 before the first.
func (g *Gate) Epoch() uint64 {
	if v := g.View(); v != nil {
		return v.Epoch
	}
	return 0
}

// Joined reports whether this process is a member of the adopted view.
func (g *Gate) Joined() bool {
	v := g.View()
	return v != nil && v.Has(g.self, g.incarnation)
}

// Lock waits until all work inside has left, and keeps other work out.
func (g *Gate) Lock() { g.mu.Lock() }

// Unlock is the counterpart of Lock.
func (g *Gate) Unlock() { g.mu.Unlock() }

// Set makes v the adopted view. The gate must be locked.
func (g *Gate) Set(v *view.View) { g.current.Store(v) }

// Announce wakes all waits for another view.
func (g *Gate) Announce() {
	g.announce.Lock()
	defer g.announce.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
}

// Changed returns a channel. It is closed when the next view is adopted, or when this member
// begins or ends to answer without a majority.
func (g *Gate) Changed() <-chan struct{} {
	g.announce.Lock()
	defer g.announce.Unlock()
	return g.changed
}

// Enter keeps the view from changing until leave is called; this must be soon. Enter must not be
// called within itself. It returns a [peer.Refusal] if another view is adopted, or if this
// process is no member of it.
func (g *Gate) Enter(epoch uint64) (leave func(), err error) {
	g.mu.RLock()
	v := g.View()
	switch {
	case v == nil:
		err = peer.Refuse(peer.CodeEpoch, 0, "machine %s has no view yet", g.self)
	case v.Epoch != epoch:
		err = peer.Refuse(peer.CodeEpoch, v.Epoch, "the epoch is %d, not %d", v.Epoch, epoch)
	case !v.Has(g.self, g.incarnation):
		err = peer.Refuse(peer.CodeEpoch, v.Epoch, "machine %s waits to be a member again", g.self)
	}
	if err != nil {
		g.mu.RUnlock()
		return nil, err
	}
	return g.mu.RUnlock, nil
}

// During returns a context. It ends when a view of another epoch is adopted. The caller must call
// cancel.
func (g *Gate) During(ctx context.Context, epoch uint64) (during context.Context, cancel context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		for {
			changed := g.Changed()
			if adopted := g.Epoch(); adopted != epoch {
				end(peer.Refuse(peer.CodeEpoch, adopted, "the epoch is not %d any more", epoch))
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { end(nil) }
}
