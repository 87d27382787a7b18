package node

import (
	"context"
	"errors"
	"io"
)

// Checkpoint makes a copy.
func (s *Store) Checkpoint(ctx context.Context, dir string) error { return errors.ErrUnsupported }

// Backup writes a backup.
func (s *Store) Backup(ctx context.Context, w io.Writer) error { return errors.ErrUnsupported }

// Restore restores one.
func Restore(ctx context.Context, dir string, r io.Reader) error { return errors.ErrUnsupported }
