// Work on the log of a stopped member.

package agreement

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// Stored returns the newest view in cfg.Dir, agreed on or not. It returns nil if there is no view
// or no such directory. No Agreement may be open there. It uses ID, Address, Dir, FS and Logger
// of cfg.
//
// The term is the view's, or a later one if the view is in a snapshot. Compare machines which
// have agreed with each other: the view with the greatest term and, among equal terms, the
// greatest epoch has all agreed views any of them has.
func Stored(cfg Config) (v *view.View, term uint64, err error) {
	if _, err := cfg.withDefaults().FS.Stat(cfg.Dir); oserror.IsNotExist(err) {
		return nil, 0, nil
	}
	err = offline(cfg, func(s *store, c *codec) error {
		// 1. Restore the newest snapshot.
		m := newMachine(c)
		snapshots, err := s.List()
		if err != nil {
			return err
		}
		first, err := s.FirstIndex()
		if err != nil {
			return err
		}
		if len(snapshots) > 0 {
			_, contents, err := s.Open(snapshots[0].ID)
			if err != nil {
				return err
			}
			if err := m.Restore(contents); err != nil {
				return err
			}
			first, term = max(first, snapshots[0].Index+1), snapshots[0].Term
		}
		// 2. Apply the entries behind it. The term is that of the last accepted view, because
		// a refused one changes nothing.
		for i := max(first, 1); i <= s.last; i++ {
			var l raft.Log
			if err := s.GetLog(i, &l); err != nil {
				return err
			}
			if l.Type == raft.LogCommand {
				if m.Apply(&l) == nil {
					term = l.Term
				}
			}
		}
		v = m.view()
		return nil
	})
	return v, term, err
}

// RecoverMajority makes this node the only voter, and v its view, if the majority of voters is
// gone for good. v must be of a later generation than the stored view. No Agreement may be open
// in cfg.Dir, and one must have been there. It uses ID, Address, Dir, FS and Logger of cfg.
func RecoverMajority(cfg Config, v *view.View) error {
	if err := v.Validate(); err != nil {
		return fmt.Errorf("agreement: recover: %w", err)
	}
	return offline(cfg, func(s *store, c *codec) error {
		configuration := raft.Configuration{Servers: []raft.Server{{
			Suffrage: raft.Voter, ID: serverID(cfg.ID), Address: serverAddress(cfg.ID, cfg.Address),
		}}}
		m := &recovered{machine: newMachine(c), to: v}
		return raft.RecoverCluster(cfg.withDefaults().raft(), m, s, s, s, nil, configuration)
	})
}

// offline opens the store for f, without Raft.
func offline(cfg Config, f func(*store, *codec) error) (err error) {
	cfg = cfg.withDefaults()
	if cfg.ID == 0 || cfg.Address == "" {
		return errors.New("agreement: the configuration lacks ID or address")
	}
	s, err := openStore(cfg.FS, cfg.Dir, cfg.Logger, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c, err := newCodec()
	if err != nil {
		return err
	}
	defer c.close()
	if err := s.guard(func() error { return f(s, c) }); err != nil {
		return fmt.Errorf("agreement: %s: %w", cfg.Dir, err)
	}
	return nil
}

// recovered is a machine for the stored log. Its snapshot is the operator's view.
type recovered struct {
	*machine
	to *view.View
}

// Snapshot implements raft.FSM.
func (m *recovered) Snapshot() (raft.FSMSnapshot, error) {
	if last := m.view(); last != nil && (m.to.ClusterID != last.ClusterID || m.to.Generation <= last.Generation) {
		return nil, fmt.Errorf("the view is of generation %d of cluster %s, not of a later one than %d of %s",
			m.to.Generation, m.to.ClusterID, last.Generation, last.ClusterID)
	}
	return frozen{m.codec, m.to}, nil
}
