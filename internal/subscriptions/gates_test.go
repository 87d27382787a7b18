// Gates of tests: they stop readers, followers and senders at a chosen moment.

package subscriptions

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/webhook"
)

// gate lets calls pass while it is open.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // nil while the gate is open
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.closed)
	g.closed = nil
}

func (g *gate) pass() {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed != nil {
		<-closed
	}
}

// gatedStore has a gate for its readers, and one for batches of a feed that is followed.
type gatedStore struct {
	*store.Store
	gate   gate
	follow gate
}

type gatedFeed struct {
	feed.Source
	of *gatedStore
}

func (s *gatedStore) Feed() feed.Source { return &gatedFeed{s.Store.Feed(), s} }

func (f *gatedFeed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for b, err := range f.Source.Changes(ctx, r) {
			if r.Follow {
				f.of.follow.pass()
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func (s *gatedStore) Reader() (store.Reader, error) {
	s.gate.pass()
	return s.Store.Reader()
}

// gatedSender sends behind a gate.
type gatedSender struct {
	*receiver
	gate  gate
	delay func() time.Duration
}

func (s *gatedSender) Send(ctx context.Context, m *webhook.Message) error {
	s.gate.pass()
	if s.delay != nil {
		time.Sleep(s.delay()) // virtual time
	}
	return s.receiver.Send(ctx, m)
}
