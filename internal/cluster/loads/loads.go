// The type Loads: a member's part in bulk loads besides rows.

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

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
)

// Leader is the leader of the cluster, on whichever machine it runs.
type Leader interface {
	// Wish sends the wishes of loads to the leader. The leader may forget them, so a caller must
	// repeat each until a view shows the effect.
	Wish(ctx context.Context, w view.Wishes) error
	// Bytes returns about how many bytes all members store.
	Bytes(ctx context.Context) (int64, error)
}

// Options are the parameters of [New].
type Options struct {
	// Dir is the directory of runs, in the file system of the operating system. "" is loads/
	// in the store's directory.
	Dir string
	// MinSegmentBytes and MaxSegmentBytes bound the segments of an empty cluster when it is split
	// for a load; 0 is 1 MiB and 64 MiB.
	MinSegmentBytes, MaxSegmentBytes int64
	// Logger logs a failure before its retry; nil logs nothing.
	Logger *slog.Logger
}

// Loads is one machine's part in bulk loads. Its methods may be called at the same time.
type Loads struct {
	store   *replica.Store
	member  member.Member
	leader  Leader
	self    member.Process
	options Options

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	incoming map[string]*incoming // by load, place and name
	local    map[string]int       // number of tries of each load that runs here
}

// New returns the loads of the member with process self.
func New(db *replica.Store, m member.Member, leader Leader, self member.Process, o Options) *Loads {
	if o.Dir == "" {
		o.Dir = db.Sink().Dir()
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
	l := &Loads{store: db, member: m, leader: leader, self: self, options: o, incoming: map[string]*incoming{}, local: map[string]int{}}
	l.ctx, l.stop = context.WithCancel(context.Background())
	return l
}

// Methods between members.
const (
	methodRows = "loads/rows"
	methodSeal = "loads/seal"
)

// Register adds the methods of an owner to a server.
func (l *Loads) Register(s *peer.Server) {
	s.Handle(methodRows, l.handleRows)
	s.Handle(methodSeal, l.handleSeal)
}

// Close ends all loads, and drops incomplete tables.
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

// Sink returns a sink for one load. Each load needs its own.
func (l *Loads) Sink() rdfload.Sink { return &sink{loads: l} }

// Adopt prepares the store for a view, before any operation of the view is applied. It records
// the loads of the view, and ingests those sealed here. The caller must hold the gate.
func (l *Loads) Adopt(v *view.View) error {
	if err := l.store.SetLoads(v.LoadEpochs()); err != nil {
		return err
	}
	// 1. Ingest the sealed tables of published loads.
	staged, err := l.store.Staging().Loads()
	if err != nil {
		return err
	}
	for _, id := range staged {
		if load := v.Load(id); load != nil && load.Epoch != 0 {
			if err := l.store.Staging().TakeIn(l.ctx, id, load.Number, load.Tables); err != nil {
				return err
			}
		}
	}
	// 2. In phase ingest a machine of the ring must have ingested the load.
	load := v.Ingesting()
	if load == nil || !v.Base.Placement.Machines().Contains(l.self.Machine) {
		return nil
	}
	taken, err := l.store.Staging().Taken(load.Number)
	if err == nil && !taken {
		err = fmt.Errorf("%w: the tables of bulk load %s are gone from this disk", store.ErrCorrupt, load.ID)
	}
	return err
}

// Clean deletes the tables of ended loads. It asks the leader to drop a load if this machine
// began it and cannot continue. It returns soon.
func (l *Loads) Clean(ctx context.Context, v *view.View) error {
	// 1. Drop tables if their load is published or dropped.
	l.abortStale(v)
	staged, err := l.store.Staging().Loads()
	if err != nil {
		return err
	}
	for _, id := range staged {
		load := v.Load(id)
		if load != nil && load.Epoch == 0 {
			continue
		}
		if err := l.store.Staging().Drop(id); err != nil {
			return err
		}
	}
	// 2. Drop own loads if they do not run and have no runs.
	var own []string
	for i := range v.Loads {
		if load := &v.Loads[i]; load.Epoch == 0 && load.Coordinator == l.self.Machine && !l.runs(load.ID) {
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
	return l.leader.Wish(ctx, view.Wishes{Drop: own})
}

// Staging returns the IDs of the loads running in this process.
func (l *Loads) Staging() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.local))
}

// runs reports whether a load runs in this process.
func (l *Loads) runs(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.local[id] > 0
}

// count changes the number of tries of a load by some.
func (l *Loads) count(id string, by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.local[id] += by; l.local[id] == 0 {
		delete(l.local, id)
	}
}

// wishInterval is the interval between repeated wishes.
const wishInterval = 500 * time.Millisecond

// waitView waits until done returns true for the adopted view. Until then it sends the leader the result
// of wish, after each change of the view and every wishInterval; if wish is nil, it sends nothing.
func (l *Loads) waitView(ctx context.Context, wish func(*view.View) view.Wishes, done func(*view.View) (bool, error)) error {
	return l.untilOr(ctx, false, wish, done)
}

// untilOr is waitView, but with needsLeader it returns a [store.ErrUnavailable] if this member is
// isolated.
func (l *Loads) untilOr(ctx context.Context, needsLeader bool, wish func(*view.View) view.Wishes, done func(*view.View) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(store.ErrClosed) })()
	for {
		v := l.member.View()
		if l.self.IsMember(v) {
			if ok, err := done(v); ok || err != nil {
				return err
			}
			if wish != nil {
				if err := l.leader.Wish(ctx, wish(v)); err != nil {
					l.options.Logger.Debug("the leader has not heard a wish", "error", err)
				}
			}
		}
		if err := l.pause(ctx, v, wishInterval, needsLeader); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// pause returns when another view than v is adopted, after d, or when ctx ends. If no view
// can come because this member is isolated, it returns the reason at once with needsLeader,
// and waits for d otherwise.
func (l *Loads) pause(ctx context.Context, v *view.View, d time.Duration, needsLeader bool) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := l.member.Newer(ctx, v)
	if needsLeader && errors.Is(err, store.ErrUnavailable) {
		return err
	}
	if err != nil {
		<-ctx.Done() // Newer may fail at once: its caller must not spin
	}
	return nil
}

var errGone = errors.New("its tables are not there any more")
