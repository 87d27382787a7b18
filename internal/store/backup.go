// Checkpoints, backups and restores of a store.

package store

import (
	"context"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/backup"
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
	return fault.Wrap("backup", backup.Write(ctx, s.db, s.id, s.options.Version, w))
}

// Restore makes dir a data directory from the output of [Store.Backup]. dir must be missing or
// empty. At the end either everything is verified and durable, or dir is as before. After a crash,
// Restore may be repeated; until then Open rejects dir.
//
// The UUID is the original's. If both directories are to run, one must get a new UUID from
// [directory.NewIdentity].
func Restore(ctx context.Context, dir string, r io.Reader) error {
	return fault.Wrap("restore "+dir, restore(ctx, vfs.Default, dir, r))
}

func restore(ctx context.Context, fs vfs.FS, dir string, r io.Reader) error {
	return backup.Restore(ctx, fs, dir, r, func(dir string) error {
		s, err := Open(dir, Options{ReadOnly: true, Member: true, FS: fs, CacheBytes: 1 << 20})
		if err != nil {
			return err
		}
		return s.Close()
	})
}
