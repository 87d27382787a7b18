// What the doors need of a store.

package httpapi

import (
	"context"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// Snapshot is a consistent state of a store; *node.Snapshot is one.
type Snapshot interface {
	Match(ctx context.Context, p triple.Pattern, o node.ReadOptions) iter.Seq2[node.Row, error]
	Range(ctx context.Context, b triple.Bounds, o node.ReadOptions) iter.Seq2[node.Row, error]
	Count(ctx context.Context, p triple.Pattern) (int64, error)
	Estimate(p triple.Pattern) (n int64, exact bool, err error)
	Close() error
}

// Writer changes a store; *node.Store is one.
type Writer interface {
	Add(ctx context.Context, triples []triple.Triple) (node.AddResult, error)
	Delete(ctx context.Context, triples []triple.Triple) (node.DeleteResult, error)
	DeleteMatch(ctx context.Context, p triple.Pattern) (node.DeleteResult, error)
	Apply(ctx context.Context, changes node.Changes) (node.ApplyResult, error)
	Update(ctx context.Context, f func(*node.Snapshot) (node.Changes, error)) (node.ApplyResult, error)
}

// Store is what the doors need of a store; [NodeStore] makes one of a node's.
type Store interface {
	Writer
	Snapshot() (Snapshot, error)
	Sink() rdfload.Sink
	Backup(ctx context.Context, w io.Writer) error
	Status() node.Status
	// Err returns why the store takes no more writes; nil while it does.
	Err() error
}

// NodeStore makes a node's store one for the doors.
func NodeStore(s *node.Store) Store { return nodeStore{s} }

type nodeStore struct{ *node.Store }

// Snapshot returns the state as it is now.
func (s nodeStore) Snapshot() (Snapshot, error) {
	sn, err := s.Store.Snapshot()
	if err != nil {
		return nil, err // not sn: a nil pointer in an interface is not nil
	}
	return sn, nil
}
