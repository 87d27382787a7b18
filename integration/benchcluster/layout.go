package main

// This file finds out which machines hold what: from a copy of a member's log of
// views, since no door tells.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// layout tells which machines of a cluster hold what.
type layout struct {
	joint    *recovery.Joint
	resolver *recovery.Resolver
	machines map[trie.MachineID]*machine
}

// layout reads the layout of a cluster whose view does not change. The log of views does not change
// while nothing happens; a copy that was made while it did is made again.
func (c *cluster) layout(ctx context.Context) (*layout, error) {
	var errs error
	for range 5 {
		s, err := c.calm(ctx, math.Inf(1)) // clients may be at it
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
	l := &layout{joint: v.Joint(), resolver: v.Joint().Resolver(), machines: map[trie.MachineID]*machine{}}
	for _, member := range v.Members {
		for _, m := range c.machines {
			if m.address == member.Address {
				l.machines[member.ID] = m
			}
		}
	}
	return l
}

// raftDir is where a member keeps what the cluster agrees on, in its directory.
const raftDir = "raft"

func (c *cluster) storedView() (*view.View, error) {
	to, err := os.MkdirTemp(c.dir, "views-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(to)
	from := filepath.Join(c.live()[0].dir, raftDir)
	files, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := copyFile(filepath.Join(to, f.Name()), filepath.Join(from, f.Name())); err != nil {
			return nil, err
		}
	}
	v, _, err := agreement.Stored(agreement.Config{ID: 1, Address: "stopped:0", Dir: to})
	return v, err
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// owner returns the machine that answers for a triple's version in an order.
func (l *layout) owner(o triple.Order, t triple.Triple) *machine {
	key, _ := triple.AppendKey(nil, o, t)
	id, _ := l.joint.Reader(key)
	return l.machines[id]
}

// answers reports whether a machine owns some of the rows with the subject of a triple,
// which may lie in several segments.
func (l *layout) answers(m *machine, t triple.Triple) (bool, error) {
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

// spare returns the machine, other than the leader, that answers for the fewest of
// some subjects, and those that others answer for.
func (l *layout) spare(leader *machine, asked []triple.Triple) (victim *machine, untouched []triple.Triple, err error) {
	for _, m := range l.machines {
		if m == leader {
			continue
		}
		var others []triple.Triple
		for _, t := range asked {
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

// needs reports whether a write of the triple needs a machine: as a holder, or to
// stamp it.
func (l *layout) needs(m *machine, t triple.Triple) (bool, error) {
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

// pause waits for a while, or until ctx ends, whose error it then returns.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
