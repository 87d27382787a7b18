// The machine: what all parts of a graph have in common.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

// machine is the node, the options and the life of a graph. All of its parts share it.
type machine struct {
	node       Node
	o          Options
	log        logger
	placements placements

	ctx     context.Context // ends with the graph
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // the goroutines of all parts
}

// newMachine returns the machine of an open graph.
func newMachine(n Node, o Options) *machine {
	m := &machine{node: n, o: o, log: logger{o.Logger}}
	m.ctx, m.cancel = context.WithCancelCause(context.Background())
	return m
}

// errClosed is the error of calls after Close.
var errClosed = fmt.Errorf("the link graph: %w", store.ErrClosed)

// close ends all goroutines and waits for them.
func (m *machine) close() {
	m.cancel(errClosed)
	m.running.Wait()
}

// path returns the path of a file of the graph.
func (m *machine) path(name string) string { return filepath.Join(m.o.Dir, name) }

// placementOf returns the placement under a view.
func (m *machine) placementOf(v *view.View) *placement { return m.placements.get(v, m.o.Copies) }

// wanted returns the partitions that this machine must hold.
func (m *machine) wanted() partitionSet {
	if m.node.Lone() != nil {
		return allPartitions
	}
	v := m.node.View()
	if v == nil {
		return 0
	}
	return m.placementOf(v).of(m.node.MachineID())
}

// bound returns a context for one wait of a read. On a lone node no other machine could answer earlier.
func (m *machine) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.node.Lone() != nil {
		return context.WithCancel(ctx)
	}
	return readtimeout.Bound(ctx)
}

// waitFor waits for some time, for another view or until the caller's goroutine is woken.
func (m *machine) waitFor(v *view.View, d time.Duration, wake <-chan struct{}) {
	ctx, cancel := context.WithTimeout(m.ctx, d)
	defer cancel()
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		if v == nil || m.node.Newer(ctx, v) != nil {
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

// pause waits for some time, or until the graph is closed.
func (m *machine) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.ctx.Done():
	}
}

// fits returns links.ErrMemory if something needs more memory than the graph may have.
func (m *machine) fits(need int64, what string) error {
	if m.o.MemoryBytes == 0 || need <= m.o.MemoryBytes {
		return nil
	}
	return fmt.Errorf("%w: %s takes %d KiB or more, and may have %d KiB: give this machine a greater --link-memory, add machines to the cluster, or keep no graph (--no-links)",
		links.ErrMemory, what, need>>10, m.o.MemoryBytes>>10)
}

// errNotHeld is the refusal of a machine that does not hold a partition.
func (m *machine) errNotHeld() error {
	return peer.Refuse(peer.CodeNotOwner, 0, "machine %s does not hold the cells of all of these pages", m.node.MachineID())
}

// errUnreachable is wrapped by the error of a message to which there was no answer.
var errUnreachable = errors.New("another machine does not answer")

// errNoView is the error of a machine of a cluster before its first view: it joins, or has started again.
var errNoView = fmt.Errorf("%w: there is no view yet", store.ErrUnavailable)

// unreachable reports whether a call failed because there was no answer.
func unreachable(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &failed)
}

// mayPass reports whether a retry may help after an error, perhaps under another view.
func mayPass(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	switch {
	case errors.Is(err, errUnreachable): // a dial that ended by its own timeout is a context.DeadlineExceeded, too
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrClosed):
		return false
	case errors.As(err, &refusal):
		switch refusal.Code {
		case peer.CodeEpoch, peer.CodeLease, peer.CodeUnavailable, peer.CodeNotOwner, peer.CodeClosing, peer.CodeBusy, peer.CodeMethod:
			return true
		}
		return false
	case errors.As(err, &failed):
		return false
	}
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUnknown) || errors.Is(err, links.ErrLoading)
}

type logger struct{ *slog.Logger }

// tell logs a step, at info if it took more than a second, else at debug.
func (m *machine) tell(what string, begun time.Time) {
	level, took := slog.LevelDebug, time.Since(begun)
	if took > time.Second {
		level = slog.LevelInfo
	}
	m.log.Log(m.ctx, level, what, "took", took)
}
