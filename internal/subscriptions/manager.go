// The manager: which subscriptions this machine delivers, and which are due.

package subscriptions

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// Sender tries once to deliver a message.
type Sender interface {
	Send(ctx context.Context, m *webhook.Message) error
}

// Options are the parameters of [Start].
type Options struct {
	Registry *Registry
	Sender   Sender
	// Owns reports whether this machine owns the row with an SPO key and has a lease; nil means
	// that it owns all.
	Owns func(key []byte) bool
	// MayRead reports whether the owner of a subscription may read the annotations of an application
	// now, because what is granted may change; nil means that all may. Operators decide about
	// annotations that are reserved for them when they store a subscription.
	MayRead func(owner, applicationID string) bool
	// Policy decides about failed batches.
	Policy webhook.Policy
	// Workers bounds the deliveries at a time; 0 is 64. A quarter of them is for subscriptions
	// whose last try failed and for slow hosts, and a host may hold a sixth of either part.
	Workers int
	// BatchBytes bounds the changes of a batch, about; 0 is 256 KiB.
	BatchBytes int
	// OwnerEvery is how often ownership is looked at; 0 is a second.
	OwnerEvery time.Duration
	// SaveEvery and SaveBytes are after which time, and after how many bytes of changes of others, the
	// position of a subscription without changes is stored; 0 is 10 minutes and 64 MiB. They must be
	// far below the retention of the feed, because another member begins at the stored position.
	SaveEvery time.Duration
	SaveBytes int64
	// MaxBehind is how many requests the follower goes back for a few subscriptions that are taken up;
	// 0 is 65,536. Those that are further behind catch up by workers.
	MaxBehind uint64
	// Logger gets failures; nil discards them.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	// 1. Functions that allow everything.
	if o.Owns == nil {
		o.Owns = func([]byte) bool { return true }
	}
	if o.MayRead == nil {
		o.MayRead = func(string, string) bool { return true }
	}
	// 2. Limits.
	if o.Workers == 0 {
		o.Workers = 64
	}
	if o.BatchBytes == 0 {
		o.BatchBytes = 256 << 10
	}
	if o.OwnerEvery == 0 {
		o.OwnerEvery = time.Second
	}
	if o.SaveEvery == 0 {
		o.SaveEvery = 10 * time.Minute
	}
	if o.SaveBytes == 0 {
		o.SaveBytes = 64 << 20
	}
	if o.MaxBehind == 0 {
		o.MaxBehind = 1 << 16
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Manager delivers changes to webhooks. Close ends it.
type Manager struct {
	Options
	source   feed.Source
	follower *feed.Follower
	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	// followed is the bytes of changes that the follower has read. States do not count: otherwise each
	// save of many subscriptions would cause the next one.
	followed atomic.Int64

	mu    sync.Mutex
	names map[string]*subscription
	index index
	// position is where the follower is. No subscription that is not due has a change before it.
	position feed.Position
	joins    bool             // the follower must read the registry again, and the positions of what was taken up
	hosts    map[string]*host // of the webhooks
	// fast and slow are the queues of the workers.
	fast, slow *lane
}

// Follower returns the follower of the change feed.
func (m *Manager) Follower() *feed.Follower { return m.follower }

// subscription is the manager's view of one subscription. Fields other than the constants are
// guarded by the manager's mutex, except for work, which belongs to the worker while running is set.
type subscription struct {
	// Constant: a new definition makes a new subscription.
	definition Definition
	version    triple.Stamp // of the definition
	operator   bool         // an operator stored it
	name       string
	url        string
	key        []byte // of its triple in SPO
	filter     feed.Filter
	matcher    *feed.Matcher
	host       *host

	owned    bool
	term     int  // counts how often owned was set or reset; what a step of a former term found out is void
	due      bool // there may be something behind the position
	running  bool
	queued   bool
	waits    bool          // for the next try
	tries    int           // failed tries of the next batch
	behind   bool          // it catches up by itself, because the follower is far ahead
	position feed.Position // valid if loaded: nothing before it is left to deliver
	begin    string        // the stored position that it began from
	loaded   bool
	timer    *time.Timer

	work work
}

// Start begins to deliver. The manager must be closed before the store.
func Start(o Options) (*Manager, error) {
	if err := o.Policy.Validate(); err != nil {
		return nil, err
	}
	if o.Registry == nil || o.Sender == nil || o.Workers < 0 || o.BatchBytes < 0 || o.OwnerEvery < 0 || o.SaveEvery < 0 || o.SaveBytes < 0 {
		return nil, fmt.Errorf("subscriptions: an option is missing or negative: %+v", o)
	}
	m := &Manager{Options: o.withDefaults(), source: o.Registry.Store.Feed(), follower: feed.NewFollower("subscriptions", nil), names: map[string]*subscription{}, hosts: map[string]*host{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.index.terms = map[indexKey][]*subscription{}
	workers := max(2, m.Workers)
	slow := max(1, m.Workers/4)
	m.fast, m.slow = newLane(workers-slow, &m.mu), newLane(slow, &m.mu)
	m.tasks.Go(m.follow)
	m.tasks.Go(m.watchOwnership)
	for i := range workers {
		l := m.fast
		if i < slow {
			l = m.slow
		}
		m.tasks.Go(func() { m.deliver(l) })
	}
	return m, nil
}

// Close ends all deliveries and waits for them.
func (m *Manager) Close() {
	m.cancel()
	m.mu.Lock()
	for _, s := range m.names {
		s.stopTimer()
	}
	m.fast.wake.Broadcast()
	m.slow.wake.Broadcast()
	m.mu.Unlock()
	m.tasks.Wait()
}

func (s *subscription) stopTimer() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// startDeliveries begins the deliveries of a subscription. The follower reads its position, together with those
// of others that are taken up at the same time.
func (m *Manager) startDeliveries(s *subscription) {
	s.owned, s.loaded, s.due, s.behind = true, false, false, false
	s.term++
	m.joins = true
}

// disown ends the deliveries of a subscription, except for the step that runs.
func (m *Manager) disown(s *subscription) {
	s.owned, s.waits = false, false
	s.term++
	s.stopTimer()
}

// markDue queues a subscription, unless it runs or waits for its next try: then it is queued behind
// that.
func (m *Manager) markDue(s *subscription) {
	if !s.owned {
		return
	}
	// What lies before the follower's position needs not be read, if nothing was due in it.
	if !s.due && !s.running && s.loaded && m.position.Reaches(s.position) {
		s.position = m.position
	}
	s.due = true
	m.enqueue(s)
}

func (m *Manager) enqueue(s *subscription) {
	if s.running || s.queued || s.waits || !s.owned || !s.due || m.ctx.Err() != nil {
		return
	}
	s.queued = true
	s.lineOf().push(s)
}

// watchOwnership gives up subscriptions that another machine owns now, and takes up others.
func (m *Manager) watchOwnership() {
	ticker := time.NewTicker(m.OwnerEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-m.ctx.Done():
			return
		}
		m.mu.Lock()
		for _, s := range m.names {
			switch owns := m.Owns(s.key); {
			case owns && !s.owned:
				m.startDeliveries(s)
			case !owns && s.owned:
				m.disown(s)
			case owns && s.loaded && !s.due && !s.running && m.leaving(s.work.saved):
				// It is read up to the end, and the new position stored.
				s.work.save = true
				m.markDue(s)
			}
		}
		m.mu.Unlock()
	}
}

// queueAfter queues a subscription after a wait. The caller holds the mutex.
func (m *Manager) queueAfter(s *subscription, wait time.Duration) {
	if m.ctx.Err() != nil || !s.owned {
		return
	}
	s.waits = true
	s.timer = time.AfterFunc(wait, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		s.waits = false
		m.enqueue(s)
	})
}

// next waits for a subscription and marks it as running, in a line of which it holds a worker; nil if
// the manager is closed. The caller holds the mutex.
func (m *Manager) next(l *lane) (*subscription, *line) {
	for m.ctx.Err() == nil {
		s, from := l.pop()
		if s == nil {
			l.wake.Wait()
			continue
		}
		s.queued = false
		if s.owned && s.due && !s.running {
			s.running = true
			return s, from
		}
		m.done(from)
	}
	return nil, nil
}

// random is the share of a wait that is random.
var random = rand.Float64
