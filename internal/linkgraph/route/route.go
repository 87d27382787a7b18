// Routing: which machine answers for which pages.

package route

import (
	"context"
	"github.com/trefoildb/trefoil/internal/derived"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/trie"
)

// Annotated reports whether any member has annotations, or does not answer. Reading them costs a
// message for each batch of rows.
func (r *Router) Annotated(ctx context.Context) bool {
	v := r.Node.View()
	if v == nil || r.Node.Annotated() {
		return true
	}
	for _, m := range v.Members {
		if m.ID == r.Node.MachineID() {
			continue
		}
		if a, err := r.Send(ctx, m.ID, &Query{Kind: QueryAnnotated}); err != nil || a.Number > 0 {
			return true
		}
	}
	return false
}

// Router sends queries to the machines that hold the partitions of their pages, and puts the answers
// together (gather.go).
type Router struct {
	*machine.Machine
	*derived.Peers
	Board *state.Board
}

// NewRouter returns the router of a graph.
func NewRouter(m *machine.Machine, b *state.Board) *Router {
	return &Router{m, derived.NewPeers(m.Member, derived.Questions{
		Method: MethodQuery, Held: peer.Encode(64, (&Query{Kind: QueryHeld}).Fields), ParseHeld: parseHeld,
		Full: func() error {
			if full := b.Full.Load(); full != nil {
				return *full
			}
			return nil
		},
	}), b}
}

// parseHeld returns the partitions of an answer to QueryHeld, and why there are not more.
func parseHeld(body []byte) (derived.Holding, string, error) {
	a := &Answer{}
	err := peer.Decode(body, a.Fields)
	return derived.Partitions(a.Number), strings.Join(a.Texts, "; "), err
}

// CopyTimeout bounds the answer with a piece of a partition. A machine with a stuck keeper answers
// probes, but never has the position of the query.
const CopyTimeout = 30 * time.Second

// Send sends a request to another machine.
func (r *Router) Send(ctx context.Context, to trie.MachineID, q *Query) (*Answer, error) {
	timeout := time.Duration(0)
	if q.Kind == QueryExport {
		timeout = CopyTimeout
	}
	body, err := r.Call(ctx, to, peer.Encode(64+10*(len(q.Pages)+len(q.Set)), q.Fields), timeout)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	return a, peer.Decode(body, a.Fields)
}

// AwaitFirstView returns the view of a machine of a cluster, and waits for the first one.
func (r *Router) AwaitFirstView(ctx context.Context) (*view.View, error) {
	v := r.Node.View()
	if v != nil {
		return v, nil
	}
	waiting, cancel := r.Bound(ctx)
	defer cancel()
	err := r.Node.Newer(waiting, nil)
	return r.Node.View(), err
}

// Local returns the state if this machine holds the partitions of all pages, with all changes that
// were acknowledged before the call and with some stores; nil if others must be queried.
func (r *Router) Local(ctx context.Context, need cell.Stores, n int, of func(i int) int) (*state.State, error) {
	// 1. Check what is held before messages are sent. If this machine has failed, others answer.
	if r.Node.View() != nil && r.Board.Failed() != nil {
		return nil, nil
	}
	s := r.Board.State.Load()
	covers := func() bool {
		if s == nil {
			return r.Node.View() == nil // the error is that of a lone node
		}
		if s.Held == machine.AllPartitions {
			return true
		}
		for i := range n {
			if !s.Held.Has(of(i)) {
				return r.Node.View() == nil
			}
		}
		return true
	}
	if !covers() {
		return nil, nil
	}
	// 2. Wait for all changes. Partitions may have been dropped meanwhile.
	waiting, cancel := r.Bound(ctx)
	s, err := r.Board.Current(waiting)
	cancel()
	if err != nil {
		return nil, err
	}
	if !covers() {
		return nil, nil
	}
	for i := range n {
		if s.Held == machine.AllPartitions {
			break
		}
		if !s.Held.Has(of(i)) {
			return nil, r.Board.Loading()
		}
	}
	// 3. Load what is not in memory. If that fails, others may have it.
	s, err = s.With(ctx, need, n, of)
	if err != nil && r.Node.View() != nil && machine.MayPass(err) {
		return nil, nil
	}
	return s, err
}
