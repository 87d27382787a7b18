// Graph: its state, opening and closing.

package linkgraph

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"

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

// Graph is the graph of the links in a store on a lone node. It implements links.Graph. Its
// methods are safe for concurrent use.
type Graph struct {
	store *store.Store
	o     Options
	log   logger
	hosts *hosts

	ctx     context.Context // ends with the graph
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	// state is the graph that readers see. It is nil until the cells have the feed as it was
	// when the graph was opened, because that was acknowledged before a restart.
	state  atomic.Pointer[state]
	opened uint64
	// loaded is closed when the first state is published.
	loaded   chan struct{}
	moved    *signal // sent when a state is published
	progress atomic.Pointer[string]
	failure  atomic.Pointer[error] // the keeper's last error, nil while it makes progress

	// assigning must be held while UIDs are assigned, and must be taken before updating.
	assigning sync.Mutex
	assigner  assigner

	// known is replaced if UIDs may have been forgotten. That must be after the state without
	// them is published.
	known atomic.Pointer[known]
	// changing is held exclusively by changes that depend on a read, and shared by other
	// changes.
	changing sync.RWMutex

	wishes chan wish // requests of readers to the keeper
	ranks  ranks
}

// state is the graph after some request in the feed. It is immutable.
type state struct {
	parts    []*part       // by range; together they have all slots
	views    []*delta.View // of parts
	sketches []*[2]*sample.Table
	feed     uint64 // it has the feed up to this sequence
}

// part is a cell, and its changes since it was built.
type part struct {
	uid.Range
	delta *delta.Delta
	// Only the keeper uses what follows.
	file     string // the cell's file, "" if it has none
	sketched *cell.Cell
	sketches *[2]*sample.Table // of the cell sketched
	saved    uint64            // epoch of the delta up to which rows are on disk
	failed   bool              // the last attempt to build it again failed
}

// find returns the index of the part with a UID.
func (s *state) find(u uid.UID) int {
	return sort.Search(len(s.parts)-1, func(i int) bool { return s.parts[i].Last >= u })
}

// view returns the view with a UID.
func (s *state) view(u uid.UID) *delta.View { return s.views[s.find(u)] }

// viewOf returns the view with the pages of a host.
func (s *state) viewOf(hostKey string) *delta.View {
	return s.view(uid.Make(uid.SlotOf(hostKey), 1, 0))
}

// lookUp returns the UID of a page, if the page is in a cell or its delta.
func (s *state) lookUp(url string) (uid.UID, bool) { return s.viewOf(weburl.HostKey(url)).Find(url) }

// Open returns the graph of a store. It reads or builds the cells in the background; see
// Graph.Request. The graph must be closed before the store.
func Open(db *store.Store, o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	o = o.withDefaults(db.Dir())
	if err := o.makeDir(); err != nil {
		return nil, fmt.Errorf("open the link graph: %w", err)
	}
	g := &Graph{
		store: db, o: o, log: logger{o.Logger}, hosts: newHosts(),
		loaded: make(chan struct{}), moved: newSignal(), wishes: make(chan wish),
		assigner: assigner{store: db},
	}
	g.known.Store(newKnown())
	g.opened, _ = db.ChangeFeed().End()
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	g.running.Go(g.keep)
	g.openRanks()
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

// ErrMember is returned if the store has become one machine of a cluster, because the graph
// would have that machine's part only.
var ErrMember = fmt.Errorf("%w: links are served by a node that is alone", store.ErrMember)

// now returns the published state, or an error if there is none or it is out of date.
func (g *Graph) now(ctx context.Context) (*state, error) {
	if _, member := g.store.Identity(); member {
		return nil, ErrMember
	}
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	if err := g.failed(); err != nil {
		return nil, err // the state would become older and older
	}
	if s := g.state.Load(); s != nil {
		return s, nil
	}
	return nil, links.ErrLoading
}

// failed returns the keeper's error; nil while it makes progress.
func (g *Graph) failed() error {
	if err := g.failure.Load(); err != nil {
		return fmt.Errorf("%w (%w)", links.ErrLoading, *err)
	}
	return nil
}

// Request implements links.Graph: it waits until the graph is loaded.
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

// Relinquish implements links.Graph. It does nothing: cells stay in memory, because a read from
// disk would need the whole cell.
func (g *Graph) Relinquish(ctx context.Context) error { return ctx.Err() }

// Capabilities returns the optional powers of a store's graph. Its epoch is in memory.
func (g *Graph) Capabilities() links.Capabilities {
	return links.Capabilities{Loader: g, Epoch: g, Prefix: g}
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
	return cell.Options{Range: r, Lists: g.o.Lists, URLs: g.o.URLs, Workers: workers,
		Sketches: func(c *cell.Cell) ([]byte, error) { return makeSketches(c, g.hosts) }}
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

// publish shows the present deltas to readers. They have taken in the feed up to the given
// sequence.
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

// caughtUp waits until readers see everything that is in the store now.
func (g *Graph) caughtUp(ctx context.Context) (*state, error) {
	feed, _ := g.store.ChangeFeed().End()
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
