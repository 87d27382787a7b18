// What operators need: checks, backups and restores, quiet times, and room on the disk.

package store

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/backup"
	"github.com/trefoildb/trefoil/internal/store/check"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// Checkpoint makes dir a copy of the current data directory, with the same UUID (see
// [directory.NewIdentity]). dir must not exist. Reads and writes continue. If dir is on the same
// file system, the tables are hard links and take no time and no space.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	if err := s.db.Begin(); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	defer s.db.End()
	return fault.Wrap("checkpoint "+dir, backup.Checkpoint(ctx, s.db, s.id, dir))
}

// Backup writes a tar of the current data directory; reads and writes continue. [Restore] reads
// it. The tables of that moment stay on disk until Backup returns.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	if err := s.db.Begin(); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer s.db.End()
	return fault.Wrap("backup", backup.Write(ctx, s.db, s.id, s.options.Version, s.betweenCommits(ctx), w))
}

// betweenCommits returns a function that calls copy between two commits. It also returns the position
// of the feed at that moment.
func (s *Store) betweenCommits(ctx context.Context) func(copy func() error) (feed.Position, error) {
	return func(copy func() error) (feed.Position, error) {
		s.committer.mu.Lock()
		defer s.committer.mu.Unlock()
		position, err := s.feed.Position(ctx)
		if err == nil {
			err = copy()
		}
		return position, err
	}
}

// Restore makes dir a data directory from the output of [Store.Backup]. dir must be missing or
// empty. At the end either everything is verified and durable, or dir is as before. After a crash,
// Restore may be repeated; until then Open rejects dir.
//
// Positions of the original's change feed are invalid in dir, because the original may have changed
// since the backup. The UUID is the original's. If both directories are to run, one must get a new UUID from
// [directory.NewIdentity].
func Restore(ctx context.Context, dir string, r io.Reader) error {
	return fault.Wrap("restore "+dir, restore(ctx, vfs.Default, dir, r))
}

func restore(ctx context.Context, fs vfs.FS, dir string, r io.Reader) error {
	return backup.CreateDir(fs, dir, func(work string) error { return unpack(ctx, fs, work, r) })
}

// MakeDirectory makes dir a data directory by fill, all or nothing as [Restore] does. fill must make a
// data directory of the empty directory work, by [Unpack] or by [Open], and close it.
func MakeDirectory(dir string, fill func(work string) error) error {
	return fault.Wrap("restore "+dir, backup.CreateDir(vfs.Default, dir, fill))
}

// Unpack makes the empty directory dir a data directory from the output of [Store.Backup]. If it
// fails, it leaves files; see [MakeDirectory].
func Unpack(ctx context.Context, dir string, r io.Reader) error {
	return unpack(ctx, vfs.Default, dir, r)
}

func unpack(ctx context.Context, fs vfs.FS, dir string, r io.Reader) error {
	if err := backup.Unpack(ctx, fs, dir, r); err != nil {
		return err
	}
	s, err := Open(dir, Options{ReadOnly: true, Member: true, FS: fs, CacheBytes: 1 << 20})
	if err != nil {
		return err
	}
	return s.Close()
}

// Check verifies a snapshot of the store; see package check.
func (s *Store) Check(ctx context.Context) (api.CheckReport, error) {
	sn, err := s.Snapshot()
	if err != nil {
		return api.CheckReport{}, fault.Wrap("check", err)
	}
	defer sn.Close()
	_, isMember := s.Identity()
	report, err := check.Run(ctx, s.db, sn.pebble, s.segments.Layout(), isMember)
	return report, fault.Wrap("check", err)
}

// Tidy frees the disk space of deleted rows and of old changes in the feed. Unless the segments are the cluster's, it also merges
// small ones. It works in small steps. After each it calls next with the step's duration, and ends
// if next returns false. next may pause. Requests continue meanwhile.
func (s *Store) Tidy(ctx context.Context, next func(time.Duration) bool) error {
	if s.options.ReadOnly {
		return fault.Wrap("tidy", ErrReadOnly)
	}
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	// The store of a cluster's machine has no changes in the feed. It must not wait for a commit here,
	// because a commit may wait for a stalled disk.
	if bytes, _ := s.feed.Size(); bytes > 0 {
		if err := s.committer.Exclusive(func(*Commit) error { return s.feed.Trim() }); err != nil {
			return fault.Wrap("trim the change feed", err)
		}
	}
	if err := s.db.Reclaim(ctx, s.metrics.removed(), next); err != nil {
		return fault.Wrap("reclaim space", err)
	}
	return fault.Wrap("merge segments", s.segments.Merge(s.metrics.removed(), next))
}

// Room is the kind of client writes that a disk has room for. Machines send it to each other
// before they stamp an operation, because a stamped operation must be written on any disk.
type Room uint8

const (
	RoomForAll     Room = iota
	RoomForDeletes      // less than the watermark is free
	RoomForNone         // less than three quarters of it: the rest is for operations in flight
)

// Room returns how much room the store's disk has.
func (s *Store) Room() Room {
	switch {
	case !s.db.RoomForClients():
		return RoomForNone
	case s.db.Room(0) != nil:
		return RoomForDeletes
	}
	return RoomForAll
}
