// The node of an index: its triples, and its part in a cluster.

package textsearch

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// Triples is the store of the literals, of a lone node or of a whole cluster.
type Triples interface {
	Reader() (store.Reader, error)
	Feed() feed.Source
	// ReadPosition returns a position in the feed that covers every change that was acknowledged
	// before the call.
	ReadPosition(ctx context.Context) (feed.Position, error)
	store.Writer
}

// Cluster is the cluster of a node that is, or may become, a member.
type Cluster interface {
	// View returns the adopted view; nil while the node is alone.
	View() *view.View
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
}

// lone is a store that never joins a cluster.
type lone struct{ *store.Store }

// Lone implements [Node].
func (l lone) Lone() *store.Store { return l.Store }

// ReadPosition implements [Triples].
func (l lone) ReadPosition(ctx context.Context) (feed.Position, error) { return l.Feed().Position(ctx) }

// View implements [Cluster].
func (lone) View() *view.View { return nil }

// Call implements [Cluster].
func (lone) Call(context.Context, trie.MachineID, string, []byte) ([]byte, error) {
	return nil, store.ErrUnavailable
}

// Handle implements [Cluster].
func (lone) Handle(string, peer.Handler) {}
