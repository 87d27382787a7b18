// Graph: its state, opening and closing.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

const application = links.Application

func decodeLabel(data []byte) (cell.Label, error) { return lists.DecodeLabel(data) }

// Graph is the graph of the links of a store or of a whole cluster, as one machine answers for
// it. It implements links.Graph. Its methods are safe for concurrent use.
//
// A machine holds the cells of some partitions, a lone one of all. See the package comment.
type Graph struct {
	node     Node
	o        Options
	log      logger
	hosts    *hosts
	follower *feed.Follower

	opened  uint64          // random: it tells the epochs of this graph from those of others
	ctx     context.Context // ends with the graph
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	// state is the part of the graph that this machine holds, as readers see it. It is nil until
	// the position in the feed is known at which it begins.
	state    atomic.Pointer[state]
	moved    *signal // sent when a state is published
	progress atomic.Pointer[string]
	// keepFailure and placeFailure are the last errors of the keeper and of the placer, nil while
	// they make progress.
	keepFailure, placeFailure atomic.Pointer[error]
	placing                   chan struct{}         // wakes the placer
	full                      atomic.Pointer[error] // why cells are missing that do not fit into the memory; nil if all fit

	// assigning must be held while UIDs are assigned, and must be taken before updating.
	assigning lock
	assigner  assigner
	terms     terms
	moving    systemMove

	// known is replaced if UIDs may have been forgotten. That must be after the state without
	// them is published.
	known atomic.Pointer[known]
	// replacing is held by replacements of lists, by partition of the page. holds are those that are
	// kept for long replacements. changing is held exclusively by changes that depend on a read, and
	// shared by other changes, on a lone node; it must be taken last.
	replacing [numPartitions]lock
	holds     holds
	changing  sync.RWMutex

	wishes    chan wish // requests to the keeper
	ranks     ranks
	ends      ends
	stores    stores
	directory directory
	exports   exports
}

// state is the held part of the graph at a position in the feed. It is immutable.
type state struct {
	graph    *Graph
	parts    []*part       // by range
	views    []*delta.View // of parts
	sketches []*[2]*sample.Table
	stores   cell.Stores  // those that all parts have in memory
	pinned   bool         // no later state may answer for it
	held     partitionSet // of the parts
	kept     partitionSet // the same, with those that readers do not see yet
	at       feed.Position
	changes  uint64 // the number of batches with changes of links before it, in this process
	plain
}

// part is a cell, and its changes since it was built.
type part struct {
	uid.Range
	delta *delta.Delta
	// ahead is behind the position of the keeper, if the part has changes up to it already; zero
	// otherwise. Readers must not see the part before the keeper gets there.
	ahead feed.Position
	plain bool // see plain.go
	// unload is the stores that the keeper drops when the cell has a file. The mutex of the graph's
	// stores guards it.
	unload cell.Stores
	// Only the keeper uses what follows.
	file     string // the cell's file, "" if it has none
	sketched *cell.Cell
	sketches *[2]*sample.Table // of the cell sketched
	saved    uint64            // epoch of the delta up to which rows are on disk
	failed   bool              // the last attempt to build it again failed
	// labelled is set if rows of the delta may have labels, checked if this was looked up.
	labelled, checked bool
}

// find returns the index of the part with a UID. The part must be held.
func (s *state) find(u uid.UID) int {
	return sort.Search(len(s.parts)-1, func(i int) bool { return s.parts[i].Last >= u })
}

// view returns the view with a UID. It must be held.
func (s *state) view(u uid.UID) *delta.View { return s.views[s.find(u)] }

// has reports whether the partition of a UID is held.
func (s *state) has(u uid.UID) bool { return s.held.has(partitionOf(u)) }

// lookUp returns the UID of a page, if the page is in a held cell or its delta, and the cell has its
// URLs in memory. The store has the UIDs of other pages.
func (s *state) lookUp(url string) (uid.UID, bool) {
	u := uid.Make(uid.SlotOf(weburl.HostKey(url)), 1, 0)
	if !s.has(u) {
		return 0, false
	}
	v := s.view(u)
	if !v.Cell().Stores().Has(cell.URLStore) {
		return 0, false
	}
	return v.Find(url)
}

// storesOf returns the stores that the cells of all views have in memory.
func storesOf(views []*delta.View) cell.Stores {
	all := cell.AllStores
	for _, v := range views {
		all &= v.Cell().Stores()
	}
	return all
}

// Open returns the graph of a store that stays alone. It reads or builds the cells in the
// background; see Graph.AwaitCells. The graph must be closed before the store.
func Open(db *store.Store, o Options) (*Graph, error) {
	if o.Dir == "" {
		o.Dir = filepath.Join(db.Dir(), "links")
	}
	return OpenNode(lone{db}, o)
}

