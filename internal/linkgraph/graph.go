// Graph: its state, opening and closing.

package linkgraph

import (
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
)

const application = links.Application

func decodeLabel(data []byte) (cell.Label, error) { return lists.DecodeLabel(data) }

// Graph is the graph of the links of a store or of a whole cluster, as one machine answers for
// it. It implements links.Graph. Its methods are safe for concurrent use.
//
// A machine follows the feed, builds and copies cells, answers reads and queries, assigns UIDs, replaces
// lists and computes PageRank, all at the same time. So each field has one owner, each owner one lock,
// and calls go to owners above it only:
//
//	machine      node, options, life; the placement of the last view
//	forms        in which form the store has UIDs; moves those of earlier releases
//	hosts        hosts of extents, for samples
//	board        the published state, and why there is no newer one
//	router       what other machines hold, and which are down; queries of them
//	assigner     the numbers in use, the epoch as primary; the UIDs of recent pages
//	cellMaker    nothing: it makes cells from rows
//	files        the directory of cells, rows and their listing
//	stores       which parts of cells are in memory
//	keeper       the cells, the deltas, the position in the feed
//	loader       the lock of reads that load stores
//	placer       nothing: it compares what is held with what must be held
//	reader       nothing: it reads a state, or gathers from machines
//	writer       the lock between changes that depend on a read and others
//	replacer     the locks of replacements, by partition of the page
//	ranker       the record of the PageRank job, frozen cells, a term, scores
//	coordinator  nothing: it carries the record from step to step
//	server       the exports that other machines copy
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
	*machine
	*board
	*reader
	*replacer
	*coordinator

	forms    *forms
	hosts    *hosts
	router   *router
	assigner *assigner
	cells    *cellMaker
	files    *files
	stores   *stores
	keeper   *keeper
	loader   *loader
	placer   *placer
	sampler  *sampler
	writer   *writer
	ranker   *ranker
	server   *server
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
	g := newGraph(newMachine(n, o))
	g.server.handle()
	g.running.Go(g.keeper.keep)
	g.running.Go(g.placer.place)
	g.ranker.openRanks()
	g.running.Go(g.coordinator.keepRanks)
	return g, nil
}

// newGraph puts the parts of a graph together. Each has only parts above it.
func newGraph(m *machine) *Graph {
	g := &Graph{machine: m}
	// 1. What is read.
	g.forms = newForms(m)
	g.hosts = newHosts(g.forms.findHosts)
	g.board = newBoard(m)
	g.router = &router{machine: m, board: g.board}
	g.assigner = newAssigner(g.forms, g.hosts, g.router)
	// 2. Cells. The loader of a state needs the keeper that publishes it.
	g.cells = &cellMaker{machine: m, forms: g.forms, hosts: g.hosts, board: g.board, router: g.router, assigner: g.assigner}
	g.files = &files{m}
	g.stores = &stores{board: g.board}
	g.keeper = &keeper{machine: m, forms: g.forms, hosts: g.hosts, board: g.board, assigner: g.assigner, cells: g.cells, files: g.files, stores: g.stores,
		wishes: make(chan wish), rebuilt: make(chan rebuilt, 1)}
	g.loader = &loader{machine: m, board: g.board, stores: g.stores, keeper: g.keeper, loading: newLock()}
	g.placer = &placer{machine: m, hosts: g.hosts, board: g.board, router: g.router, cells: g.cells, keeper: g.keeper, placing: make(chan struct{}, 1)}
	g.keeper.loader, g.keeper.wakePlacer = g.loader, g.placer.wakePlacer
	// 3. Calls of users, and queries of other machines.
	g.sampler = &sampler{g.hosts}
	g.reader = &reader{machine: m, forms: g.forms, board: g.board, router: g.router, sampler: g.sampler}
	g.writer = &writer{machine: m, forms: g.forms, board: g.board, router: g.router, assigner: g.assigner, reader: g.reader}
	g.replacer = newReplacer(g.writer)
	g.ranker = newRanker(g.keeper)
	g.coordinator = &coordinator{machine: m, forms: g.forms, board: g.board, router: g.router, keeper: g.keeper, reader: g.reader, ranker: g.ranker}
	g.server = &server{machine: m, board: g.board, assigner: g.assigner, loader: g.loader, sampler: g.sampler, replacer: g.replacer, coordinator: g.coordinator}
	return g
}

// Close stops the background work and waits for it.
func (g *Graph) Close() error {
	g.close()
	return nil
}

// Capabilities returns the optional powers of the graph. Its epoch is in memory while the node is
// alone.
func (g *Graph) Capabilities() links.Capabilities {
	return links.Capabilities{Loader: g, Epoch: g, RemoteEpoch: g, Prefix: g, Partitions: g}
}
