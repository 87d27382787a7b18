// Graph: options, parts, opening and closing.

package ranges

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/copyserver"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/epochs"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linklists"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/pagerank"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/updates"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// Options are the options of [Open]. The zero value is ready to use.
type Options struct {
	// Predicate is the predicate of links; "" means links.DefaultPredicate.
	Predicate string
	// KnownBytes bounds the memory of cached URLs and UIDs; 0 means 256 MiB.
	KnownBytes int64
	// ListBytes bounds the memory of kept lists of this machine's pages; 0 means 512 MiB.
	ListBytes int64
	// LongList is the greatest number of links in a kept list. If a list is longer, only its
	// degree and sketch are kept. 0 means 16,384.
	LongList int
	// HeldBytes bounds the memory of the links of one call, at 16 bytes a link; 0 means 1 GiB.
	// If lists have more links, the call must request samples.
	HeldBytes int64
	// RankBytes bounds the memory of a PageRank job; 0 means 4 GiB.
	RankBytes int64
	// Copies is the number of other machines that keep copies of this machine's rows, to answer
	// if it is down: up to [copies.MaxCopies], or CopiesOfView. 0 means none. The copies are in
	// Dir of FS. Its contents are deleted at the start.
	Copies int
	FS     vfs.FS
	Dir    string
	// Logger receives messages; nil discards them.
	Logger *slog.Logger
}

// CopiesOfView is the value of Options.Copies that follows the cluster's number of copies:
// lists survive the loss of the same number of machines as triples.
const CopiesOfView = -1

const (
	defaultKnownBytes = 256 << 20
	defaultListBytes  = 512 << 20
	defaultHeldBytes  = 1 << 30
	defaultRankBytes  = 4 << 30
)

// Validate returns links.ErrInvalid if a number is out of range or Dir is missing, or the error
// of an invalid predicate.
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
		o.LongList = linkkeys.MaxPacked
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

// Graph is the graph of the links in a cluster. It implements links.Graph. Its methods are safe
// for concurrent use.
type Graph struct {
	reads     *rowreader.Readers
	uids      *assign.Assigner
	hosts     *linklists.HostNames
	owned     *linklists.OwnedLists
	lists     *linklists.Reader
	epochs    *epochs.Epochs
	inventory *inventory
	updates   *updates.Updater
	ranker    *pagerank.Ranker
	copied    *copyserver.Server
	copies    *copies.Copies // nil if none are kept

	cancel  context.CancelCauseFunc
	running sync.WaitGroup
}

// Open returns the graph of a cluster as one of its members answers for it. It may be called
// before the node is a member, once for a node. The graph must be closed before the node.
func Open(store ownership.Store, o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	o = o.withDefaults()
	g, err := newGraph(store, o)
	if err == nil {
		err = g.openCopies(o)
	}
	if err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	store.Handle(assign.MethodAssign, g.uids.HandleAssign)
	store.Handle(linklists.MethodOwned, g.owned.HandleOwned)
	store.Handle(updates.MethodReplace, g.updates.HandleReplace)
	store.Handle(copyserver.MethodPull, g.copied.HandlePull)
	store.Handle(rowreader.MethodCopied, g.copied.HandleCopied)
	store.Handle(rowreader.MethodWalk, g.copied.HandleWalk)
	store.Handle(ownership.MethodPing, ownership.HandlePing)
	f := &finder{g.reads, g.uids, g.inventory}
	g.running.Go(f.run)
	return g, nil
}

// newGraph makes the parts of a graph and starts nothing.
func newGraph(store ownership.Store, o Options) (*Graph, error) {
	keys, err := linkkeys.NewKeys(o.Predicate)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	g := &Graph{reads: rowreader.New(ctx, ownership.New(store, o.Copies, o.Logger), keys), cancel: cancel}
	g.uids = assign.New(g.reads, o.KnownBytes)
	g.hosts = linklists.NewHosts(g.reads, g.uids)
	g.owned = linklists.NewOwned(g.reads, g.uids, g.hosts, linklists.Options{LongList: o.LongList, HeldBytes: o.HeldBytes, ListBytes: o.ListBytes})
	g.lists = linklists.New(g.reads, g.uids, g.hosts, g.owned)
	g.epochs = epochs.New(g.reads)
	g.inventory = &inventory{Readers: g.reads, uids: g.uids}
	g.updates = updates.New(g.reads, g.uids, g.lists, g.epochs)
	g.ranker = pagerank.New(g.reads, g.uids, o.RankBytes, &g.running)
	g.copied = copyserver.New(g.reads, g.uids)
	return g, nil
}

