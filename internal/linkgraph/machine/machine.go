// The machine: what all parts of a graph have in common.

package machine

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

// Machine is the node, the options and the life of a graph. All of its parts share it.
type Machine struct {
	Node       Node
	Options    Options
	Log        logger
	placements placements

	Context context.Context // ends with the graph
	Cancel  context.CancelCauseFunc
	Running sync.WaitGroup // the goroutines of all parts
}

// NewMachine returns the machine of an open graph.
func NewMachine(n Node, o Options) *Machine {
	m := &Machine{Node: n, Options: o, Log: logger{o.Logger}}
	m.Context, m.Cancel = context.WithCancelCause(context.Background())
	return m
}

// errClosed is the error of calls after Close.
var errClosed = fmt.Errorf("the link graph: %w", store.ErrClosed)

// Close ends all goroutines and waits for them.
func (m *Machine) Close() {
	m.Cancel(errClosed)
	m.Running.Wait()
}

// Path returns the path of a file of the graph.
func (m *Machine) Path(name string) string { return filepath.Join(m.Options.Dir, name) }

// PlacementOf returns the placement under a view.
func (m *Machine) PlacementOf(v *view.View) *Placement { return m.placements.get(v, m.Options.Copies) }

// Wanted returns the partitions that this machine must hold.
func (m *Machine) Wanted() PartitionSet {
	if m.Node.Lone() != nil {
		return AllPartitions
	}
	v := m.Node.View()
	if v == nil {
		return 0
	}
	return m.PlacementOf(v).of(m.Node.MachineID())
}

// Bound returns a context for one wait of a read. On a lone node no other machine could answer earlier.
func (m *Machine) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.Node.Lone() != nil {
		return context.WithCancel(ctx)
	}
	return readtimeout.Bound(ctx)
}

// WaitFor waits for some time, for another view or until the caller's goroutine is woken.
func (m *Machine) WaitFor(v *view.View, d time.Duration, wake <-chan struct{}) {
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

// Pause waits for some time, or until the graph is closed.
func (m *Machine) Pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.Context.Done():
	}
}

// Fits returns links.ErrMemory if something needs more memory than the graph may have.
func (m *Machine) Fits(need int64, what string) error {
	if m.Options.MemoryBytes == 0 || need <= m.Options.MemoryBytes {
		return nil
	}
	return fmt.Errorf("%w: %s takes %d KiB or more, and may have %d KiB: give this machine a greater --link-memory, add machines to the cluster, or keep no graph (--no-links)",
		links.ErrMemory, what, need>>10, m.Options.MemoryBytes>>10)
}

// ErrNotHeld is the refusal of a machine that does not hold a partition.
func (m *Machine) ErrNotHeld() error {
	return peer.Refuse(peer.CodeNotOwner, 0, "machine %s does not hold the cells of all of these pages", m.Node.MachineID())
}

// ErrUnreachable is wrapped by the error of a message to which there was no answer.
var ErrUnreachable = errors.New("another machine does not answer")

// ErrNoView is the error of a machine of a cluster before its first view: it joins, or has started again.
var ErrNoView = fmt.Errorf("%w: there is no view yet", store.ErrUnavailable)

// Unreachable reports whether a call failed because there was no answer.
func Unreachable(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &failed)
}

// MayPass reports whether a retry may help after an error, perhaps under another view.
func MayPass(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	switch {
	case errors.Is(err, ErrUnreachable): // a dial that ended by its own timeout is a context.DeadlineExceeded, too
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

// Tell logs a step, at info if it took more than a second, else at debug.
func (m *Machine) Tell(what string, begun time.Time) {
	level, took := slog.LevelDebug, time.Since(begun)
	if took > time.Second {
		level = slog.LevelInfo
	}
	m.Log.Log(m.Context, level, what, "took", took)
}
