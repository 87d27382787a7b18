package engine

import (
	"context"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/sparql"
)

// Snapshot is what a query reads: of a node alone one consistent state, of a cluster no
// state of one moment (see package reads). One that is put together without some
// of its owners may have a method Degraded() bool, see [Answer.Degraded].
type Snapshot interface {
	// Source is what queries read. It is valid until the snapshot is closed.
	Source() sparql.Source
	Close() error
}

// Store is what an engine needs of a store. [StoreOf] makes one of a node's, or of
// whatever has its methods.
type Store interface {
	// Snapshot returns the store as it is now.
	Snapshot() (Snapshot, error)
	// Update makes a change that f finds by a snapshot; see [node.Store.Update].
	Update(ctx context.Context, f func(Snapshot) (node.Changes, error)) (node.ApplyResult, error)
	// Status reports whether the store takes changes; it is asked once.
	Status() node.Status
	// Isolation is what queries and updates have now.
	Isolation() node.Isolation
}

// storeOf is a [Store] whose methods name the type of its snapshots.
type storeOf[S Snapshot] interface {
	Snapshot() (S, error)
	Update(ctx context.Context, f func(S) (node.Changes, error)) (node.ApplyResult, error)
	Status() node.Status
	Isolation() node.Isolation
}

// StoreOf returns a store as an engine takes it, such as a [*node.Store].
func StoreOf[S Snapshot](store storeOf[S]) Store { return adapter[S]{store} }

type adapter[S Snapshot] struct{ storeOf[S] }

func (a adapter[S]) Snapshot() (Snapshot, error) {
	sn, err := a.storeOf.Snapshot()
	if err != nil {
		return nil, err // not sn: a nil pointer in an interface is not nil
	}
	return sn, nil
}

func (a adapter[S]) Update(ctx context.Context, f func(Snapshot) (node.Changes, error)) (node.ApplyResult, error) {
	return a.storeOf.Update(ctx, func(sn S) (node.Changes, error) { return f(sn) })
}
