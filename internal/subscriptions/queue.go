// The queues of the workers: turns of hosts, so that receivers that hang do not delay others.

package subscriptions

import (
	"net/url"
	"slices"
	"sync"
	"time"
)

// A lane is the queue of a part of the workers. Each host has a turn in it, and may hold a sixth of
// its workers. So one host delays others little, however many subscriptions and receivers it has.
//
//	fast  three quarters of the workers
//	slow  a quarter: subscriptions whose last try failed or that are far behind, and hosts that need
//	      long on average
//
// All is guarded by the manager's mutex.
type lane struct {
	workers int
	most    int     // workers that a host may hold
	turns   []*line // lines with subscriptions and a free worker; the first one is next
	wake    *sync.Cond
}

// line is the subscriptions of one host that wait in a lane.
type line struct {
	lane    *lane
	host    *host
	queue   []*subscription
	running int
	inTurns bool
}

// host is the receivers under one scheme, name and port.
type host struct {
	name       string
	fast, slow line
	uses       int           // number of subscriptions
	average    time.Duration // of a try
}

// slowAfter is the average time of a try from which a host is slow.
const slowAfter = time.Second

// hostOf returns the name of the host of a webhook.
func hostOf(target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "" // not expected: it was checked
	}
	return u.Scheme + "://" + u.Host
}

// newLane returns a lane for a number of workers.
func newLane(workers int, mu *sync.Mutex) *lane {
	return &lane{workers: workers, most: max(1, workers/6), wake: sync.NewCond(mu)}
}

// useHost returns the host of a webhook, for one more subscription.
func (m *Manager) useHost(target string) *host {
	name := hostOf(target)
	h := m.hosts[name]
	if h == nil {
		h = &host{name: name}
		h.fast, h.slow = line{lane: m.fast, host: h}, line{lane: m.slow, host: h}
		m.hosts[name] = h
	}
	h.uses++
	return h
}

// leaveHost gives a use back.
func (m *Manager) leaveHost(h *host) {
	h.uses--
	m.forget(h)
}

// forget removes a host that nothing uses. Until its last worker is done it counts, because a changed
// definition must not get workers beyond those of the former one.
func (m *Manager) forget(h *host) {
	if h.uses == 0 && h.fast.running+h.slow.running == 0 && m.hosts[h.name] == h {
		delete(m.hosts, h.name)
	}
}

// lineOf returns the line that a subscription must wait in.
func (s *subscription) lineOf() *line {
	if s.tries > 0 || s.behind || s.host.isSlow() {
		return &s.host.slow
	}
	return &s.host.fast
}

func (h *host) isSlow() bool { return h.average > slowAfter }

// took counts the time of a try. The first long one makes a host slow, and then what waits in the fast
// lane moves: otherwise each of its subscriptions would hold a fast worker once.
func (h *host) took(d time.Duration) {
	h.average += (d - h.average) / 4
	if h.isSlow() && len(h.fast.queue) > 0 {
		moved := h.fast.queue
		h.fast.queue = nil
		for _, s := range moved {
			h.slow.push(s)
		}
	}
}

// push appends a subscription.
func (l *line) push(s *subscription) {
	l.queue = append(l.queue, s)
	l.offer()
}

// offer gives the line a turn if it can use one.
func (l *line) offer() {
	if l.inTurns || len(l.queue) == 0 || l.running >= l.lane.most {
		return
	}
	l.inTurns = true
	l.lane.turns = append(l.lane.turns, l)
	l.lane.wake.Signal()
}

// pop removes the subscription that is next, and counts a worker for its line; nil if there is none.
// The worker must be given back by done.
func (l *lane) pop() (*subscription, *line) {
	for len(l.turns) > 0 {
		first := l.turns[0]
		l.turns = slices.Delete(l.turns, 0, 1)
		first.inTurns = false
		if len(first.queue) == 0 {
			continue // it moved to the other lane
		}
		s := first.queue[0]
		first.queue[0] = nil
		first.queue = first.queue[1:]
		first.running++
		first.offer()
		return s, first
	}
	return nil, nil
}

// done gives a worker back.
func (m *Manager) done(l *line) {
	l.running--
	l.offer()
	m.forget(l.host)
}