// openCopies opens the copies that this machine keeps. If it keeps none, it removes the files
// of an earlier run.
func (g *Graph) openCopies(o Options) (err error) {
	if o.Copies != 0 {
		g.copies, err = copies.Open(g.reads.Store, g.copied.Pull, copies.Options{
			FS: o.FS, Dir: o.Dir, Copies: max(0, o.Copies), Empty: g.empty, Logger: o.Logger,
			Ranges: []triple.Range{triple.OrderRange(triple.SPO), g.reads.Keys.Pages, g.reads.Keys.Linked},
		})
		g.copied.Copies = g.copies
		return err
	}
	if o.Dir == "" {
		return nil
	}
	fs := o.FS
	if fs == nil {
		fs = vfs.Default
	}
	return fs.RemoveAll(o.Dir)
}

// CopiedEpoch returns the last epoch under which this machine had all copies that it must keep,
// with everything committed before. It is 0 if the machine keeps none or never had all.
func (g *Graph) CopiedEpoch() uint64 {
	if g.copies == nil {
		return 0
	}
	return g.copies.Epoch()
}

// Close stops the background work and waits for it.
func (g *Graph) Close() error {
	g.cancel(rowreader.ErrClosed)
	g.running.Wait()
	if g.copies != nil {
		return g.copies.Close()
	}
	return nil
}

// empty reports whether there are neither links nor pages.
func (g *Graph) empty(ctx context.Context) (none bool, err error) {
	none = true
	err = g.reads.Read(ctx, func(r *rowreader.Reader) error {
		for _, keys := range []triple.Range{g.reads.Keys.Linked, g.reads.Keys.Pages} {
			err := r.Scan(ctx, keys, false, func(*linkkeys.Row) (bool, error) {
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

// Capabilities returns the optional powers of a member. It has no Loader, because it loads
// nothing.
func (g *Graph) Capabilities() links.Capabilities {
	return links.Capabilities{RemoteEpoch: g, Prefix: g, Packed: g, Copies: g}
}

var _ links.Graph = (*Graph)(nil)

// CurrentEpoch implements links.EpochFetcher; see [epochs.Epochs.CurrentEpoch].
func (g *Graph) CurrentEpoch(ctx context.Context, cached uint64) (uint64, error) {
	return g.epochs.CurrentEpoch(ctx, cached)
}

// LinksPrefix implements links.PrefixReader.
func (g *Graph) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, maxLinks int) (links.Lists, error) {
	return g.lists.LinksPrefix(ctx, d, pages, maxLinks)
}

// PackedPrefix implements links.PackedReader.
func (g *Graph) PackedPrefix(ctx context.Context, d links.Direction, pages []uid.UID, maxLinks int) (lengths []int, packed rank.Lists[byte], err error) {
	return g.lists.PackedPrefix(ctx, d, pages, maxLinks)
}

// Update implements links.Updater; see [updates.Updater.Update].
func (g *Graph) Update(ctx context.Context, changes []links.Change) (links.UpdateResult, error) {
	return g.updates.Update(ctx, changes)
}

// StartPageRank implements links.Ranker. The job runs on this member.
func (g *Graph) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	return g.ranker.StartPageRank(ctx, o)
}

// PageRank implements links.Ranker.
func (g *Graph) PageRank(ctx context.Context) (links.PageRankJob, error) {
	return g.ranker.PageRank(ctx)
}

// StopPageRank implements links.Ranker.
func (g *Graph) StopPageRank(ctx context.Context) error { return g.ranker.StopPageRank(ctx) }

// SampleLinks implements links.Graph. It works in parts of linklists.MaxSampledPages pages.
func (g *Graph) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, s sample.Spec) (l links.Lists, err error) {
	err = g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		l = links.Lists{}
		for part := range slices.Chunk(pages, linklists.MaxSampledPages) {
			if err := g.lists.Sample(ctx, r, d, part, s, &l); err != nil {
				return err
			}
		}
		return nil
	})
	return l, err
}

// Degrees implements links.Graph.
func (g *Graph) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) (degrees []int, err error) {
	return degrees, g.reads.ReadRetrying(ctx, func(r *rowreader.Reader) error {
		degrees = make([]int, 0, len(pages))
		for part := range slices.Chunk(pages, linklists.MaxSampledPages) {
			if degrees, err = g.lists.Degrees(ctx, r, d, part, degrees); err != nil {
				return err
			}
		}
		return nil
	})
}

// Journal returns the predicates that the journals of members must record
// (store.Options.Journal) if links have the given predicate.
func Journal(predicate string) []string {
	return []string{predicate, links.UIDPredicate, linkkeys.ClaimPredicate}
}
