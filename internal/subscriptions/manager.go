// The manager: which subscriptions this machine delivers, and which are due.

package subscriptions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/systemgraph"
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
	if o.Owns == nil {
		o.Owns = func([]byte) bool { return true }
	}
	if o.MayRead == nil {
		o.MayRead = func(string, string) bool { return true }
	}
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
	source feed.Source
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
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
	m := &Manager{Options: o.withDefaults(), source: o.Registry.Store.Feed(), names: map[string]*subscription{}, hosts: map[string]*host{}}
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

// follow reads the feed and marks subscriptions as due, until the manager is closed.
func (m *Manager) follow() {
	wait := time.Second
	for m.ctx.Err() == nil {
		err := m.followFrom()
		if m.ctx.Err() != nil {
			return
		}
		if err == errJoins {
			continue
		}
		m.Logger.Warn("the change feed of subscriptions ended, and is read again", "error", err)
		select {
		case <-time.After(wait):
		case <-m.ctx.Done():
		}
	}
}

// followFrom reads all definitions, then follows the feed until an error.
func (m *Manager) followFrom() error {
	// 1. The position comes first: definitions that change behind it are in the feed.
	at, err := m.source.Position(m.ctx)
	if err != nil {
		return err
	}
	list, err := m.Registry.List(m.ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.join(at, list)
	m.mu.Unlock()
	// 2. Follow. Without subscriptions only definitions matter, so nothing else is read.
	for {
		err := m.followSome()
		if gone := (*feed.GoneError)(nil); errors.As(err, &gone) {
			m.Logger.Warn("the change feed does not reach back to all subscriptions", "error", err)
			m.skipGap(gone.Continue)
		} else if err != errGrown {
			return err
		}
	}
}

// join makes the follower begin at a position that no subscription has passed: those that were taken
// up have stored positions, the others that of the follower. So all of them catch up by one reader. All
// others wait for that, so a few that are far behind catch up by workers. list was read behind the
// position at.
func (m *Manager) join(at feed.Position, list []*Subscription) {
	// 1. Take definitions up. A change of one may have been missed.
	stored := map[string]*Subscription{}
	for _, s := range list {
		stored[s.Name] = s
		if old := m.names[s.Name]; old != nil && old.version != s.definitionVersion {
			m.remove(old)
		}
		m.define(s)
	}
	m.joins = false
	// 2. Begin where the least position is. A position that cannot be compared is left to its worker.
	before := m.position
	m.position = at
	var behind []*subscription
	for name, s := range m.names {
		switch {
		case stored[name] == nil:
			m.remove(s)
		case !s.owned:
		case s.loaded:
			m.position = m.position.Common(before)
		case !m.take(s, stored[name]) || s.position.Source != at.Source || !at.Reaches(s.position) || s.tries > 0:
			// One whose last try failed has something to deliver for certain.
			s.loaded = false
			m.markDue(s)
		case distance(s.position, at) > m.MaxBehind:
			behind = append(behind, s)
		default:
			m.position = m.position.Common(s.position)
		}
	}
	// 3. If many are far behind, as after a restart, one reader costs less than one for each.
	for _, s := range behind {
		if len(behind) > m.slow.workers {
			m.position = m.position.Common(s.position)
			continue
		}
		s.loaded, s.behind = false, true
		m.markDue(s)
	}
}

// distance returns the number of requests between two positions, the greatest number if it is unknown.
func distance(from, to feed.Position) (n uint64) {
	if from.Epoch != to.Epoch {
		return math.MaxUint64
	}
	for _, mark := range to.Marks {
		n += mark.Sequence - min(mark.Sequence, from.Sequence(mark.Sequencer))
	}
	return n
}

// take sets the position of a subscription to the stored one; false if that is no position. The
// caller holds the manager's mutex.
func (m *Manager) take(s *subscription, stored *Subscription) bool {
	var err error
	if s.position, err = feed.ParsePosition(stored.State.Position); err != nil {
		return false
	}
	s.begin, s.tries, s.loaded = stored.State.Position, stored.State.Failures, true
	if !s.running {
		s.work = work{saved: m.now()}
	}
	return true
}

// skipGap makes the follower continue behind a gap. Subscriptions before it find it by themselves.
func (m *Manager) skipGap(behind feed.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.names {
		if !s.position.Reaches(behind) {
			m.markDue(s)
		}
	}
	m.position = behind
}

var (
	// errGrown ends the iteration when the first subscription is there.
	errGrown = errors.New("there are subscriptions now")
	// errJoins ends the iteration when the registry must be read again.
	errJoins = errors.New("subscriptions were taken up, or may have been loaded or cleared")
)

// followSome follows the feed with a filter that fits the number of subscriptions.
func (m *Manager) followSome() error {
	m.mu.Lock()
	request := feed.Request{Since: m.position, Follow: true, Heartbeat: time.Second}
	idle := len(m.names) == 0
	m.mu.Unlock()
	if idle {
		request.Filter.Pattern = triple.Pattern{Graph: systemgraph.Graph}
	}
	for batch, err := range m.source.Changes(m.ctx, request) {
		if err != nil {
			return err
		}
		if err := m.dispatch(batch); err != nil {
			return err
		}
		m.mu.Lock()
		grown, joins := idle && len(m.names) > 0, m.joins
		m.mu.Unlock()
		switch {
		case joins:
			return errJoins
		case grown:
			return errGrown
		}
	}
	return errors.New("it ended")
}

// dispatch marks the subscriptions for which a batch has changes.
func (m *Manager) dispatch(batch *feed.Batch) error {
	var defined []string // names whose definition changed
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range batch.Changes {
		c := &batch.Changes[i]
		mark := func(s *subscription) {
			if s.due || !s.owned || s.loaded && s.position.Covers(c.Sequencer, c.Stamp) {
				return
			}
			if ok, err := s.matcher.Match(c); ok || err != nil {
				// A malformed key is not expected. Reading it again reports it.
				m.markDue(s)
			}
		}
		// 1. Loads and clears may concern all. They may have definitions, too, so the registry is read
		// again.
		if c.Key == nil {
			m.joins = m.joins || mayDefine(c)
			for _, s := range m.names {
				mark(s)
			}
			continue
		}
		if !isState(c) {
			m.followed.Add(sizeOf(c))
		}
		// 2. Changes of a triple concern those that the index finds.
		_, terms, err := triple.SplitKey(c.Key)
		if err != nil {
			return err
		}
		if name, ok := m.definition(c, terms); ok {
			defined = append(defined, name)
		}
		if name, ok := readsOf(c, terms); ok {
			if s := m.names[name]; s != nil {
				mark(s)
			}
			continue
		}
		m.index.visit(terms, func(s *subscription) {
			if !hides(s.filter, func(id string) bool { return m.mayRead(s, id) }, c, terms) {
				mark(s)
			}
		})
	}
	// 3. Subscriptions that are not due have nothing up to here.
	m.position = batch.Position.Clone()
	// 4. Take up changed definitions. The store is read without the lock.
	if len(defined) == 0 {
		return nil
	}
	m.mu.Unlock()
	defer m.mu.Lock()
	for _, name := range defined {
		if err := m.refresh(name); err != nil {
			return err
		}
	}
	return nil
}

// mayDefine reports whether a load or a clear may concern the system graph.
func mayDefine(c *feed.Change) bool {
	return c.Kind == feed.Load || c.Clear.All || slices.Contains(c.Clear.Graphs, systemgraph.Graph)
}

// definition returns the name of the subscription if a change concerns its definition. An add does
// not, because the definition follows it.
func (m *Manager) definition(c *feed.Change, terms triple.KeyTerms) (string, bool) {
	if string(terms[triple.Graph]) != string(systemTerm) || c.Kind == feed.Add || isState(c) {
		return "", false
	}
	t, err := c.Triple()
	if err != nil || t.Object != class {
		return "", false
	}
	name := t.Subject.Value()[min(len(namePrefix), len(t.Subject.Value())):]
	// A follower that begins anew meets definitions that it has.
	if old := m.names[name]; old != nil && old.version == c.Stamp {
		return "", false
	}
	return name, t == entry(name) && CheckName(name) == nil
}

// refresh reads a definition again.
func (m *Manager) refresh(name string) error {
	s, err := m.Registry.Get(m.ctx, name)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case errors.Is(err, ErrUnknown), errors.Is(err, errMalformed):
		if old := m.names[name]; old != nil {
			m.remove(old)
		}
		return nil
	case err != nil:
		return err
	}
	if old := m.names[name]; old != nil {
		if old.version == s.definitionVersion {
			return nil
		}
		m.remove(old)
	}
	m.define(s)
	if taken := m.names[name]; taken != nil && taken.owned {
		// The follower has not looked for it between its position and its own.
		m.take(taken, s)
		taken.due = true
		m.enqueue(taken)
	}
	return nil
}

