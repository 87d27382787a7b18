// Index: its state, opening and closing, and the goroutine that tends it.

package textsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
)

// Options are the options of [Open].
type Options struct {
	// Dir is the directory of the files. It is created if it is missing.
	Dir string
	// Memory bounds the bytes of the segments on this machine without their documents; 0 is no bound. If they do not
	// fit, searches are refused.
	Memory int64
	// BuildMemory is about how many bytes a build may use beside its segments; 0 is 256 MiB.
	BuildMemory int64
	// Workers is the number of goroutines of a build; 0 is one for each processor.
	Workers int
	// TendEvery is how often the feed is followed while nothing is searched; 0 is a second.
	TendEvery time.Duration
	// Logger receives messages; nil discards them.
	Logger *slog.Logger

	maxChanges int // of documents that are applied at a time; tests have a small one
}

// Errors of searches; test with [errors.Is].
var (
	// ErrNotIndexed: no predicate is indexed, or not the requested one.
	ErrNotIndexed = errors.New("there is no text index")
	// ErrBuilding: the index is being built. The caller may retry.
	ErrBuilding = errors.New("the text index is being built")
	// ErrTooSlow: the search took longer than it may.
	ErrTooSlow = errors.New("the text search takes too long")
	// ErrTooLarge: the index does not fit into its memory.
	ErrTooLarge = errors.New("the text index is too large")
)

// Index is the text index of a store or of a whole cluster, as one machine answers for it. It is safe for concurrent
// use, and must be closed before its node.
type Index struct {
	*derived.Member
	peers *derived.Peers
	o     Options

	follower *feed.Follower
	changing derived.Lock // held while a goroutine changes the state
	scanning derived.Lock // held while a search reads literals without an index
	state    atomic.Pointer[state]
	moved    notify.Broadcast      // sent when a state is published, or tending it has failed
	failure  atomic.Pointer[error] // why the last attempt to tend the index failed
	waking   notify.Wake           // of the goroutine that tends the index

	following derived.Shared[struct{}] // the runs of follow that searches wait for

	analyzers sync.Pool
	// Only the goroutine that holds changing uses these.
	analyzer *textindex.Analyzer
	files    files
	// Only the goroutine that tends the index uses pauses, which are by predicate.
	pauses   map[string]pause
	searches atomic.Int64
	// lateCandidates is when the last call of Candidates began that took too long.
	lateCandidates atomic.Pointer[time.Time]
	builds         atomic.Int64
}

// state is the index of this machine at a position of the feed. It is immutable.
type state struct {
	at     feed.Position
	layout layout
	settings
	complete map[string]derived.Partitions // that are built, by predicate
	parts    []*part
}

// part is a segment with its deletions. The pointer identifies it.
type part struct{ *textindex.Part }

func (p *part) partition() int { return int(p.Partition()) }

// bytes returns the memory of the segments.
func (s *state) bytes() (n int64) {
	for _, p := range s.parts {
		n += int64(len(p.Body()))
		for _, g := range p.Gone {
			n += int64(len(g.Body()))
		}
	}
	return n
}

// completePartitions returns the partitions that have all of the predicates.
func (s *state) completePartitions() derived.Partitions {
	all := s.layout.all()
	for _, p := range s.predicates {
		all &= s.complete[p]
	}
	return all
}

// withAny returns the partitions that have any of the predicates.
func (s *state) withAny() (any derived.Partitions) {
	for _, set := range s.complete {
		any |= set
	}
	return any
}

// clone returns a copy to be changed.
func (s *state) clone() *state {
	other := *s
	other.complete = make(map[string]derived.Partitions, len(s.complete))
	maps.Copy(other.complete, s.complete)
	other.parts = slices.Clone(s.parts)
	return &other
}

// drop removes predicates, or partitions of them.
func (s *state) drop(remove func(predicate string, partition int) bool) {
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool { return remove(p.Predicate(), p.partition()) })
	for predicate, set := range s.complete {
		for i := range 1 << s.layout {
			if remove(predicate, i) {
				set &^= 1 << i
			}
		}
		if s.complete[predicate] = set; set == 0 {
			delete(s.complete, predicate)
		}
	}
}

// Open returns the index of a store that stays alone.
func Open(db *store.Store, o Options) (*Index, error) { return OpenNode(derived.Lone{Store: db}, o) }

