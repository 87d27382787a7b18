// What the doors need of a store.

package httpapi

import (
	"context"
	"io"
	"iter"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// Snapshot is what a request reads: of a node alone one consistent state, of a cluster
// no state of one moment (see package reads). One that is put together without some
// of its owners may have a method Degraded() bool; see degraded.go.
type Snapshot interface {
	Match(ctx context.Context, p triple.Pattern, o node.ReadOptions) iter.Seq2[node.Row, error]
	Range(ctx context.Context, b triple.Bounds, o node.ReadOptions) iter.Seq2[node.Row, error]
	Count(ctx context.Context, p triple.Pattern) (int64, error)
	Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error)
	Close() error
}

// Writer changes a store.
type Writer interface {
	Add(ctx context.Context, triples []triple.Triple) (node.AddResult, error)
	// Annotate sets what an application notes on a triple, durably when it returns.
	Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error
	Delete(ctx context.Context, triples []triple.Triple) (node.DeleteResult, error)
	DeleteMatch(ctx context.Context, p triple.Pattern) (node.DeleteResult, error)
	Apply(ctx context.Context, changes node.Changes) (node.ApplyResult, error)
	Update(ctx context.Context, f func(Snapshot) (node.Changes, error)) (node.ApplyResult, error)
	// Claim notes durably that the request of ctx begins; [node.ErrBegun] if it began before.
	Claim(ctx context.Context) error
	// Load loads documents of any size: all of them or, with an error, nothing.
	Load(ctx context.Context, sources []rdfload.Source, o rdfload.Options) (rdfload.Summary, error)
}

// Store is what the doors need of a store; [StoreOf] makes one.
type Store interface {
	Writer
	Snapshot() (Snapshot, error)
	Backup(ctx context.Context, w io.Writer) error
	// Check verifies all there is, and changes nothing.
	Check(ctx context.Context) (node.CheckReport, error)
	Status() node.Status
	// Err returns why the store takes no more writes; nil while it does.
	Err() error
}

// storeOf is a store whose methods name the type of its snapshots.
type storeOf[S Snapshot] interface {
	Add(ctx context.Context, triples []triple.Triple) (node.AddResult, error)
	Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error
	Delete(ctx context.Context, triples []triple.Triple) (node.DeleteResult, error)
	DeleteMatch(ctx context.Context, p triple.Pattern) (node.DeleteResult, error)
	Apply(ctx context.Context, changes node.Changes) (node.ApplyResult, error)
	Update(ctx context.Context, f func(S) (node.Changes, error)) (node.ApplyResult, error)
	Claim(ctx context.Context) error
	// Sink is where bulk loads go.
	Sink() rdfload.Sink
	Snapshot() (S, error)
	Backup(ctx context.Context, w io.Writer) error
	Check(ctx context.Context) (node.CheckReport, error)
	Status() node.Status
	Err() error
}

// StoreOf returns a store as the doors take it. Its metrics are registered where it
// has a method RegisterMetrics(prometheus.Registerer) error.
func StoreOf[S Snapshot](store storeOf[S]) Store { return adapter[S]{store} }

// NodeStore is [StoreOf] for the store of one node.
func NodeStore(s *node.Store) Store { return StoreOf(s) }

type adapter[S Snapshot] struct{ storeOf[S] }

// Snapshot returns the state as it is now.
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

func (a adapter[S]) Load(ctx context.Context, sources []rdfload.Source, o rdfload.Options) (rdfload.Summary, error) {
	return rdfload.Load(ctx, a.Sink(), sources, o)
}

func (a adapter[S]) RegisterMetrics(r prometheus.Registerer) error {
	if s, ok := a.storeOf.(interface {
		RegisterMetrics(prometheus.Registerer) error
	}); ok {
		return s.RegisterMetrics(r)
	}
	return nil
}
