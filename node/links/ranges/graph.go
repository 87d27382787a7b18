package ranges

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// Options are those of [Open]. The zero value is ready to use.
type Options struct {
	// Predicate is that of links; "" is links.DefaultPredicate.
	Predicate string
	// KnownBytes is how much memory may be taken for URLs and UIDs that are remembered;
	// 0 is 256 MiB.
	KnownBytes int64
	// ListBytes is how much memory may be taken for lists of this machine's pages; 0 is
	// 512 MiB.
	ListBytes int64
	// RankBytes is how much memory a job of PageRank may take; 0 is 4 GiB.
	RankBytes int64
	// Logger takes what there is to say; nil is nobody.
	Logger *slog.Logger
}

const (
	defaultKnownBytes = 256 << 20
	defaultListBytes  = 512 << 20
	defaultRankBytes  = 4 << 30
)

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.RankBytes < 0 || o.KnownBytes < 0 || o.ListBytes < 0 {
		return fmt.Errorf("%w: RankBytes is %d, KnownBytes %d, ListBytes %d", links.ErrInvalid, o.RankBytes, o.KnownBytes, o.ListBytes)
	}
	predicate := triple.NewIRI(o.Predicate)
	if o.Predicate == "" {
		return nil
	}
	return predicate.Check()
}

func (o Options) withDefaults() Options {
	if o.Predicate == "" {
		o.Predicate = links.DefaultPredicate
	}
	if o.KnownBytes == 0 {
		o.KnownBytes = defaultKnownBytes
	}
	if o.ListBytes == 0 {
		o.ListBytes = defaultListBytes
	}
	if o.RankBytes == 0 {
		o.RankBytes = defaultRankBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Graph is the graph of the links in a cluster. It implements links.Graph. Its methods
// may be called at the same time.
type Graph struct {
	store Store
	o     Options

	predicate     triple.Term
	predicateTerm []byte       // encoded
	pages         triple.Range // of POS: all UIDs
	linked        triple.Range // of POS: all links

	// settled is an epoch before which all is settled.
	settled atomic.Uint64
	known   known
	packed  packedLists
	grants  grants
	ranks   ranks

	ctx     context.Context // ends with the graph
	cancel  context.CancelCauseFunc
	running sync.WaitGroup
}

var errClosed = fmt.Errorf("the link graph: %w", node.ErrClosed)

// Open returns the graph of a cluster as one of its members answers for it. It may be
// opened before the node is a member, once for a node; close it before the node.
func Open(store Store, o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g := &Graph{store: store, o: o.withDefaults()}
	g.grants.giving = make(chan struct{}, 1)
	g.known.init(g.o.KnownBytes)
	g.packed.init(g.o.ListBytes)
	g.predicate = triple.NewIRI(g.o.Predicate)
	g.predicateTerm, _ = triple.AppendTerm(nil, g.predicate)
	var err, other error
	g.pages, err = predicateRange(links.UIDPredicate)
	g.linked, other = predicateRange(g.o.Predicate)
	if err := errors.Join(err, other); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	store.Handle(methodName, g.handleName)
	store.Handle(methodLists, g.handleLists)
	g.running.Go(g.lookThrough)
	return g, nil
}

// Close ends the graph.
func (g *Graph) Close() error {
	g.cancel(errClosed)
	g.running.Wait()
	return nil
}

// begin returns a context that ends with the graph, and what a call reads.
func (g *Graph) begin(ctx context.Context) (*reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	sn, err := g.store.Snapshot()
	if err != nil {
		return nil, err
	}
	return &reader{graph: g, snapshot: sn, source: sn.Source()}, nil
}

// Request implements links.Graph: there is nothing to be loaded.
func (g *Graph) Request(ctx context.Context) error { return ctx.Err() }

// Relinquish implements links.Graph.
func (g *Graph) Relinquish(ctx context.Context) error { return ctx.Err() }
