package links

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/node"
)

const application = links.Application

func decodeLabel(data []byte) (cell.Label, error) { return lists.DecodeLabel(data) }

// Graph is the graph of the links in a store that is alone. It implements
// links.Graph. Its methods may be called at the same time.
type Graph struct {
	store *node.Store
	o     Options
	log   logger
	hosts *hosts

	ctx     context.Context // ends with the graph
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	// state is what readers see; nil until the cells are there, with all that was in the
	// feed when the graph was opened: what was acknowledged before a restart.
	state  atomic.Pointer[state]
	opened uint64
	// loaded is closed when the cells are there, or when err is set.
	loaded   chan struct{}
	moved    *signal // a state was published
	progress atomic.Pointer[string]
	failure  atomic.Pointer[error] // the last one of the keeper, nil while it gets on

	// assigning is held by whoever gives UIDs, and is taken before updating.
	assigning sync.Mutex
	assigner  assigner

	// known is replaced where UIDs may have been forgotten: after the state is published
	// that says so.
	known atomic.Pointer[known]
	// changing is held by who reads what is there to change it, and shared by those who
	// change without reading.
	changing sync.RWMutex

	wishes chan wish // of readers, for the keeper
	ranks  ranks
}

// state is the graph after some entry of the feed. It does not change.
type state struct {
	parts    []*part       // by range; all slots together
	views    []*delta.View // of parts
	sketches []*[2]*sample.Table
	feed     uint64 // the last entry that is in it
}

// part is a cell, and what changed since it was built.
type part struct {
	uid.Range
	delta *delta.Delta
	// What follows is the keeper's.
	file     string // that holds the cell, "" where none does
	sketched *cell.Cell
	sketches *[2]*sample.Table // of the cell sketched
	saved    uint64            // epoch of the delta up to which rows are on the disk too
	failed   bool              // the last try to build it anew failed
}

// find returns the part that has a UID.
func (s *state) find(u uid.UID) int {
	return sort.Search(len(s.parts)-1, func(i int) bool { return s.parts[i].Last >= u })
}

// view returns the view that has a UID.
func (s *state) view(u uid.UID) *delta.View { return s.views[s.find(u)] }

// viewOf returns the view that has the pages of a host.
func (s *state) viewOf(hostKey string) *delta.View {
	return s.view(uid.Make(uid.SlotOf(hostKey), 1, 0))
}

// lookUp returns the UID of a page that is in a cell or its delta.
func (s *state) lookUp(url string) (uid.UID, bool) { return s.viewOf(weburl.HostKey(url)).Find(url) }

// Open returns the graph of a store, whose feed must watch the predicate. It reads or
// builds the cells beside, see Graph.Request. Close it before the store.
func Open(store *node.Store, o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	o = o.withDefaults(store.Dir())
	if err := o.makeDir(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g := &Graph{
		store: store, o: o, log: logger{o.Logger}, hosts: newHosts(),
		loaded: make(chan struct{}), moved: newSignal(), wishes: make(chan wish),
		assigner: assigner{store: store},
	}
	g.known.Store(newKnown())
	g.opened, _ = store.FeedEnd()
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	g.running.Go(g.keep)
	g.openRanks()
	return g, nil
}

// errClosed is what readers get after Close.
var errClosed = fmt.Errorf("the link graph: %w", node.ErrClosed)

// Close ends the graph.
func (g *Graph) Close() error {
	g.cancel(errClosed)
	g.running.Wait()
	return nil
}

// ErrMember is what a graph says whose store has become one machine of a cluster: it
// would be of that machine's part alone.
var ErrMember = fmt.Errorf("%w: links are served by a node that is alone", node.ErrMember)

// now returns what there is, once it is there.
func (g *Graph) now(ctx context.Context) (*state, error) {
	if _, member := g.store.Identity(); member {
		return nil, ErrMember
	}
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	if err := g.failed(); err != nil {
		return nil, err // what there is would be older and older
	}
	if s := g.state.Load(); s != nil {
		return s, nil
	}
	return nil, links.ErrLoading
}

// failed returns why the keeper does not get on; nil while it does.
func (g *Graph) failed() error {
	if err := g.failure.Load(); err != nil {
		return fmt.Errorf("%w (%w)", links.ErrLoading, *err)
	}
	return nil
}

// Request implements links.Graph.
func (g *Graph) Request(ctx context.Context) error {
	for {
		moved := g.moved.wait()
		if err := g.failed(); err != nil {
			return err
		}
		select {
		case <-g.loaded:
			return nil
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-g.ctx.Done():
			return context.Cause(g.ctx)
		}
	}
}

// Relinquish implements links.Graph. Cells of a machine stay in memory: one that
// came back would be read from the disk as a whole.
func (g *Graph) Relinquish(ctx context.Context) error { return ctx.Err() }

// say says how far the keeper is.
func (g *Graph) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	g.progress.Store(&text)
}

// lastPages returns how many pages there were when it was last known.
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
	return cell.Options{Range: r, Lists: g.o.Lists, URLs: g.o.URLs, Workers: workers,
		Sketches: func(c *cell.Cell) ([]byte, error) { return makeSketches(c, g.hosts) }}
}

// signal tells those who wait that something has happened.
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

// publish makes the deltas as they are now, which have taken in the feed up to an
// entry, what readers see.
func (g *Graph) publish(parts []*part, feed uint64) {
	if feed < g.opened {
		return
	}
	s := &state{parts: parts, views: make([]*delta.View, len(parts)), sketches: make([]*[2]*sample.Table, len(parts)), feed: feed}
	for i, p := range parts {
		s.views[i] = p.delta.View()
		if c := s.views[i].Cell(); c != p.sketched {
			p.sketched, p.sketches = c, openSketches(c)
		}
		s.sketches[i] = p.sketches
	}
	first := g.state.Swap(s) == nil
	if first {
		close(g.loaded)
	}
	g.moved.send()
}

// caughtUp waits until readers see all that is in the store now.
func (g *Graph) caughtUp(ctx context.Context) (*state, error) {
	feed, _ := g.store.FeedEnd()
	for {
		moved := g.moved.wait()
		if s := g.state.Load(); s != nil && s.feed >= feed {
			return s, nil
		}
		if err := g.failed(); err != nil {
			return nil, err
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
