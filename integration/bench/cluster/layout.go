// Which machines hold a triple, from a copy of a member's log of views. No endpoint reports it.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// layout maps keys to the machines of a cluster.
type layout struct {
	joint    *recovery.Joint
	resolver *recovery.Resolver
	machines map[trie.MachineID]*rig.Machine
}

// layout reads the layout of a cluster whose view does not change. If the log of views grew
// while it was copied, the copy is made again.
func (c *cluster) layout(ctx context.Context) (*layout, error) {
	var errs error
	for range 5 {
		s, err := c.Calm(ctx, math.Inf(1)) // clients may be busy
		if err != nil {
			return nil, err
		}
		v, err := c.storedView()
		if err == nil && (v == nil || v.Epoch != s.Epoch || v.Phase != recovery.Idle) {
			err = fmt.Errorf("the copy of the log of views does not end with epoch %d", s.Epoch)
		}
		if err == nil {
			return c.layoutOf(v), nil
		}
		errs = errors.Join(errs, err)
	}
	return nil, errs
}

func (c *cluster) layoutOf(v *view.View) *layout {
	l := &layout{joint: v.Joint(), resolver: v.Joint().Resolver(), machines: map[trie.MachineID]*rig.Machine{}}
	for _, member := range v.Members {
		for _, m := range c.Machines {
			if m.Address == member.Address {
				l.machines[member.ID] = m
			}
		}
	}
	return l
}

// raftDir is the directory of the log of views, in the directory of a member.
const raftDir = "raft"

func (c *cluster) storedView() (*view.View, error) {
	to, err := os.MkdirTemp(c.b.Dir, "views-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(to)
	if err := os.CopyFS(to, os.DirFS(filepath.Join(c.Live()[0].Dir, raftDir))); err != nil {
		return nil, err
	}
	v, _, err := agreement.Stored(agreement.Config{ID: 1, Address: "stopped:0", Dir: to})
	return v, err
}

// owner returns the machine that answers for a triple's row in an order.
func (l *layout) owner(o triple.Order, t triple.Triple) *rig.Machine {
	key, _ := triple.AppendKey(nil, o, t)
	id, _ := l.joint.Reader(key)
	return l.machines[id]
}

// answers reports whether a machine owns some of the rows with the subject of a triple,
// which may lie in several segments.
func (l *layout) answers(m *rig.Machine, t triple.Triple) (bool, error) {
	scan, err := triple.Pattern{Subject: t.Subject}.Scan(triple.SPO)
	if err != nil {
		return false, err
	}
	for segment := range l.joint.Reads().Trie.Range(scan.Range.Lo, scan.Range.Hi) {
		if id, _ := l.joint.ReaderOf(segment); l.machines[id] == m {
			return true, nil
		}
	}
	return false, nil
}

// spare returns the machine, other than the leader, that answers for the fewest subjects of
// asked. untouched are the triples whose subjects the others answer for.
func (l *layout) spare(leader *rig.Machine, questions []triple.Triple) (victim *rig.Machine, untouched []triple.Triple, err error) {
	for _, m := range l.machines {
		if m == leader {
			continue
		}
		var others []triple.Triple
		for _, t := range questions {
			touched, err := l.answers(m, t)
			if err != nil {
				return nil, nil, err
			}
			if !touched {
				others = append(others, t)
			}
		}
		if len(others) > len(untouched) {
			victim, untouched = m, others
		}
	}
	if victim == nil {
		err = errors.New("no machine could be killed without all reads being of what it has: take more data")
	}
	return victim, untouched, err
}

// needs reports whether a write of the triple needs a machine, as a holder or as the sequencer.
func (l *layout) needs(m *rig.Machine, t triple.Triple) (bool, error) {
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	if err := l.resolver.Resolve(key); err != nil {
		return false, err
	}
	if id, ok := l.resolver.Sequencer(); ok && l.machines[id] == m {
		return true, nil
	}
	for _, slot := range l.resolver.Writes() {
		if l.machines[slot.Machine] == m {
			return true, nil
		}
	}
	return false, nil
}
