// Messages to all members, for answers that have a part of each.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// memberTimeout bounds how long one machine may take to answer a message to all.
const memberTimeout = 2 * time.Second

// errDown is the error of a member that does not answer gossip. It gets no message.
var errDown = errors.New("the machine is down")

// EachMember sends a message to all other members of the adopted view at the same time. It calls take once
// for each of them, one call at a time, with its answer or the reason why there is none. A node alone
// has no other members. A member that was started again does not know the others before it has a view: until then
// the error is [store.ErrUnavailable].
func (n *Node) EachMember(ctx context.Context, method string, body []byte, take func(m store.Member, answer []byte, err error)) error {
	v := n.View()
	switch {
	case v != nil:
		n.eachMemberOf(ctx, v, method, body, take)
	case !n.alone():
		return fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	return nil
}

// eachMemberOf is EachMember for the members of a view.
func (n *Node) eachMemberOf(ctx context.Context, v *view.View, method string, body []byte, take func(m store.Member, answer []byte, err error)) {
	// 1. Send to those that are up, all at once.
	states := n.memberStates(v)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for i := range v.Members {
		id := v.Members[i].ID
		if id == n.self {
			continue
		}
		wait.Go(func() {
			m, answer, err := states[id.String()], []byte(nil), errDown
			if m.State != "down" {
				answer, err = n.callMember(ctx, id, method, body)
			}
			// 2. The caller needs no lock of its own.
			mu.Lock()
			defer mu.Unlock()
			take(m, answer, err)
		})
	}
	wait.Wait()
}

// callMember sends a message to a member that must answer soon.
func (n *Node) callMember(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, memberTimeout, fmt.Errorf("no answer within %s", memberTimeout))
	defer cancel()
	answer, err := n.Call(ctx, to, method, body)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return answer, err
}

// AnswerMembers makes h answer a method for EachMember of other members. It must be called once for a method.
func (n *Node) AnswerMembers(method string, h func(ctx context.Context, body []byte) ([]byte, error)) {
	n.Handle(method, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) { return h(ctx, body) })
}