// OpenNode returns the index of a node, which may be a member of a cluster or become one. It is read from its files
// or built in the background.
func OpenNode(n derived.Node, o Options) (*Index, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Workers <= 0 {
		o.Workers = processors.Count()
	}
	if o.BuildMemory <= 0 {
		o.BuildMemory = 256 << 20
	}
	if o.TendEvery <= 0 {
		o.TendEvery = time.Second
	}
	if o.maxChanges <= 0 {
		o.maxChanges = maxChanges
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("open the text index: %w", err)
	}
	member := derived.NewMember(n, derived.Index{Name: "the text index", Dir: o.Dir, Logger: o.Logger, Place: placementOf, LoneTimeout: searchTimeout})
	x := &Index{Member: member, o: o, follower: feed.NewFollower("text", nil), changing: derived.NewLock(), scanning: derived.NewLock(), waking: notify.NewWake(), pauses: map[string]pause{}, analyzer: textindex.NewAnalyzer()}
	x.analyzers.New = func() any { return textindex.NewAnalyzer() }
	x.peers = x.newPeers()
	x.handle()
	x.Running.Go(x.tend)
	return x, nil
}

// Close ends the background work, and writes the files.
func (x *Index) Close() error {
	x.Stop()
	return nil
}

// tend follows the feed and builds what is missing, until the index is closed.
func (x *Index) tend() {
	ticker := time.NewTicker(x.o.TendEvery)
	defer ticker.Stop()
	for {
		err := x.tendOnce(x.Context)
		switch {
		case x.Context.Err() != nil:
			x.saveAtEnd()
			return
		case err == nil:
			x.failure.Store(nil)
		default:
			x.failure.Store(&err)
			x.moved.Send()
			level := slog.LevelWarn
			if errors.Is(err, store.ErrUnavailable) || errors.Is(err, errMoved) {
				level = slog.LevelDebug // another view may help
			}
			x.Log.Log(x.Context, level, "the text index is behind", "error", err)
		}
		// After a failure only the ticker may wake it, because Await wakes it at once after each failure.
		waking := x.waking
		if err != nil {
			waking = nil
		}
		select {
		case <-waking:
		case <-ticker.C:
		case <-x.Context.Done():
		}
	}
}

// tendOnce follows the feed, drops what this machine need not hold, builds what is missing, and writes the files.
func (x *Index) tendOnce(ctx context.Context) error {
	if err := x.checkFiles(); err != nil {
		return err
	}
	if err := x.follow(ctx); err != nil {
		return err
	}
	if err := x.dropSpare(ctx); err != nil {
		return err
	}
	// What cannot be built must not keep the rest from being merged and saved.
	failed := x.buildMissing(ctx)
	if err := x.mergeLarge(ctx); err != nil {
		return err
	}
	return cmp.Or(x.saveSometimes(ctx), failed)
}

// publish makes a state current. The lock of changing must be held.
func (x *Index) publish(s *state) {
	x.state.Store(s)
	x.follower.Reached(s.at)
	x.moved.Send()
}

// Follower returns the follower of the change feed.
func (x *Index) Follower() *feed.Follower { return x.follower }

// Await waits until this machine holds all that it must hold.
func (x *Index) Await(ctx context.Context) error {
	return x.AwaitBroadcast(ctx, &x.moved, func() (bool, error) {
		if s := x.state.Load(); s != nil {
			set, err := x.readSettings(ctx)
			if err != nil {
				return false, err
			}
			l, wanted := x.wanted()
			if s.layout == l && s.settings.equal(set) && wanted&^s.completePartitions() == 0 {
				return true, nil
			}
		}
		if f := x.failure.Load(); f != nil && errors.Is(*f, ErrTooLarge) {
			return false, *f
		}
		x.waking.Send()
		return false, nil
	})
}

// Status returns the state of the indexed predicates on this machine.
func (x *Index) Status(ctx context.Context) ([]api.TextPredicate, error) {
	set, err := x.readSettings(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]api.TextPredicate, len(set.predicates))
	s := x.state.Load()
	l, wanted := x.wanted()
	for i, predicate := range set.predicates {
		list[i].Predicate, list[i].Trigrams = predicate, set.hasTrigrams(predicate)
		if s == nil {
			continue
		}
		for _, p := range s.parts {
			if p.Predicate() == predicate {
				list[i].Documents += p.Live()
				list[i].Words += p.Tokens()
				list[i].Bytes += int64(len(p.Body()))
				list[i].TrigramBytes += p.TrigramBytes()
				list[i].Segments++
			}
		}
		list[i].Complete = s.layout == l && wanted&^s.complete[predicate] == 0 && s.hasTrigrams(predicate) == list[i].Trigrams
	}
	return list, nil
}

// Failure returns why the index is behind; nil if it is not.
func (x *Index) Failure() error {
	if f := x.failure.Load(); f != nil {
		return *f
	}
	return nil
}
