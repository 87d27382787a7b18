// Backups and restores, beside tar of the same bytes.

package changes

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// backups takes a full backup of the servers, and an increment after a hundredth of the triples was
// added. It restores both into a directory, and writes that as a tar and as a backup of files.
func (b *bench) backups(ctx context.Context, c *rig.Cluster) error {
	dir, err := os.MkdirTemp(b.Dir, "backup-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url, chain, restored := c.Machines[0].URL(), filepath.Join(dir, "chain")+"/", filepath.Join(dir, "restored")
	// 1. A chain of two backups.
	if err := b.timed(ctx, "full backup", chain+"00000001-full.tar", b.triples, "backup", "--to", url, chain); err != nil {
		return err
	}
	more := max(b.triples/100, 1)
	if _, err := b.write(ctx, c.Machines[0].Client, 2*b.triples, 2*b.triples+more); err != nil {
		return err
	}
	if err := b.timed(ctx, fmt.Sprintf("increment after %d adds", more), chain+"00000002-increment.tar", more, "backup", "--to", url, chain); err != nil {
		return err
	}
	if err := b.timed(ctx, "restore of both to a directory", restored, b.triples+more, "restore", "--data", restored, chain); err != nil {
		return err
	}
	// 2. The same bytes as a tar, and as a backup.
	begun := time.Now()
	if err := tarOf(restored, filepath.Join(dir, "files.tar")); err != nil {
		return err
	}
	if err := b.row("tar of this directory", filepath.Join(dir, "files.tar"), b.triples+more, time.Since(begun)); err != nil {
		return err
	}
	return b.timed(ctx, "backup of this directory", filepath.Join(dir, "backup.tar"), b.triples+more, "backup", "--data", restored, filepath.Join(dir, "backup.tar"))
}

// timed runs a command that writes a file or a directory of some triples.
func (b *bench) timed(ctx context.Context, what, output string, triples int, args ...string) error {
	begun := time.Now()
	if _, err := rig.Output(b.Command(ctx, args...)); err != nil {
		return err
	}
	return b.row(what, output, triples, time.Since(begun))
}

// row reports how fast a file or a directory was written.
func (b *bench) row(what, output string, triples int, took time.Duration) error {
	size, err := rig.DirSize(output)
	if err != nil {
		return err
	}
	if size == 0 {
		return fmt.Errorf("%s: %s is empty", what, output)
	}
	mb := float64(size) / 1e6
	b.Report.Row(what, "", "%.2f s, %.1f MB, %.0f MB/s, %s triples/s", took.Seconds(), mb, rig.Ratio(mb, took.Seconds()), rig.Thousands(rig.PerSecond(int64(triples), took)))
	return nil
}

// tarOf writes the files of a directory as a tar, and syncs it.
func tarOf(dir, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := tar.NewWriter(f)
	return errors.Join(out.AddFS(os.DirFS(dir)), out.Close(), f.Sync(), f.Close())
}
