// Work that calls at the same time share.

package derived

import (
	"context"
	"fmt"
	"sync"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
)

// Shared is work of an index that many reads wait for. One run of it is for all that wait when it
// begins, and it goes on if they give up.
type Shared[T any] struct {
	mu      sync.Mutex
	next    *run[T] // has not begun
	running bool
}

// run is one run of the work.
type run[T any] struct {
	done   chan struct{}
	result T
	err    error
}

// Do returns the result of a run of do that has begun after the call. The context of do ends with the
// index.
func (s *Shared[T]) Do(ctx context.Context, m *Member, do func(ctx context.Context) (T, error)) (result T, err error) {
	// Join the next run. The running one may have begun before a change was acknowledged.
	s.mu.Lock()
	if !s.running && !m.Go(func() { s.runAll(m.Context, do) }) {
		s.mu.Unlock()
		return result, context.Cause(m.Context)
	}
	s.running = true
	if s.next == nil {
		s.next = &run[T]{done: make(chan struct{})}
	}
	r := s.next
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return result, context.Cause(ctx)
	case <-m.Context.Done():
		return result, context.Cause(m.Context)
	}
}

// runAll makes runs until no call waits.
func (s *Shared[T]) runAll(ctx context.Context, do func(ctx context.Context) (T, error)) {
	for {
		s.mu.Lock()
		r := s.next
		if s.next = nil; r == nil {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		r.result, r.err = do(ctx)
		close(r.done)
	}
}

// ReadPosition returns an end of the feed that is not older than the call, as the read index of Raft:
// every change that was acknowledged before a read lies before it. In a cluster that is a message to
// all members, so reads share it.
func (m *Member) ReadPosition(ctx context.Context) (feed.Position, error) {
	if m.Node.Lone() != nil {
		return m.Node.ReadPosition(ctx)
	}
	// A member may be silent and not be excluded, so the wait has an end.
	waiting, cancel := readtimeout.Bound(ctx)
	defer cancel()
	at, err := m.ends.Do(waiting, m, m.Node.ReadPosition)
	if waiting.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: the machines of the cluster do not report what they have committed: %w", m.index.Name, context.Cause(waiting))
	}
	return at, err
}
