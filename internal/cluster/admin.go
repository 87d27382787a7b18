// Requests to the leader, of operators and of bulk loads.

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// admin sends the requests of operators to the leader, and takes them as the leader.
type admin struct {
	*membership
	peers *peers
}

// Leave asks the cluster to do without a machine. The machine serves while its data moves away.
// Leave returns when the leader has recorded the request; the status shows the progress. The
// process may be ended when the machine is no member any more.
func (a *admin) Leave(ctx context.Context, id trie.MachineID) error {
	return a.request(ctx, methodLeave, id, func(l *leader.Leader) error { return l.Leave(id) })
}

// Remove asks the cluster to give up a machine at once, as if it had failed. The operator must
// know it will not come back. Its data is regenerated from the other copies.
func (a *admin) Remove(ctx context.Context, id trie.MachineID) error {
	return a.request(ctx, methodRemove, id, func(l *leader.Leader) error { return l.Remove(id) })
}

// AcceptLoss makes the cluster accept the loss of data. The remaining rows of lost ranges are
// read again as if they were complete. The operator has restored the rest, or does without.
//
// It returns when a view has no lost range. It repeats the request, because a leader forgets
// requests when it loses its office.
func (a *admin) AcceptLoss(ctx context.Context) error {
	for requested := false; ; requested = true {
		changed := a.Changed()
		if v := a.View(); requested && v != nil && len(v.Lost) == 0 {
			return nil
		}
		if err := a.request(ctx, methodAccept, 0, (*leader.Leader).AcceptLoss); err != nil && !requested {
			return err
		}
		if err := retry.SleepUntil(ctx, a.cfg.Lease, changed); err != nil {
			return fmt.Errorf("%w: the loss is not accepted yet: %w", store.ErrUnknown, err)
		}
	}
}

// SetCopies changes how many machines hold each triple. It returns when a view has the
// new number as its target; the status shows the progress.
func (a *admin) SetCopies(ctx context.Context, copies int) error {
	if err := view.CheckCopies(copies); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	for {
		changed := a.Changed()
		if v := a.View(); v != nil && v.Target.Copies == copies {
			return nil
		}
		// The request must be repeated, because a new leader does not have it.
		if err := a.request(ctx, methodCopies, trie.MachineID(copies), func(l *leader.Leader) error { return l.SetCopies(copies) }); err != nil {
			return err
		}
		if err := retry.SleepUntil(ctx, a.cfg.Lease, changed); err != nil {
			return fmt.Errorf("%w: the number of copies is not changed yet: %w", store.ErrUnknown, err)
		}
	}
}

// request sends a request to the leader about a machine, or about all.
func (a *admin) request(ctx context.Context, method string, id trie.MachineID, do func(*leader.Leader) error) error {
	if a.isAlone() {
		return fmt.Errorf("%w: this node is not part of a cluster", store.ErrInvalid)
	}
	if a.agreement().IsLeader() {
		return do(a.leader())
	}
	var e peer.Encoder
	e.Uint64(uint64(id))
	_, err := a.peers.callLeader(ctx, method, e.Data())
	return answeredBy(err)
}

// refusals are the errors of a leader that its refusal of an operator's request stands for.
var refusals = map[peer.Code]error{
	peer.CodeInvalid: store.ErrInvalid, peer.CodeDiskFull: store.ErrDiskFull, peer.CodeUnavailable: store.ErrUnavailable,
}

// refusalOf returns an error of the leader as a refusal, if one stands for it.
func refusalOf(err error) error {
	for code, kind := range refusals {
		if errors.Is(err, kind) {
			return peer.Refuse(code, 0, "%s", strings.TrimPrefix(err.Error(), kind.Error()+": "))
		}
	}
	return err
}

// answeredBy returns the error of a request to the leader with the kind that the leader's own error has. It is
// [store.ErrUnknown] if the leader does not answer, because it may have recorded the request before it died.
func answeredBy(err error) error {
	var r *peer.Refusal
	switch {
	case err == nil, errors.As(err, new(*peer.RemoteError)):
		return err
	case errors.As(err, &r) && refusals[r.Code] != nil:
		return fmt.Errorf("%w: %s", refusals[r.Code], r.Message)
	case peer.IsDefinite(err):
		return upkeep.Unavailable(err)
	}
	return fmt.Errorf("%w: the leader may have recorded the request; send it again: %w", store.ErrUnknown, err)
}

// register makes the operator's requests answered.
func (a *admin) register() {
	a.peers.Handle(methodLeave, a.answer(a.Leave))
	a.peers.Handle(methodRemove, a.answer(a.Remove))
	a.peers.Handle(methodAccept, a.answer(func(ctx context.Context, _ trie.MachineID) error { return a.AcceptLoss(ctx) }))
	a.peers.Handle(methodCopies, a.answer(func(_ context.Context, copies trie.MachineID) error { return a.leader().SetCopies(int(copies)) }))
}

// answer returns the handler of a request, which only a leader does.
func (a *admin) answer(do func(context.Context, trie.MachineID) error) peer.Handler {
	return func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
		d := peer.NewDecoder(body)
		id := trie.MachineID(d.Uint64())
		if err := d.End(); err != nil {
			return nil, err
		}
		if !a.agreement().IsLeader() { // asked by one that believed so: it has to look again
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
		}
		return nil, refusalOf(do(ctx, id))
	}
}

// loadLeader implements [loads.Leader]: it sends the wishes of a node's loads to the leader.
type loadLeader struct {
	*membership
	peers  *peers
	status *status
}

// Wish implements [loads.Leader].
func (l *loadLeader) Wish(ctx context.Context, w view.Wishes) error {
	if l.agreement().IsLeader() {
		l.leader().Load(w)
		return nil
	}
	body, err := json.Marshal(w)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Lease)
	defer cancel()
	_, err = l.peers.callLeader(ctx, methodWish, body)
	return err
}

// Bytes implements [loads.Leader].
func (l *loadLeader) Bytes(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Lease)
	defer cancel()
	s, err := l.status.ofLeader(ctx)
	return s.Bytes, err
}

// answer takes the wish of another node as the leader.
func (l *loadLeader) answer(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
	var w view.Wishes
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, err
	}
	if !l.agreement().IsLeader() {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "this node does not lead")
	}
	l.leader().Load(w)
	return nil, nil
}
