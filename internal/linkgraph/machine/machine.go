// The machine: what all parts of a graph have in common.

package machine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

// Machine is the member's part of a graph, with its options. All parts of the graph share it.
type Machine struct {
	*derived.Member
	Options Options
}

// NewMachine returns the machine of an open graph. Its partitions are on the members that keep a graph. The first
// holder of a partition assigns its UIDs.
func NewMachine(n derived.Node, o Options) *Machine {
	place := func(v *view.View) *derived.Placement {
		return derived.Ranked(v, NumPartitions, "", o.Copies+1, func(m *view.Member) bool { return !m.NoLinks })
	}
	return &Machine{derived.NewMember(n, derived.Index{Name: "the link graph", Dir: o.Dir, Logger: o.Logger, Place: place}), o}
}

// Wanted returns the partitions that this machine must hold.
func (m *Machine) Wanted() derived.Partitions {
	if m.Node.Lone() != nil {
		return AllPartitions
	}
	return m.Member.Wanted()
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

// ErrNoView is the error of a machine of a cluster before its first view: it joins, or has started again.
var ErrNoView = fmt.Errorf("%w: there is no view yet", store.ErrUnavailable)

// MayPass reports whether a retry may help after an error, perhaps under another view.
func MayPass(err error) bool { return derived.MayPass(err, links.ErrLoading) }

// LogStep logs a step, at info if it took more than a second, else at debug.
func (m *Machine) LogStep(what string, begun time.Time) {
	level, took := slog.LevelDebug, time.Since(begun)
	if took > time.Second {
		level = slog.LevelInfo
	}
	m.Log.Log(m.Context, level, what, "took", took)
}
