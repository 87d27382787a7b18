// Definitions that change while the manager runs.

package subscriptions

import (
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

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
