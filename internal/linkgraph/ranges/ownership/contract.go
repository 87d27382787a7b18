// Interfaces of the cluster that the packages of a cluster's graph need, by purpose.

package ownership

import (
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Writer changes triples. A change is durable when the call returns.
type Writer interface {
	Add(ctx context.Context, triples []triple.Triple) (store.AddResult, error)
	Delete(ctx context.Context, triples []triple.Triple) (store.DeleteResult, error)
	Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error
}

// Peers calls other members.
type Peers interface {
	// NoMajority reports whether this member is one of two, does not reach the other one and
	// answers reads all the same; see cluster.Node.
	NoMajority() bool
	// Hears reports whether gossip hears a member.
	Hears(id trie.MachineID) bool
	// Call calls a method of another member.
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	// Handle registers the handler of a method. It must be called once for each method.
	Handle(method string, h peer.Handler)
}

// OwnRows reads the rows that this machine owns.
type OwnRows interface {
	// ReadOwn calls do with a snapshot of this machine's store if it answers for all of some
	// ranges under the view of an epoch; see reads.Reads.ReadOwn.
	ReadOwn(ctx context.Context, epoch uint64, ranges []triple.Range, do func(ctx context.Context, sn *store.Snapshot) error) error
	// ChangeBucket and ChangeCount count changes of this machine's rows; see store.Store.
	ChangeBucket(key []byte) (bucket uint32, ok bool)
	ChangeCount(bucket uint32) uint64
}

// Commits reports what members have committed.
type Commits interface {
	// Settled waits until every operation stamped before some epoch is committed or never will
	// be. It returns that epoch, which is at least the given one.
	Settled(ctx context.Context, epoch uint64) (uint64, error)
	// JournalChanges returns the count of a member's changes of links, their labels and
	// UIDs; see cluster.Node.
	JournalChanges(ctx context.Context, epoch uint64, of trie.MachineID, settled bool) (replica.JournalMark, error)
}
