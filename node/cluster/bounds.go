package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is how a node learns up to where all is settled, and asks all members
// to do something in one epoch.

// Methods of upkeep: of purges and scrubs.
const (
	methodBounds = "cluster/bounds"
	methodFloors = "cluster/floors"
	methodPurge  = "cluster/purge"
	methodDigest = "cluster/digest"
	methodList   = "cluster/list"
	methodLook   = "cluster/look"
	methodRepair = "cluster/repair"
	methodCheck  = "cluster/check"
)

// upkeepMethods are the answers to these, by name; the epoch is the sender's.
func (n *Node) upkeepMethods() map[string]func(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	return map[string]func(context.Context, uint64, []byte) ([]byte, error){
		methodBounds:  n.handleBounds,
		methodFloors:  n.handleFloors,
		methodPurge:   n.handlePurge,
		methodDigest:  n.handleDigest,
		methodList:    n.handleList,
		methodLook:    n.handleLook,
		methodRepair:  n.handleRepair,
		methodCheck:   n.handleCheck,
		methodSettled: n.handleSettled,
	}
}

func (n *Node) registerUpkeep() {
	for method, handle := range n.upkeepMethods() {
		n.server.Handle(method, n.member(func(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
			return handle(ctx, h.Epoch, body)
		}))
	}
}

// callIn sends a message of an epoch to a member, which may be this one.
func (n *Node) callIn(ctx context.Context, epoch uint64, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if to == n.self {
		return n.upkeepMethods()[method](ctx, epoch, body)
	}
	return n.Call(peer.WithEpoch(ctx, epoch), to, method, body)
}

// askAll asks all members of a view the same at the same time. The first error ends
// the others.
func (n *Node) askAll(ctx context.Context, v *view.View, method string, body []byte) (map[trie.MachineID][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := map[trie.MachineID][]byte{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, m := range v.Members {
		group.Go(func() {
			answer, err := n.callIn(ctx, v.Epoch, m.ID, method, body)
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

// machineError is an error of one machine of several that were asked.
type machineError struct {
	machine trie.MachineID
	err     error
}

func (e *machineError) Error() string { return "machine " + e.machine.String() + ": " + e.err.Error() }
func (e *machineError) Unwrap() error { return e.err }

func atMachine(id trie.MachineID, err error) error { return &machineError{id, err} }

// atRest returns the adopted view where nothing is being changed: it is of the epoch,
// idle, this machine has swept, and all from before is settled.
func (n *Node) atRest(epoch uint64) (*view.View, error) {
	v := n.current.Load()
	switch {
	case v == nil || v.Epoch != epoch || !v.Has(n.self, n.incarnation):
		return nil, refuse(peer.CodeEpoch, epochOf(v), "the epoch is not %d", epoch)
	case v.Phase != recovery.Idle:
		return nil, refuse(peer.CodeUnavailable, epoch, "copies are being made")
	case !n.Swept():
		return nil, refuse(peer.CodeUnavailable, epoch, "machine %s has not swept yet", n.self)
	case !n.writes.Reconciled():
		return nil, refuse(peer.CodeUnavailable, epoch, "operations of earlier epochs are not settled")
	}
	return v, nil
}

func epochOf(v *view.View) uint64 {
	if v == nil {
		return 0
	}
	return v.Epoch
}

// during returns a context that ends when another view is adopted than that of an
// epoch.
func (n *Node) during(ctx context.Context, epoch uint64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			changed := n.Changed()
			if v := n.current.Load(); epochOf(v) != epoch {
				cancel(refuse(peer.CodeEpoch, epochOf(v), "the epoch is not %d any more", epoch))
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ended returns the error of what ran in a context; where that was done before, why:
// what runs in it may tell only that.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// bounds is what a member answers when it is asked up to where all is settled.
type bounds struct {
	number uint64 // of the last purge that it knows of
	next   triple.Stamp
	lowest node.Floors
}

func (b *bounds) encode() []byte {
	var e peer.Encoder
	e.Uvarint(b.number)
	encodeStamp(&e, b.next)
	encodeFloors(&e, b.lowest)
	return e.Data()
}

func parseBounds(body []byte) (b bounds, err error) {
	d := peer.NewDecoder(body)
	b.number, b.next = d.Uvarint(), decodeStamp(d)
	b.lowest = decodeFloors(d)
	return b, d.End()
}

func encodeStamp(e *peer.Encoder, s triple.Stamp) {
	e.Uvarint(s.Epoch)
	e.Uvarint(s.Sequence)
}

func decodeStamp(d *peer.Decoder) triple.Stamp {
	return triple.Stamp{Epoch: d.Uvarint(), Sequence: d.Uvarint()}
}

func encodeFloors(e *peer.Encoder, f node.Floors) {
	e.Uvarint(uint64(len(f)))
	for m, stamp := range f {
		e.Uint64(uint64(m))
		encodeStamp(e, stamp)
	}
}

func decodeFloors(d *peer.Decoder) node.Floors {
	f := node.Floors{}
	for range d.Count(10) {
		m := trie.MachineID(d.Uint64())
		f[m] = decodeStamp(d)
	}
	return f
}

// combine makes one floor for each member of what all have answered: the lowest
// stamp of what is not settled anywhere, or the next one that it would give.
func combine(answers map[trie.MachineID]bounds) (floors node.Floors, number uint64) {
	floors = node.Floors{}
	for m, b := range answers {
		floors[m] = b.next
		number = max(number, b.number)
	}
	for _, b := range answers {
		for m, stamp := range b.lowest {
			if stamp.Less(floors[m]) {
				floors[m] = stamp
			}
		}
	}
	return floors, number
}

// askBounds asks all members of a view up to where all is settled. Everything below
// a floor was applied by all its holders when it returns.
func (n *Node) askBounds(ctx context.Context, v *view.View) (floors node.Floors, number uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	answers, err := n.askAll(ctx, v, methodBounds, nil)
	if err != nil {
		return nil, 0, err
	}
	all := map[trie.MachineID]bounds{}
	for m, body := range answers {
		if all[m], err = parseBounds(body); err != nil {
			return nil, 0, err
		}
	}
	floors, number = combine(all)
	return floors, number, nil
}

// upkeepTimeout bounds a step of upkeep that does not go through rows.
const upkeepTimeout = 20 * time.Second

func (n *Node) handleBounds(_ context.Context, epoch uint64, _ []byte) ([]byte, error) {
	if _, err := n.atRest(epoch); err != nil {
		return nil, err
	}
	known, err := n.writes.Bounds()
	if err != nil {
		return nil, err
	}
	if known.Epoch != epoch {
		return nil, refuse(peer.CodeEpoch, known.Epoch, "the epoch is not %d", epoch)
	}
	b := bounds{number: n.upkeep.purgeNumber(), next: known.Next, lowest: node.Floors(known.Lowest)}
	return b.encode(), nil
}

// errBusy: only one purge or scrub at a time runs on a machine.
var errBusy = errors.New("another one runs")
