// The end of the feed: which changes a read must have seen.

package derived

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
)

// ends finds the end of the feed for reads that begin, as the read index of Raft: every change that
// was acknowledged before a read lies before it. In a cluster that is a message to all members, so
// reads that begin at the same time share it.
type ends struct {
	mu      sync.Mutex
	next    *round // has not begun
	running bool
}

// round is one request for the end.
type round struct {
	done chan struct{}
	at   feed.Position
	err  error
}

// ReadPosition returns an end of the feed that is not older than the call.
func (m *Member) ReadPosition(ctx context.Context) (feed.Position, error) {
	if m.Node.Lone() != nil {
		return m.Node.ReadPosition(ctx)
	}
	// 1. Join the next round. The running one may have begun before a change was acknowledged.
	e := &m.ends
	e.mu.Lock()
	if !e.running && !m.Go(m.runRounds) {
		e.mu.Unlock()
		return feed.Position{}, context.Cause(m.Context)
	}
	e.running = true
	r := e.next
	if r == nil {
		r = &round{done: make(chan struct{})}
		e.next = r
	}
	e.mu.Unlock()
	// 2. Wait for it, but not for ever: a member may be silent and not be excluded.
	waiting, cancel := readtimeout.Bound(ctx)
	defer cancel()
	select {
	case <-r.done:
		return r.at, r.err
	case <-waiting.Done():
		err := context.Cause(waiting)
		if ctx.Err() == nil {
			err = fmt.Errorf("%s: the machines of the cluster do not report what they have committed: %w", m.index.Name, err)
		}
		return feed.Position{}, err
	}
}

// runRounds makes rounds until no read waits.
func (m *Member) runRounds() {
	e := &m.ends
	for {
		e.mu.Lock()
		r := e.next
		if e.next = nil; r == nil {
			e.running = false
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		if r.at, r.err = m.Node.ReadPosition(m.Context); m.Context.Err() != nil {
			r.err = context.Cause(m.Context)
		}
		close(r.done)
	}
}