// OpenNode returns the graph of a node, which may be a member of a cluster or become one. Dir of
// the options must be set. The graph must be closed before the node.
func OpenNode(n Node, o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	o = o.withDefaults()
	if err := o.makeDir(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g := &Graph{
		node: n, o: o, log: logger{o.Logger}, opened: rand.Uint64(),
		moved: newSignal(), wishes: make(chan wish), placing: make(chan struct{}, 1), assigning: newLock(), moving: systemMove{lock: newLock()},
	}
	g.follower = feed.NewFollower("links", g.moved.send)
	g.ranks.saving, g.ranks.wake, g.stores.loading = newLock(), make(chan struct{}, 1), newLock()
	g.hosts, g.assigner.graph = newHosts(g.findHosts), g
	for i := range g.replacing {
		g.replacing[i] = newLock()
	}
	g.known.Store(newKnown())
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	g.handle()
	g.running.Go(g.keep)
	g.running.Go(g.place)
	g.openRanks()
	g.running.Go(g.keepRanks)
	return g, nil
}

// errClosed is the error of calls after Close.
var errClosed = fmt.Errorf("the link graph: %w", store.ErrClosed)

// Close stops the background work and waits for it.
func (g *Graph) Close() error {
	g.cancel(errClosed)
	g.running.Wait()
	return nil
}

// failed returns the error of the background work; nil while it makes progress.
func (g *Graph) failed() error {
	for _, failure := range []*atomic.Pointer[error]{&g.keepFailure, &g.placeFailure} {
		if err := failure.Load(); err != nil {
			return fmt.Errorf("%w (%w)", links.ErrLoading, *err)
		}
	}
	if err := g.follower.Stalled(); err != nil {
		return fmt.Errorf("%w (%w)", links.ErrLoading, err)
	}
	return nil
}

// Follower returns the follower of the change feed.
func (g *Graph) Follower() *feed.Follower { return g.follower }

// AwaitCells waits until this machine has all that it must hold.
func (g *Graph) AwaitCells(ctx context.Context) error {
	for {
		moved := g.moved.wait()
		if err := g.failed(); err != nil {
			return err
		}
		if s := g.state.Load(); s != nil && g.wanted()&^s.held == 0 {
			return nil
		}
		if full := g.full.Load(); full != nil {
			return *full
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-g.ctx.Done():
			return context.Cause(g.ctx)
		}
	}
}

// Partitions implements links.PartitionReporter.
func (g *Graph) Partitions() (held, missing int) {
	var set partitionSet
	if s := g.state.Load(); s != nil {
		set = s.held
	}
	return set.len(), (g.wanted() &^ set).len()
}

// caughtUp waits until this machine has all cells that it must hold, with everything that was
// acknowledged before the call.
func (g *Graph) caughtUp(ctx context.Context) (*state, error) {
	for {
		s, err := g.current(ctx)
		if err == nil && g.wanted()&^s.held == 0 {
			return s, nil
		}
		if err == nil || errors.Is(err, links.ErrLoading) {
			err = g.AwaitCells(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
}

// Capabilities returns the optional powers of the graph. Its epoch is in memory while the node is
// alone.
func (g *Graph) Capabilities() links.Capabilities {
	return links.Capabilities{Loader: g, Epoch: g, RemoteEpoch: g, Prefix: g, Partitions: g}
}

// say publishes the progress of the keeper.
func (g *Graph) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	g.progress.Store(&text)
}

// lastPages returns the last known number of pages.
func (g *Graph) lastPages() (n int) {
	if s := g.state.Load(); s != nil {
		for _, v := range s.views {
			n += v.NumPages()
		}
	}
	return n
}

// cellOptions returns the options of a cell.
func (g *Graph) cellOptions(r uid.Range, workers int) cell.Options {
	return cell.Options{Range: r, Lists: g.o.Lists, Workers: workers,
		Sketches: func(c *cell.Cell) ([]byte, error) { return makeSketches(c, g.hosts.forCall()) }}
}

// signal wakes all waiters of an event. A waiter must call wait before it checks its condition.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

func newSignal() *signal { return &signal{c: make(chan struct{})} }

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c
}

func (s *signal) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.c)
	s.c = make(chan struct{})
}

// publish shows the present deltas to readers, unless the position to hold is ahead.
func (k *keeper) publish() {
	k.follower.Reached(k.at)
	// 1. Readers keep the state before until the position to hold.
	if !k.hold.IsZero() {
		if !k.at.Reaches(k.hold) {
			return
		}
		k.hold = feed.Position{}
	}
	k.stores.mu.Lock()
	defer k.stores.mu.Unlock()
	// 2. Show the parts that are not ahead of the position.
	s := &state{graph: k.Graph, at: k.at, changes: k.changes, plain: k.plain}
	for _, p := range k.parts {
		s.kept = s.kept.with(partitionOf(p.First))
		if !p.ahead.IsZero() {
			if !k.at.Reaches(p.ahead) {
				continue
			}
			p.ahead = feed.Position{}
		}
		v := p.delta.View()
		if c := v.Cell(); c != p.sketched {
			p.sketched, p.sketches = c, openSketches(c)
		}
		s.parts, s.views, s.sketches = append(s.parts, p), append(s.views, v), append(s.sketches, p.sketches)
		s.held = s.held.with(partitionOf(p.First))
		s.mixed = s.mixed || !p.plain
	}
	s.stores = storesOf(s.views)
	k.state.Store(s)
	k.moved.send()
}

// await returns the state when it has reached a position.
func (g *Graph) await(ctx context.Context, at feed.Position) (*state, error) {
	for {
		moved := g.moved.wait()
		s := g.state.Load()
		switch err := g.failed(); {
		case g.ctx.Err() != nil:
			return nil, context.Cause(g.ctx)
		case err != nil:
			return nil, err // the state would become older and older
		case s == nil:
			return nil, links.ErrLoading
		case s.at.Reaches(at):
			return s, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-g.ctx.Done():
			return nil, context.Cause(g.ctx)
		}
	}
}

// current returns the state with all changes that were acknowledged before the call.
func (g *Graph) current(ctx context.Context) (*state, error) {
	at, err := g.ends.position(ctx, g)
	if err != nil {
		return nil, err
	}
	return g.await(ctx, at)
}
