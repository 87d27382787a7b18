package agreement

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/errors/oserror"
	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/node/view"
)

// Stored returns the newest view in cfg.Dir, whether it was agreed on or not, and
// nil if there is none, or no such directory. Only while no Agreement is open there.
// Of cfg, ID, Address, Dir, FS and Logger count.
//
// The term is that in which it was proposed, or a later one if it is in a snapshot. Of
// machines that have agreed with each other the one whose view has the greatest term,
// and of those the greatest epoch, has all views that were agreed on and are on any.
func Stored(cfg Config) (v *view.View, term uint64, err error) {
	if _, err := cfg.withDefaults().FS.Stat(cfg.Dir); oserror.IsNotExist(err) {
		return nil, 0, nil
	}
	err = offline(cfg, func(s *store, c *codec) error {
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
		for i := max(first, 1); i <= s.last; i++ {
			var l raft.Log
			if err := s.GetLog(i, &l); err != nil {
				return err
			}
			if l.Type == raft.LogCommand {
				if m.Apply(&l) == nil { // what is refused changes nothing
					term = l.Term
				}
			}
		}
		v = m.view()
		return nil
	})
	return v, term, err
}

// RecoverMajority makes this node the only voter, and v its view, when the
// majority of voters is gone for good. v must be of a later generation than what
// is there. Only while no Agreement is open in cfg.Dir, and only where one was. Of
// cfg, ID, Address, Dir, FS and Logger count.
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

// recovered is a machine that goes through what is on disk and whose snapshot is
// the view that the operator wants.
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
