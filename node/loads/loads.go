package loads

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/trie"
)

// Cluster is what this package needs of the member that it runs in.
type Cluster interface {
	Self() trie.MachineID
	Incarnation() uint64
	// View returns the adopted view; nil before the first.
	View() *view.View
	// Changed returns a channel that is closed when the next view is adopted.
	Changed() <-chan struct{}
	// Call sends a message to another member.
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	// Wish tells the leader what is asked for. It may be forgotten.
	Wish(ctx context.Context, w view.Wishes) error
	// Bytes returns about how much all members hold.
	Bytes(ctx context.Context) (int64, error)
}

// Options are the parameters of [New].
type Options struct {
	// Dir is where the runs of loads are, a directory of the operating system; "" is
	// loads/ in the store's directory.
	Dir string
	// MinSegmentBytes and MaxSegmentBytes bound the segments into which an empty
	// cluster is split for a load; 0 is 1 MiB and 64 MiB.
	MinSegmentBytes, MaxSegmentBytes int64
	// Logger says what goes wrong and is tried again; nil says nothing.
	Logger *slog.Logger
}

// Loads is one machine's part in bulk loads. Its methods may be called at the same
// time.
type Loads struct {
	store   *node.Store
	cluster Cluster
	options Options

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	incoming map[string]*incoming // by load, place and name
	local    map[string]int       // loads that run here: how many tries
}

// New returns the loads of a member.
func New(store *node.Store, c Cluster, o Options) *Loads {
	if o.Dir == "" {
		o.Dir = store.Sink().Dir()
	}
	if o.MinSegmentBytes <= 0 {
		o.MinSegmentBytes = 1 << 20
	}
	if o.MaxSegmentBytes <= 0 {
		o.MaxSegmentBytes = max(64<<20, o.MinSegmentBytes)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	l := &Loads{store: store, cluster: c, options: o, incoming: map[string]*incoming{}, local: map[string]int{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Methods of this package between nodes.
const (
	methodRows = "loads/rows"
	methodSeal = "loads/seal"
)

// Register makes a server answer what owners are asked.
func (l *Loads) Register(s *peer.Server) {
	s.Handle(methodRows, l.handleRows)
	s.Handle(methodSeal, l.handleSeal)
}

// Close ends what goes on, and gives up tables that are not complete.
func (l *Loads) Close() {
	l.stop()
	l.mu.Lock()
	l.closed = true
	open := l.incoming
	l.incoming = map[string]*incoming{}
	l.mu.Unlock()
	for _, in := range open {
		in.abort()
	}
	l.running.Wait()
}

// Sink returns what a load is given to. Each load needs its own.
func (l *Loads) Sink() rdfload.Spread { return &sink{loads: l} }

// Adopt does what must be done for a view before anything of it is applied: the
// store learns of the loads in it, and takes in those that are sealed here. It is
// called within the gate.
func (l *Loads) Adopt(v *view.View) error {
	if err := l.store.SetLoads(v.LoadEpochs()); err != nil {
		return err
	}
	staged, err := l.store.Staged()
	if err != nil {
		return err
	}
	for _, id := range staged {
		if load := v.Load(id); load != nil && load.Epoch != 0 {
			if err := l.store.TakeIn(l.ctx, id, load.Number, load.Tables); err != nil {
				return err
			}
		}
	}
	load := v.Ingesting()
	if load == nil || !v.Base.Placement.Machines().Contains(l.cluster.Self()) {
		return nil
	}
	taken, err := l.store.TakenIn(load.Number)
	if err == nil && !taken {
		err = fmt.Errorf("%w: the tables of bulk load %s are gone from this disk", node.ErrCorrupt, load.ID)
	}
	return err
}

// Clean removes what is left of loads that are over, and tells the leader of those
// that this machine began and cannot go on with. It returns soon.
func (l *Loads) Clean(ctx context.Context, v *view.View) error {
	l.abortStale(v)
	staged, err := l.store.Staged()
	if err != nil {
		return err
	}
	for _, id := range staged {
		load := v.Load(id)
		if load != nil && load.Epoch == 0 {
			continue
		}
		if err := l.store.DropStaged(id); err != nil {
			return err
		}
	}
	var own []string
	for i := range v.Loads {
		if load := &v.Loads[i]; load.Epoch == 0 && load.Coordinator == l.cluster.Self() && !l.runs(load.ID) {
			own = append(own, load.ID)
		}
	}
	if len(own) == 0 {
		return nil
	}
	kept, err := rdfload.Clean(l.options.Dir)
	if err != nil {
		return err
	}
	own = slices.DeleteFunc(own, func(id string) bool { return slices.Contains(kept, id) || l.runs(id) })
	if len(own) == 0 {
		return nil
	}
	return l.cluster.Wish(ctx, view.Wishes{Drop: own})
}

// Staging returns the ids of the loads that this process makes.
func (l *Loads) Staging() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.local))
}

// runs reports whether a load is being made by this process.
func (l *Loads) runs(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.local[id] > 0
}

func (l *Loads) count(id string, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.local[id] += by; l.local[id] == 0 {
		delete(l.local, id)
	}
}

// askAgain is how long a wish waits to be asked again.
const askAgain = 500 * time.Millisecond

// until waits until done says so of the adopted view. Until then it tells the
// leader what ask returns of the view, after each change and from time to time;
// nil asks for nothing.
func (l *Loads) until(ctx context.Context, ask func(*view.View) view.Wishes, done func(*view.View) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(node.ErrClosed) })()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		changed := l.cluster.Changed()
		v := l.cluster.View()
		if v != nil && v.Has(l.cluster.Self(), l.cluster.Incarnation()) {
			if ok, err := done(v); ok || err != nil {
				return err
			}
			if ask != nil {
				if err := l.cluster.Wish(ctx, ask(v)); err != nil {
					l.options.Logger.Debug("the leader has not heard a wish", "error", err)
				}
			}
		}
		timer.Reset(askAgain)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-timer.C:
		}
	}
}

var errGone = errors.New("its tables are not there any more")
