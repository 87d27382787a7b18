// Readers begins readers, and retries a call while a machine is down.

package rowreader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

// Readers begins readers.
type Readers struct {
	*ownership.Machines
	Keys linkkeys.Keys
	Ctx  context.Context // ends with the graph
	// LocalCopied and LocalWalk answer from the copies of this machine.
	LocalCopied, LocalWalk peer.Handler
}

// New returns Readers whose calls end with ctx.
func New(ctx context.Context, m *ownership.Machines, keys linkkeys.Keys) *Readers {
	return &Readers{Machines: m, Keys: keys, Ctx: ctx}
}

// Begin returns a reader of a new snapshot. It fails if the graph is closed.
func (g *Readers) Begin(ctx context.Context) (*Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if g.Ctx.Err() != nil {
		return nil, context.Cause(g.Ctx)
	}
	sn, err := g.Store.Reader()
	if err != nil {
		return nil, err
	}
	return &Reader{Readers: g, Snapshot: sn, Source: sn.Source()}, nil
}

// Read calls do with a reader, and reports to the call if rows were degraded.
func (g *Readers) Read(ctx context.Context, do func(r *Reader) error) error {
	r, err := g.Begin(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := do(r); err != nil {
		return err
	}
	if r.Degraded() {
		links.ReportDegraded(ctx)
	}
	return ctx.Err()
}

// ReadRetrying retries do while a machine is down, because a newer view may answer. do must
// reset its results on every attempt.
func (g *Readers) ReadRetrying(ctx context.Context, do func(r *Reader) error) error {
	var last Reader
	for {
		err := g.Read(ctx, func(r *Reader) error {
			r.Retries, r.retryUntil, r.retryPause = true, last.retryUntil, last.retryPause
			err := do(r)
			last.retryUntil, last.retryPause = r.retryUntil, r.retryPause // no other goroutine uses r any more
			return err
		})
		last.Readers = g
		if !errors.Is(err, store.ErrUnavailable) || !last.WaitRetry(ctx) {
			return err
		}
	}
}

// Pause waits for d, and returns false if the graph is closed.
func (g *Readers) Pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.Ctx.Done():
		return false
	}
}

// ErrClosed is the error of calls after Close.
var ErrClosed = fmt.Errorf("the link graph: %w", store.ErrClosed)
