// The follower: it reads the change feed once for all subscriptions.

package subscriptions

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// follow reads the feed and marks subscriptions as due, until the manager is closed.
func (m *Manager) follow() {
	for m.ctx.Err() == nil {
		err := m.followFrom()
		if m.ctx.Err() != nil {
			return
		}
		if err == errJoins {
			continue
		}
		m.follower.Failed(err)
		m.Logger.Warn("the change feed of subscriptions ended, and is read again", "error", err)
		retry.Sleep(m.ctx, time.Second)
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
		s.work = work{saved: m.currentMoment()}
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
	m.follower.Reached(m.position)
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
	m.follower.Reached(m.position)
	request := feed.Request{Since: m.position, Follow: true, Heartbeat: time.Second}
	idle := len(m.names) == 0
	m.mu.Unlock()
	if idle {
		request.Filter.Pattern = triple.Pattern{Graph: systemgraph.Graph}
	}
	// Another filter, or other subscriptions, begin between commits. So a part of a commit is never read twice.
	var leave error
	err := m.follower.Read(m.ctx, m.source, request, func(batch *feed.Batch) (bool, error) {
		if err := m.dispatch(batch); err != nil {
			return false, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case m.joins:
			leave = errJoins
		case idle && len(m.names) > 0:
			leave = errGrown
		}
		return leave != nil, nil
	})
	return cmp.Or(err, leave, errors.New("it ended"))
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
	m.follower.Reached(m.position)
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
