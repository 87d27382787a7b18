// Package gate holds the view that this machine has adopted, and keeps it from changing while
// work of its epoch is applied: see [Gate].
package gate

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/trie"
)

// Gate is the adopted view of one process. Its methods are safe for concurrent use.
//
// The places of a triple, its sequencer and the owner of a range all follow from a view. Suppose a
// holder checks that a delivery is of its epoch, then adopts the next view, and then writes the rows. The
// new sequencer may have collected before that what was in flight, and the backfill of the new view
// may have passed the key. If the old sequencer gets the answer, it acknowledges a write that the new
// owners lack. So the view must not change between the check and the end of the write.
//
// Invariants:
//
//  1. Between Enter(epoch) and leave, the adopted view has this epoch, and this process is one of its
//     members.
//  2. The view changes only while the gate is locked. So when a member has adopted a view, all that
//     entered under earlier ones has left, and nothing of them enters later.
//  3. By 2, an answer of a holder in the new epoch covers all that it did in earlier ones.
//
// The protocol:
//
//	apply something of an epoch            adopt a view
//	  leave, err := Enter(epoch)             Lock      what is inside leaves, what comes waits
//	  another epoch, or no member: refuse    end the work of the old view, take in loads of the next
//	  check the places, write, sync          Set
//	  leave()                                Unlock    what waited is refused, or is of the new epoch
//	                                         Announce  Changed and During end
//
// A view that waits for the lock keeps everything else out, so no write of the cluster goes on that
// needs this member. Therefore what is inside must be short. Long work does not stay inside: it
// runs under During, whose context ends with the epoch, and enters for each part that it changes.
// Because a waiting Lock keeps later readers of mu out, Enter within Enter might wait for itself.
//
// If the disk stalls, a delivery stays inside, and this member adopts no view. It does not renew its
// lease then, and is excluded (see [UntilKnown]).
type Gate struct {
	self        trie.MachineID
	incarnation uint64

	// mu is held for reading while something of an epoch is applied, and for writing while
	// a view is adopted.
	mu      sync.RWMutex
	current atomic.Pointer[view.View] // changes only while mu is held for writing

	changed notify.Broadcast // sent by Announce
}

// New returns the gate of a process, without a view.
func New(self trie.MachineID, incarnation uint64) *Gate {
	return &Gate{self: self, incarnation: incarnation}
}

// MachineID returns the machine's ID.
func (g *Gate) MachineID() trie.MachineID { return g.self }

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
func (g *Gate) Announce() { g.changed.Send() }

// Changed returns a channel. It is closed when the next view is adopted, or when this member
// begins or ends to answer without a majority.
func (g *Gate) Changed() <-chan struct{} { return g.changed.Next() }

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

// EpochContext returns a context. It ends when a view of another epoch is adopted. The caller must call
// cancel.
func (g *Gate) EpochContext(ctx context.Context, epoch uint64) (during context.Context, cancel context.CancelFunc) {
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
