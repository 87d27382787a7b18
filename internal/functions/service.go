// The service: it follows the registry and owns the goroutines of functions.

package functions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/processors"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Options are the parameters of [Open].
type Options struct {
	// Store is the lone store or the member of a cluster that functions read and change. It must
	// not be one of [Service.Checked].
	Store store.Triples
	// Feed is the feed of Store.
	Feed feed.Source
	// Owns reports whether this member owns a key of SPO, and so runs the function of the triple.
	// If it is nil, it owns all.
	Owns func(key []byte) bool
	// Locate returns where the row with a key of SPO is. If it is nil, functions get no locations.
	Locate func(key []byte) sandbox.Location
	// Logger gets failures; nil discards them.
	Logger *slog.Logger
	// Now is the clock of intents; nil is [time.Now].
	Now func() time.Time
	// Joined is closed when Store may be read, because the machine is a member of its cluster. Until
	// then changes are refused. If it is nil, the registry is read at once.
	Joined <-chan struct{}
}

// Service runs the functions of one member. It is safe for concurrent use.
type Service struct {
	store  store.Triples
	feed   feed.Source
	owns   func(key []byte) bool
	locate func(key []byte) sandbox.Location
	log    *slog.Logger
	now    func() time.Time
	joined <-chan struct{}

	ctx     context.Context // ends the goroutines
	end     context.CancelFunc
	running sync.WaitGroup
	// calls bounds the calls at a time of functions after commits, because each holds memory. One
	// function makes up to ahead of them, which is less, so that a slow one leaves some to others.
	calls chan struct{}
	ahead int

	reloading sync.Mutex // one reload at a time
	mu        sync.Mutex
	byName    map[string]*function  // replaced as a whole
	tried     chan struct{}         // closed when a first try to read the registry has ended
	unread    atomic.Pointer[error] // why the last try failed; nil if it did not

	checks atomic.Pointer[checks] // nil if there is no check
}

