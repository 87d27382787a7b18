// What the graph needs of the cluster.

package ranges

import (
	"context"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Snapshot is a way to read all triples.
type Snapshot interface {
	Source() sparql.Source
	Annotation(ctx context.Context, t triple.Triple, applicationID string) ([]byte, error)
	Close() error
}

// Writer changes triples, durably when a call returns.
type Writer interface {
	Add(ctx context.Context, triples []triple.Triple) (node.AddResult, error)
	Delete(ctx context.Context, triples []triple.Triple) (node.DeleteResult, error)
	Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error
}

// Member is one machine of the cluster.
type Member interface {
	// NoMajority reports whether this member, one of two, answers reads though it does not
	// reach the other one; see cluster.Node.
	NoMajority() bool
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	// Settled waits until every operation stamped before some epoch, which is no less
	// than the given one, is settled or never will be, and returns that epoch.
	Settled(ctx context.Context, epoch uint64) (uint64, error)
	// ReadOwn calls do with a snapshot of this machine's store, where it answers for all
	// of some ranges under the view of an epoch; see reads.Reads.ReadOwn.
	ReadOwn(ctx context.Context, epoch uint64, ranges []triple.Range, do func(ctx context.Context, sn *node.Snapshot) error) error
	// ChangeBucket and ChangeCount count changes of this machine's rows; see node.Store.
	ChangeBucket(key []byte) (bucket uint32, ok bool)
	ChangeCount(bucket uint32) uint64
	// MayAnswer, JournalEnd and Journal are as package copies has them.
	copies.Member
	// JournalChanges returns the count of a member's changes of links, their labels and
	// UIDs; see cluster.Node.
	JournalChanges(ctx context.Context, epoch uint64, of trie.MachineID, settled bool) (node.JournalMark, error)
	// Hears reports whether a member is heard of.
	Hears(id trie.MachineID) bool
	// Handle makes h answer a method, once.
	Handle(method string, h peer.Handler)
}

// Store is the triples of a cluster, as one of its members reads and writes them;
// [StoreOf] makes one.
type Store interface {
	Writer
	Member
	Snapshot() (Snapshot, error)
}

// storeOf is a store whose methods name the type of its snapshots.
type storeOf[S Snapshot] interface {
	Writer
	Member
	Snapshot() (S, error)
}

// StoreOf returns a store as [Open] takes it.
func StoreOf[S Snapshot](store storeOf[S]) Store { return adapter[S]{store} }

type adapter[S Snapshot] struct{ storeOf[S] }

// Snapshot returns a way to read what is there now.
func (a adapter[S]) Snapshot() (Snapshot, error) {
	sn, err := a.storeOf.Snapshot()
	if err != nil {
		return nil, err // not sn: a nil pointer in an interface is not nil
	}
	return sn, nil
}
