// Graph: its state, opening and closing.

package linkgraph

import (
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/build"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerank"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/read"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/linkgraph/update"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// Graph is the graph of the links of a store or of a whole cluster, as one machine answers for
// it. It implements links.Graph. Its methods are safe for concurrent use.
//
// A machine follows the feed, builds and copies cells, answers reads and queries, assigns UIDs, replaces
// lists and computes PageRank, all at the same time. So each field has one owner, each owner one lock,
// and calls go to owners above it only:
//
//	machine.Machine       node, options, life; the placement of the last view
//	pagerows.Hosts        hosts of extents, for samples
//	state.Board           the published state, and why there is no newer one
//	route.Router          what other machines hold, and which are down; queries of them
//	assign.Assigner       the numbers in use, the epoch as primary; the UIDs of recent pages
//	build.Maker           nothing: it makes cells from rows
//	keep.Files            the directory of cells, rows and their listing
//	keep.Stores           which parts of cells are in memory
//	keep.Keeper           the cells, the deltas, the position in the feed
//	keep.Loader           the lock of reads that load stores
//	keep.Placer           nothing: it compares what is held with what must be held
//	read.Reader           nothing: it reads a state, or gathers from machines
//	update.Writer         the lock between changes that depend on a read and others
//	update.Replacer       the locks of replacements, by partition of the page
//	pagerank.Ranker       the record of the PageRank job, frozen cells, a term, scores
//	pagerank.Coordinator  nothing: it carries the record from step to step
//	server                the exports that other machines copy
//
// Two calls go down. The keeper wakes the placer when it drops partitions, and a state has its loader:
// newGraph sets both.
//
// Invariants:
//
//   - The keeper's goroutine alone changes cells. Others send it a function, a wish, and wait.
//   - A published state is immutable, and has every change up to its position. Positions only grow.
//   - A read sees what was acknowledged before it began, on whatever machine.
//   - Under one view a partition has one primary. It alone assigns UIDs and replaces lists, in writes that
//     are fenced to the epoch of the view.
//   - Locks are taken in this order: replacing, assigning, changing; stores.mu last, and for moments.
//
// The protocol, in short:
//
//	keep:   loop { apply the next changes to deltas, or a wish; build, save, unload; publish }
//	place:  loop { want = partitions under the view - kept
//	               copy each from a machine that has it, else build it as its primary
//	               drop what others must hold and have }
//	read:   at = end of the feed
//	        s = state that has reached at; answer if s holds all partitions of the request
//	        else send each machine its partitions and at; retry elsewhere, under another view
//	update: UIDs for new pages from their primaries; check, then write triples; wait for the epoch
//	rank:   all freeze; loop { give partitions to machines that have frozen them; rounds }
//	        until no machine is lost; all copy the scores
type Graph struct {
	*machine.Machine
	*state.Board
	*read.Reader
	*update.Replacer
	*pagerank.Coordinator

	hosts    *pagerows.Hosts
	router   *route.Router
	assigner *assign.Assigner
	cells    *build.Maker
	files    *keep.Files
	stores   *keep.Stores
	keeper   *keep.Keeper
	loader   *keep.Loader
	placer   *keep.Placer
	sampler  *read.Sampler
	writer   *update.Writer
	ranker   *pagerank.Ranker
	server   *server
}

// Open returns the graph of a store that stays alone. It reads or builds the cells in the
// background; see Graph.AwaitCells. The graph must be closed before the store.
func Open(db *store.Store, o machine.Options) (*Graph, error) {
	if o.Dir == "" {
		o.Dir = filepath.Join(db.Dir(), "links")
	}
	return OpenNode(derived.Lone{Store: db}, o)
}

// OpenNode returns the graph of a node, which may be a member of a cluster or become one. Dir of
// the options must be set. The graph must be closed before the node.
func OpenNode(n derived.Node, o machine.Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	o = o.WithDefaults()
	if err := o.MakeDir(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g := newGraph(machine.NewMachine(n, o))
	g.server.handle()
	g.Running.Go(g.keeper.Keep)
	g.Running.Go(g.placer.Place)
	g.ranker.OpenRanks()
	g.Running.Go(g.Coordinator.KeepRanks)
	return g, nil
}

// newGraph puts the parts of a graph together. Each has only parts above it.
func newGraph(m *machine.Machine) *Graph {
	g := &Graph{Machine: m}
	// 1. What is read.
	g.hosts = pagerows.NewHosts(func(extents []uid.Extent) (map[uid.Extent]string, error) {
		return pagerows.FindHosts(m.Context, m.Node, extents)
	})
	g.Board = state.NewBoard(m)
	g.router = route.NewRouter(m, g.Board)
	g.assigner = assign.NewAssigner(g.hosts, g.router)
	// 2. Cells. The loader of a state needs the keeper that publishes it.
	g.cells = &build.Maker{Machine: m, Hosts: g.hosts, Board: g.Board, Router: g.router, Assigner: g.assigner}
	g.files = &keep.Files{Machine: m}
	g.stores = &keep.Stores{Board: g.Board}
	g.keeper = &keep.Keeper{Machine: m, Hosts: g.hosts, Board: g.Board, Assigner: g.assigner, Cells: g.cells, Files: g.files, Stores: g.stores,
		Wishes: make(chan keep.Wish), Rebuilt: make(chan keep.Rebuilt, 1)}
	g.loader = &keep.Loader{Machine: m, Board: g.Board, Stores: g.stores, Keeper: g.keeper, Loading: derived.NewLock()}
	g.placer = &keep.Placer{Machine: m, Hosts: g.hosts, Board: g.Board, Router: g.router, Cells: g.cells, Keeper: g.keeper, Placing: notify.NewWake()}
	g.keeper.Loader, g.keeper.WakePlacer = g.loader, g.placer.Placing.Send
	// 3. Calls of users, and queries of other machines.
	g.sampler = &read.Sampler{Hosts: g.hosts}
	g.Reader = &read.Reader{Machine: m, Board: g.Board, Router: g.router, Sampler: g.sampler}
	g.writer = &update.Writer{Machine: m, Board: g.Board, Router: g.router, Assigner: g.assigner, Reader: g.Reader}
	g.Replacer = update.NewReplacer(g.writer)
	g.ranker = pagerank.NewRanker(g.keeper)
	g.Coordinator = &pagerank.Coordinator{Machine: m, Board: g.Board, Router: g.router, Keeper: g.keeper, Reader: g.Reader, Ranker: g.ranker}
	g.server = &server{Machine: m, board: g.Board, assigner: g.assigner, loader: g.loader, sampler: g.sampler, replacer: g.Replacer, coordinator: g.Coordinator}
	return g
}

var _ links.Graph = (*Graph)(nil)

// Follower returns the follower of the change feed.
func (g *Graph) Follower() *feed.Follower { return g.Board.Follower }

// Close stops the background work and waits for it.
func (g *Graph) Close() error {
	g.Stop()
	return nil
}

// Capabilities returns the optional powers of the graph. Its epoch is in memory while the node is
// alone.
func (g *Graph) Capabilities() links.Capabilities {
	return links.Capabilities{Loader: g, Epoch: g, RemoteEpoch: g, Prefix: g, Partitions: g}
}
