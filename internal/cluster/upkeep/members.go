// Messages of one epoch to all members.

package upkeep

import (
	"context"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Methods between nodes.
const (
	methodBounds = "cluster/bounds"
	methodFloors = "cluster/floors"
	methodPurge  = "cluster/purge"
	methodDigest = "cluster/digest"
	methodList   = "cluster/list"
	methodLook   = "cluster/look"
	methodRepair = "cluster/repair"
	methodCheck  = "cluster/check"
	// methodSettled asks if all operations of earlier epochs are committed.
	methodSettled = "cluster/settled"
)

// handlers are the handlers of these messages, by name. epoch is the sender's.
func (u *Upkeep) handlers() map[string]func(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	return map[string]func(context.Context, uint64, []byte) ([]byte, error){
		methodBounds:  u.handleBounds,
		methodFloors:  u.handleFloors,
		methodPurge:   u.handlePurge,
		methodDigest:  u.handleDigest,
		methodList:    u.handleList,
		methodLook:    u.handleLook,
		methodRepair:  u.handleRepair,
		methodCheck:   u.handleCheck,
		methodSettled: u.handleSettled,
	}
}

func (u *Upkeep) register() {
	for method, handle := range u.handlers() {
		u.peers.Handle(method, func(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
			return handle(ctx, h.Epoch, body)
		})
	}
}

// call sends a message of an epoch to a member. The member may be this one.
func (u *Upkeep) call(ctx context.Context, epoch uint64, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if to == u.gate.Self() {
		return u.handlers()[method](ctx, epoch, body)
	}
	return u.peers.Call(peer.WithEpoch(ctx, epoch), to, method, body)
}

// callAll sends the same message to all members of a view at the same time, and returns their
// answers. The first error ends the others.
func (u *Upkeep) callAll(ctx context.Context, v *view.View, method string, body []byte) (map[trie.MachineID][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := map[trie.MachineID][]byte{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, m := range v.Members {
		group.Go(func() {
			answer, err := u.call(ctx, v.Epoch, m.ID, method, body)
			if err != nil {
				cancel(atMachine(m.ID, err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers[m.ID] = answer
		})
	}
	group.Wait()
	return answers, context.Cause(ctx)
}

// machineError is the error of one of several machines.
type machineError struct {
	machine trie.MachineID
	err     error
}

func (e *machineError) Error() string { return "machine " + e.machine.String() + ": " + e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

func atMachine(id trie.MachineID, err error) error { return &machineError{id, err} }

// AtRest returns the adopted view if it is of the epoch and idle, this machine has swept, and
// all operations of earlier epochs are committed. Otherwise it returns a refusal.
func (u *Upkeep) AtRest(epoch uint64) (*view.View, error) {
	v := u.gate.View()
	switch {
	case v == nil || v.Epoch != epoch || !u.gate.Joined():
		return nil, peer.Refuse(peer.CodeEpoch, u.gate.Epoch(), "the epoch is not %d", epoch)
	case v.Phase != recovery.Idle:
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "copies are being made")
	case !u.options.Swept():
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "machine %s has not swept yet", u.gate.Self())
	case !u.writes.Reconciled():
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "operations of earlier epochs are not settled")
	}
	return v, nil
}

// cause returns the error of work in a context. If the context has ended, it is the context's
// cause, because the work itself may report only its cancellation.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
