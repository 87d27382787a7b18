// Messages of one epoch to all members.

package upkeep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// members is the members of the adopted view, and what this one needs to answer the others.
type members struct {
	store   *replica.Store
	gate    *gate.Gate
	writes  Writes
	peers   Peers
	options Options

	handlers map[string]handler // by method
	leading  atomic.Bool        // this node leads a purge or scrub
}

// handler answers a message of an epoch.
type handler func(ctx context.Context, epoch uint64, body []byte) ([]byte, error)

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
	// methodCommitted asks if all operations of earlier epochs are committed.
	methodCommitted = "cluster/settled"
)

// call sends a message of an epoch to a member. The member may be this one.
func (ms *members) call(ctx context.Context, epoch uint64, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if to == ms.gate.MachineID() {
		return ms.handlers[method](ctx, epoch, body)
	}
	return ms.peers.Call(peer.WithEpoch(ctx, epoch), to, method, body)
}

// callAll sends the same message to all members of a view at the same time, and returns their
// answers. The first error ends the others.
func (ms *members) callAll(ctx context.Context, v *view.View, method string, body []byte) (map[trie.MachineID][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := map[trie.MachineID][]byte{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, m := range v.Members {
		group.Go(func() {
			answer, err := ms.call(ctx, v.Epoch, m.ID, method, body)
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
func (ms *members) AtRest(epoch uint64) (*view.View, error) {
	v := ms.gate.View()
	switch {
	case v == nil || v.Epoch != epoch || !ms.gate.Joined():
		return nil, peer.Refuse(peer.CodeEpoch, ms.gate.Epoch(), "the epoch is not %d", epoch)
	case v.Phase != recovery.Idle:
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "copies are being made")
	case !ms.options.Swept():
		return nil, peer.Refuse(peer.CodeUnavailable, epoch, "machine %s has not swept yet", ms.gate.MachineID())
	case !ms.writes.Reconciled():
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

// viewAtRest returns the adopted view if it is idle and no member waits.
func (ms *members) viewAtRest() (*view.View, error) {
	v := ms.gate.View()
	if v == nil {
		return nil, fmt.Errorf("%w: this machine is no member yet", store.ErrUnavailable)
	}
	if v.Phase != recovery.Idle {
		return nil, fmt.Errorf("%w: copies are being made (phase %s)", store.ErrUnavailable, v.Phase)
	}
	for _, m := range v.Members {
		if m.Waits {
			return nil, fmt.Errorf("%w: machine %s is coming back", store.ErrUnavailable, m.ID)
		}
	}
	return v, nil
}

// stepTimeout bounds a step without a scan of rows.
const stepTimeout = 20 * time.Second

// errBusy: a machine leads at most one purge or scrub at a time.
var errBusy = errors.New("another one runs")