// define takes a definition up. One that cannot be used is logged, because there is no waiter for it.
func (m *Manager) define(stored *Subscription) {
	d := stored.Definition
	if m.names[d.Name] != nil || d.URL == "" {
		return // a stream is read by its application
	}
	filter, err := m.Registry.Filter(d.Filter)
	filter = FeedFilter(d.Name, filter)
	var matcher *feed.Matcher
	if err == nil {
		matcher, err = feed.NewMatcher(filter)
	}
	if err != nil {
		m.Logger.Error("the definition of a subscription cannot be used", "subscription", d.Name, "error", err)
		return
	}
	key, _ := triple.AppendKey(nil, triple.SPO, entry(d.Name))
	s := &subscription{definition: d, version: stored.definitionVersion, operator: stored.operator, name: d.Name, url: d.URL, key: key, filter: filter, matcher: matcher, host: m.useHost(d.URL), owned: m.Owns(key)}
	m.names[d.Name] = s
	m.index.add(s)
}

// remove forgets a subscription. A delivery that runs ends by itself.
func (m *Manager) remove(s *subscription) {
	m.disown(s)
	delete(m.names, s.name)
	m.index.remove(s)
	m.leaveHost(s.host)
}

// own begins the deliveries of a subscription. The follower reads its position, together with those
// of others that are taken up at the same time.
func (m *Manager) own(s *subscription) {
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
				m.own(s)
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

// later queues a subscription after a wait. The caller holds the mutex.
func (m *Manager) later(s *subscription, wait time.Duration) {
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
