package ranges

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/copies"
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
	// LongList is how many links a list has at most that is kept itself; of longer ones
	// degrees and sketches are. 0 is 16,384.
	LongList int
	// HeldBytes is how much memory the links of one call may take, at 16 bytes a link; 0
	// is 1 GiB. Lists of more links are told in samples only.
	HeldBytes int64
	// RankBytes is how much memory a job of PageRank may take; 0 is 4 GiB.
	RankBytes int64
	// Copies is how many other machines keep copies of what a machine reads, to answer
	// while it is down: up to [copies.MaxCopies], or CopiesOfView. 0 is none. They are
	// kept in Dir of FS. Its contents are deleted at the start.
	Copies int
	FS     vfs.FS
	Dir    string
	// Logger takes what there is to say; nil is nobody.
	Logger *slog.Logger
}

// CopiesOfView is the value of Options.Copies that follows the cluster's number of
// copies: lists bear the loss of as many machines as triples do.
const CopiesOfView = -1

const (
	defaultKnownBytes = 256 << 20
	defaultListBytes  = 512 << 20
	defaultHeldBytes  = 1 << 30
	defaultRankBytes  = 4 << 30
)

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.Copies < CopiesOfView || o.Copies > copies.MaxCopies || o.Copies != 0 && o.Dir == "" {
		return fmt.Errorf("%w: %d copies in the directory %q", links.ErrInvalid, o.Copies, o.Dir)
	}
	if o.RankBytes < 0 || o.KnownBytes < 0 || o.ListBytes < 0 || o.LongList < 0 || o.HeldBytes < 0 {
		return fmt.Errorf("%w: RankBytes is %d, KnownBytes %d, ListBytes %d, LongList %d, HeldBytes %d", links.ErrInvalid,
			o.RankBytes, o.KnownBytes, o.ListBytes, o.LongList, o.HeldBytes)
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
	if o.LongList == 0 {
		o.LongList = maxPacked
	}
	if o.HeldBytes == 0 {
		o.HeldBytes = defaultHeldBytes
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
	uidTerm       []byte       // likewise, that of UIDs
	claimTerm     []byte       // likewise, that of claims of grants
	pages         triple.Range // of POS: all UIDs
	linked        triple.Range // of POS: all links

	// settled is an epoch before which all is settled.
	settled atomic.Uint64
	known   known
	packed  packedLists
	hosts   recent[uid.Extent, hostOf]
	places  atomic.Pointer[places]
	// digesting holds a place of each long list that is read.
	digesting chan struct{}
	grants    grants
	ranks     ranks
	counts    counts
	turns     turns
	copies    *copies.Copies // nil where none are kept
	away      away

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
	g.turns.messages = make(chan struct{}, replacing)
	g.known.init(g.o.KnownBytes)
	g.packed.init(g.o.ListBytes)
	g.hosts.most = rememberedHosts
	g.digesting = make(chan struct{}, digestedAtOnce)
	g.predicate = triple.NewIRI(g.o.Predicate)
	g.predicateTerm, _ = triple.AppendTerm(nil, g.predicate)
	g.uidTerm, _ = triple.AppendTerm(nil, triple.NewIRI(links.UIDPredicate))
	g.claimTerm, _ = triple.AppendTerm(nil, triple.NewIRI(claimPredicate))
	var err, other error
	g.pages, err = predicateRange(links.UIDPredicate)
	g.linked, other = predicateRange(g.o.Predicate)
	if err := errors.Join(err, other); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	if g.o.Copies != 0 {
		g.copies, err = copies.Open(store, g.pull, copies.Options{
			FS: g.o.FS, Dir: g.o.Dir, Copies: max(0, g.o.Copies), Empty: g.empty, Logger: g.o.Logger,
			Ranges: []triple.Range{triple.OrderRange(triple.SPO), g.pages, g.linked},
		})
		if err != nil {
			return nil, fmt.Errorf("open the link graph: %w", err)
		}
	}
	if g.o.Copies == 0 && g.o.Dir != "" { // of another time
		fs := g.o.FS
		if fs == nil {
			fs = vfs.Default
		}
		if err := fs.RemoveAll(g.o.Dir); err != nil {
			return nil, fmt.Errorf("open the link graph: %w", err)
		}
	}
	store.Handle(methodName, g.handleName)
	store.Handle(methodOwn, g.handleOwn)
	store.Handle(methodReplace, g.handleReplace)
	store.Handle(methodPull, g.handlePull)
	store.Handle(methodCopied, g.handleCopied)
	store.Handle(methodWalk, g.handleWalk)
	store.Handle(methodHere, handleHere)
	g.running.Go(g.lookThrough)
	return g, nil
}

// Copied returns the epoch under which this machine has last had all copies that it ought
// to keep, with all that was settled before; 0 where it keeps none, or never had.
func (g *Graph) Copied() uint64 {
	if g.copies == nil {
		return 0
	}
	return g.copies.Epoch()
}

// Close ends the graph.
func (g *Graph) Close() error {
	g.cancel(errClosed)
	g.running.Wait()
	if g.copies != nil {
		return g.copies.Close()
	}
	return nil
}

// empty reports whether there are neither links nor pages.
func (g *Graph) empty(ctx context.Context) (none bool, err error) {
	none = true
	err = g.read(ctx, func(r *reader) error {
		for _, keys := range []triple.Range{g.linked, g.pages} {
			err := r.scan(ctx, keys, false, func(*row) (bool, error) {
				none = false
				return false, nil
			})
			if err != nil || !none {
				return err
			}
		}
		return nil
	})
	return none, err
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