// Open returns a service that follows the registry and runs its functions until Close. Changes
// through [Service.Checked] wait until the registry was read.
func Open(o Options) *Service {
	s := &Service{
		store: o.Store, feed: o.Feed, owns: o.Owns, locate: o.Locate, log: o.Logger, now: o.Now, joined: o.Joined,
		byName: map[string]*function{}, tried: make(chan struct{}), ahead: max(2, processors.Count()),
	}
	s.calls = make(chan struct{}, s.ahead+spareCalls)
	if s.owns == nil {
		s.owns = func([]byte) bool { return true }
	}
	if s.locate == nil {
		s.locate = func([]byte) sandbox.Location { return sandbox.Location{} }
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	// A machine that joins no cluster reads at once.
	if s.joined == nil {
		joined := make(chan struct{})
		close(joined)
		s.joined = joined
	}
	s.checks.Store(&checks{unknown: true})
	s.ctx, s.end = context.WithCancel(context.Background())
	s.running.Go(s.follow)
	return s
}

// Close ends all functions, and waits for them.
func (s *Service) Close() error {
	s.end()
	s.running.Wait()
	var errs []error
	for _, f := range s.functions() {
		f.stop()
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

func (s *Service) functions() map[string]*function {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName
}

// Followers returns the followers of the change feed of all functions.
func (s *Service) Followers() (all []*feed.Follower) {
	for _, f := range s.functions() {
		all = append(all, f.follower)
	}
	return all
}

// spareCalls is the number of calls at a time that one function leaves to the others.
const spareCalls = 2

const (
	pollEvery = time.Second            // for the revision of the registry
	lookEvery = 300 * time.Millisecond // for a function that another member runs
	// rereadEvery is the time after which the whole registry is read, because a client may have
	// changed its triples, or a registration broke off before its new revision.
	rereadEvery = time.Minute
)

// follow reads the registry, and again when its revision changes. Reading one small annotation every
// second costs less than following the feed: a member would read all changes of all members, only to
// find that none is of the registry.
func (s *Service) follow() {
	select {
	case <-s.joined:
	case <-s.ctx.Done():
		return
	}
	var known triple.Stamp // the revision that was read last
	var read time.Time     // when
	failing := false
	tried := sync.OnceFunc(func() { close(s.tried) })
	for s.ctx.Err() == nil {
		// 1. Take the revision first, so that no change after the reload is missed.
		revision, err := s.revision(s.ctx)
		stale := len(s.functions()) > 0 && s.now().Sub(read) > rereadEvery
		if err == nil && (revision != known || read.IsZero() || stale) {
			if err = s.reload(s.ctx); err == nil {
				known, read = revision, s.now()
			}
		}
		if err != nil {
			s.unread.Store(&err)
		} else {
			s.unread.Store(nil)
		}
		tried()
		// 2. Report the first of several errors.
		if err != nil && !failing && s.ctx.Err() == nil {
			s.log.Warn("the registry of update functions cannot be read; trying again", "err", err)
		}
		failing = err != nil
		retry.Sleep(s.ctx, pollEvery)
	}
}

// reload makes the functions those of the registry.
func (s *Service) reload(ctx context.Context) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	if s.ctx.Err() != nil {
		return store.ErrClosed
	}
	r, err := s.store.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := names(ctx, r)
	if err != nil {
		return fmt.Errorf("read the registry of update functions: %w", err)
	}
	// 1. Keep the functions that are unchanged, and compile the others.
	old, next := s.functions(), map[string]*function{}
	var fresh []*function
	for _, name := range all {
		a, err := r.Annotation(ctx, tripleOf(name), registrationID)
		if err != nil {
			return fmt.Errorf("read the function %s: %w", name, err)
		}
		switch f := old[name]; {
		case a == nil:
		case f != nil && f.version == a.Version:
			next[name] = f
		default:
			next[name] = s.newFunction(ctx, name, a.Data, a.Version)
			fresh = append(fresh, next[name])
		}
	}
	// 2. Publish them. Checks count from now on.
	s.mu.Lock()
	s.byName = next
	s.mu.Unlock()
	s.checks.Store(checksOf(next))
	// 3. End what is gone, then start what is new: two versions of a function must not run side by
	// side in one member.
	for name, f := range old {
		if next[name] != f {
			f.stop()
			if err := f.close(); err != nil {
				s.log.Warn("close an update function", "function", name, "err", err)
			}
		}
	}
	for _, f := range fresh {
		s.start(f)
	}
	return nil
}

// function is one registered function.
type function struct {
	Registration
	*attachment
	triple  triple.Triple
	key     []byte // of triple, in SPO
	version triple.Stamp
	// problem is why the function cannot run. A check that cannot run rejects all changes.
	problem string

	cancel context.CancelFunc // ends the runner
	ended  chan struct{}      // closed when it has ended; nil if it was not started

	use     sync.RWMutex // calls hold it for reading; close takes it for writing
	runtime *sandbox.Runtime
	code    *sandbox.Function

	figures  figures
	follower *feed.Follower

	mu      sync.Mutex
	running bool
	last    *Failure // of a check, in this member
	behind  string   // the error that keeps the runner from going on
}

// newFunction compiles a stored function. If that fails, the function has a problem.
func (s *Service) newFunction(ctx context.Context, name string, data []byte, version triple.Stamp) *function {
	f := &function{triple: tripleOf(name), version: version, follower: feed.NewFollower("function "+name, nil)}
	f.key, _ = triple.AppendKey(nil, triple.SPO, f.triple)
	r, module, err := decodeRegistration(data)
	if err == nil && r.Name != name {
		err = fmt.Errorf("%w: it is stored as %s, and its name is %.120q", ErrInvalid, name, r.Name)
	}
	if err == nil {
		f.Registration = r.withDefaults()
		f.attachment, err = f.Registration.attach()
	}
	if err == nil {
		f.runtime, err = sandbox.New(f.limits())
	}
	if err == nil {
		f.code, err = f.runtime.Compile(ctx, module)
	}
	if err != nil {
		f.Registration.Name = name
		f.problem = err.Error()
		s.log.Error("an update function cannot run", "function", name, "err", err)
	}
	return f
}

// start starts the runner of a function.
func (s *Service) start(f *function) {
	if f.problem != "" || f.Mode != After {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	f.cancel, f.ended = cancel, make(chan struct{})
	s.running.Go(func() {
		defer close(f.ended)
		(&runner{Service: s, f: f}).run(ctx)
	})
}

// stop ends the runner, and waits for it.
func (f *function) stop() {
	if f.ended != nil {
		f.cancel()
		<-f.ended
	}
}

// close frees the code when no call runs.
func (f *function) close() (err error) {
	f.use.Lock()
	defer f.use.Unlock()
	if f.code != nil {
		err = f.code.Close()
	}
	if f.runtime != nil {
		err = errors.Join(err, f.runtime.Close())
	}
	f.code, f.runtime = nil, nil
	return err
}

// errReplaced means that a function was registered again or deleted before a call.
var errReplaced = fmt.Errorf("the function was replaced meanwhile: %w", store.ErrUnavailable)

// call calls the function once. The error is [errReplaced] if it is closed.
func (f *function) call(ctx context.Context, in *sandbox.Input) (sandbox.Result, error) {
	f.use.RLock()
	defer f.use.RUnlock()
	if f.code == nil {
		return sandbox.Result{}, errReplaced
	}
	began := time.Now()
	defer func() { f.figures.nanos.Add(int64(time.Since(began))) }()
	f.figures.calls.Add(1)
	return f.code.Call(ctx, in)
}

// report adds to a status what this member knows.
func (f *function) report(st *Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	st.Running = f.running
	if st.Problem = f.problem; st.Problem == "" {
		st.Problem = f.behind
	}
	if f.Mode == Check {
		st.State = &State{Counts: f.figures.counts(), Last: f.last}
		st.Running = f.problem == ""
	}
}
