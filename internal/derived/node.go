// The node of an index: its triples, and its part in a cluster.

package derived

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/trie"
)

// Triples is the store of the rows, of a lone node or of a whole cluster.
type Triples interface {
	Reader() (store.Reader, error)
	Feed() feed.Source
	// ReadPosition returns a position in the feed that covers every change that was acknowledged
	// before the call.
	ReadPosition(ctx context.Context) (feed.Position, error)
	Sink() rdfload.Sink
	store.Writer
}

// Cluster is the cluster of a node that is, or may become, a member.
type Cluster interface {
	// View returns the adopted view; nil while the node is alone.
	View() *view.View
	// Newer waits until View returns another view than this one.
	Newer(ctx context.Context, than *view.View) error
	// Fence waits until every operation of epochs before the given one is committed. The adds and
	// deletes of the returned context are stamped in the epoch, or refused.
	Fence(ctx context.Context, epoch uint64) (context.Context, error)
	// Call sends a message to another member, and Handle answers those of others.
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	Handle(method string, h peer.Handler)
}

// Node is the node of an index. *cluster.Node implements it.
type Node interface {
	Triples
	Cluster
	MachineID() trie.MachineID
	// Lone returns the store of a node that is alone; nil in a cluster.
	Lone() *store.Store
	// Annotated reports whether the store of this machine has annotations.
	Annotated() bool
	// NoMajority reports whether the member is one of two, does not reach the other one and answers
	// reads all the same.
	NoMajority() bool
}

// Lone is a store that never joins a cluster.
type Lone struct{ *store.Store }

// Lone implements [Node].
func (l Lone) Lone() *store.Store { return l.Store }

// ReadPosition implements [Triples].
func (l Lone) ReadPosition(ctx context.Context) (feed.Position, error) { return l.Feed().Position(ctx) }

// Annotated implements [Node].
func (l Lone) Annotated() bool { return l.Status().Annotations > 0 }

// NoMajority implements [Node].
func (Lone) NoMajority() bool { return false }

// View implements [Cluster].
func (Lone) View() *view.View { return nil }

// Newer implements [Cluster]. It waits for the end of ctx.
func (Lone) Newer(ctx context.Context, _ *view.View) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Fence implements [Cluster].
func (Lone) Fence(ctx context.Context, _ uint64) (context.Context, error) { return ctx, nil }

// Call implements [Cluster].
func (Lone) Call(context.Context, trie.MachineID, string, []byte) ([]byte, error) {
	return nil, store.ErrUnavailable
}

// Handle implements [Cluster].
func (Lone) Handle(string, peer.Handler) {}

// EndOfRows returns the position of the rows of a node at present. fixed is set on a lone node, whose
// rows are of one moment. The feed may not be there yet, because it has only what is durable.
func EndOfRows(t Triples) (end feed.Position, fixed bool, err error) {
	r, err := t.Reader()
	if err != nil {
		return feed.Position{}, false, err
	}
	end, fixed, err = r.Position()
	return end, fixed, errors.Join(err, r.Close())
}

// MembersOf returns the members of a view; none while there is no view.
func MembersOf(v *view.View) []view.Member {
	if v == nil {
		return nil
	}
	return v.Members
}
