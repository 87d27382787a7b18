package cluster

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// ErrNotMember: the directory belongs to no cluster.
var ErrNotMember = errors.New("the directory does not belong to a member of a cluster")

// RecoverMajority begins a new generation of a cluster whose majority of voters is
// gone for good, on the stopped node of a data directory. Members are that machine
// and those of keep, on whose directories [Follow] is to be run; all others are
// given up, whatever they had. It returns the view of the new generation, in which
// ranges may be lost.
//
// It rests on the operator's word that the machines which are given up do not run,
// and will not be started together again: as a majority of the old generation they
// would serve each other. fs nil is the disk.
func RecoverMajority(fs vfs.FS, dir string, keep []trie.MachineID, logger *slog.Logger) (v *view.View, err error) {
	store, err := openMember(fs, dir, logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	self := store.MachineID()
	cfg := agreement.Config{ID: self, Address: "stopped:0", Dir: filepath.Join(store.Dir(), raftDir), FS: fs, Logger: logger}
	old, err := agreement.Stored(cfg)
	if err != nil {
		return nil, err
	}
	if old == nil || old.Find(self) == nil {
		return nil, fmt.Errorf("%w: %s: it has no view with this machine", ErrNotMember, dir)
	}
	cfg.Address = old.Find(self).Address
	if !slices.Contains(keep, self) {
		keep = append(slices.Clone(keep), self)
	}
	if v, err = old.Recover(keep...); err != nil {
		return nil, err
	}
	if err := agreement.RecoverMajority(cfg, v); err != nil {
		return nil, err
	}
	return v, store.SetIdentity(node.Identity{Cluster: v.Cluster, ClusterID: v.ClusterID, Generation: v.Generation})
}

// Follow prepares the stopped node of a data directory for a new generation that
// [RecoverMajority] begins elsewhere and that keeps this machine: it forgets what was
// agreed on in the old one and keeps its data. The addresses are those of members of
// the new one.
func Follow(fs vfs.FS, dir string, addresses []string, logger *slog.Logger) (err error) {
	if len(addresses) == 0 {
		return fmt.Errorf("%w: no address of a member of the new generation", node.ErrInvalid)
	}
	store, err := openMember(fs, dir, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	identity, _ := store.Identity()
	identity.Generation++
	if fs == nil {
		fs = vfs.Default
	}
	if err := node.LeaveWord(fs, store.Dir(), addresses); err != nil {
		return err
	}
	if err := fs.RemoveAll(filepath.Join(store.Dir(), raftDir)); err != nil {
		return err
	}
	return store.SetIdentity(identity)
}

func openMember(fs vfs.FS, dir string, logger *slog.Logger) (*node.Store, error) {
	store, err := node.Open(dir, node.Options{Member: true, FS: fs, Logger: logger})
	if err != nil {
		return nil, err
	}
	if _, ok := store.Identity(); !ok {
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrNotMember, dir), store.Close())
	}
	return store, nil
}
