// The contract between a member and the packages that write, read and load through it.

// Package member defines what reads, writes and bulk loads need of the member of a cluster
// on which they run: its view, its lease, and messages to the other members.
//
// [Member] is the contract. A request takes three steps under it:
//
//	View     resolve the machines of the request
//	Enter    apply it, while no other view can be adopted
//	Lease    check, before the answer, that no other view can have been agreed on
//
// If a step fails because the view has changed, Newer waits for the next view. There are two
// implementations in package cluster: localMember, and readMember for reads, which also answers
// while there is no majority. Package membertest tests both.
package member

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// Member is the member on which requests run. Its methods may be called at the same time.
type Member interface {
	// View returns the adopted view, nil before the first. A caller must not change it.
	View() *view.View
	// Newer waits until View returns another view than this one. If none can come, because
	// this member is isolated, it returns store.ErrUnavailable at once.
	Newer(ctx context.Context, than *view.View) error
	// Enter keeps the adopted view from changing until leave is called. It returns a
	// *peer.Refusal if another view is adopted, or if this process is not a member of it.
	// It must not be called before the caller has left.
	Enter(epoch uint64) (leave func(), err error)
	// Lease returns nil while this member may answer under the adopted view.
	Lease() error
	// Call sends a message to another member and returns its answer.
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
}

// Process is one run of a machine: a restart increases the incarnation.
type Process struct {
	Machine     trie.MachineID
	Incarnation uint64
}

// IsMember reports whether v lists the machine in this incarnation. It is false if v is nil.
func (p Process) IsMember(v *view.View) bool { return v != nil && v.Has(p.Machine, p.Incarnation) }
