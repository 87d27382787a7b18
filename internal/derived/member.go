// The member: one machine's part of an index, and its life.

package derived

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/store"
)

// Index describes an index to its members.
type Index struct {
	Name   string // for errors: "the link graph"
	Dir    string // of its files
	Logger *slog.Logger
	// Place returns the placement under a view.
	Place func(v *view.View) *Placement
	// LoneTimeout bounds the waits of a lone node, because no other machine could answer
	// earlier; 0 does not.
	LoneTimeout time.Duration
}

// Member is one machine's part of an index. All parts of the index share it. It is safe for concurrent
// use.
type Member struct {
	Node  Node
	Log   *slog.Logger
	index Index

	Context context.Context // ends with the index
	Running sync.WaitGroup  // the goroutines of all parts
	cancel  context.CancelCauseFunc
	ends    Shared[feed.Position]
	mu      sync.Mutex
	placed  *Placement // under the last view, because each is used by many reads
}

// NewMember returns the part of a node in an open index.
func NewMember(n Node, x Index) *Member {
	m := &Member{Node: n, Log: x.Logger, index: x}
	m.Context, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// Go runs do in a goroutine that Stop waits for, unless the index is closed: then it returns false.
func (m *Member) Go(do func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Context.Err() != nil {
		return false
	}
	m.Running.Go(do)
	return true
}

// Stop ends all goroutines and waits for them. The cause of their context wraps [store.ErrClosed].
func (m *Member) Stop() {
	m.mu.Lock() // no call of Go begins a goroutine after the wait
	m.cancel(fmt.Errorf("%s: %w", m.index.Name, store.ErrClosed))
	m.mu.Unlock()
	m.Running.Wait()
}

// Path returns the path of a file of the index.
func (m *Member) Path(name string) string { return filepath.Join(m.index.Dir, name) }

// PlacementOf returns the placement under a view.
func (m *Member) PlacementOf(v *view.View) *Placement {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.placed == nil || m.placed.View != v {
		m.placed = m.index.Place(v)
	}
	return m.placed
}

// Wanted returns the partitions that this member of a cluster must hold; none without a view.
func (m *Member) Wanted() Partitions {
	v := m.Node.View()
	if v == nil {
		return 0
	}
	return m.PlacementOf(v).HeldBy(m.Node.MachineID())
}

// Bound returns a context for one wait of a read.
func (m *Member) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	switch {
	case m.Node.Lone() == nil:
		return readtimeout.Bound(ctx)
	case m.index.LoneTimeout > 0:
		return context.WithTimeout(ctx, m.index.LoneTimeout)
	}
	return context.WithCancel(ctx)
}

// AwaitBroadcast waits until done returns true or an error. It calls done once, and after each Send of b.
func (m *Member) AwaitBroadcast(ctx context.Context, b *notify.Broadcast, done func() (bool, error)) error {
	for {
		event := b.Next()
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-event:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-m.Context.Done():
			return context.Cause(m.Context)
		}
	}
}

// WaitFor waits for some time, until the index is closed, for another view than v unless that is nil, or until the
// caller is woken.
func (m *Member) WaitFor(v *view.View, d time.Duration, wake <-chan struct{}) {
	ctx, cancel := context.WithTimeout(m.Context, d)
	defer cancel()
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		if v == nil || m.Node.Newer(ctx, v) != nil {
			<-ctx.Done()
		}
	}()
	select {
	case <-wake:
	case <-changed:
	}
	cancel()
	<-changed
}
