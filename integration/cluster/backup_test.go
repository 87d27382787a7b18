// Backups of clusters.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// TestBackup restores chains that were taken under writers to points of their histories. A machine alone
// has its disk in memory here, so its bulk loads are tested in package backup.
func TestBackup(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{1, 2, 4}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				if machines == 1 {
					w.machines[0].run()
				} else {
					w.form()
				}
				storetest.TestBackup(t, func() store.Triples { return w.machines[0].node }, storetest.BackupTest{Writers: 2, Changes: 60, Seed: w.seed, Loads: machines > 1})
			})
		})
	}
}

// midway calls a function before a write.
type midway struct {
	io.Writer
	f func()
}

func (m *midway) Write(b []byte) (int, error) {
	if m.f != nil {
		m.f()
		m.f = nil
	}
	return m.Writer.Write(b)
}

// TestBackupKilled: a machine dies while a backup is written. The backup has everything, or fails and
// may be repeated. A machine that is restored from it forms a cluster with others.
func TestBackupKilled(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		var all []triple.Triple
		for n := range 3000 {
			all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://ex/s%d", n)), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewString(string(bytes.Repeat([]byte{'a' + byte(n%26)}, 300)))})
		}
		w.must("add", func(ctx context.Context) error {
			_, err := store.Add(ctx, w.machines[0].node, all)
			return err
		})
		// 1. Take a backup, and kill another machine after its first bytes.
		var archive bytes.Buffer
		out := &midway{&archive, func() { w.machines[1+w.random.IntN(4)].kill() }}
		err := w.machines[0].node.Backup(t.Context(), out)
		if err != nil {
			t.Logf("the first backup: %v", err)
			if _, err := backup.Read(bytes.NewReader(archive.Bytes())); !errors.Is(err, store.ErrBackup) {
				t.Errorf("what it left is read: %v", err)
			}
			w.eventually("back up", func(ctx context.Context) error {
				archive.Reset()
				return w.machines[0].node.Backup(ctx, &archive)
			})
		}
		// 2. Restore it. The new store has its own feed.
		dir := filepath.Join(t.TempDir(), "restored")
		chain := []backup.Archive{{Name: "archive", Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }}}
		if _, err := backup.Restore(t.Context(), dir, chain, backup.Options{}); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(dir, store.Options{MinFreeBytes: -1})
		require.NoError(t, err)
		restored, err := storetest.Content(t.Context(), s)
		require.NoError(t, err)
		var content map[string]map[string]string
		w.must("read", func(ctx context.Context) (err error) {
			content, err = storetest.Content(ctx, w.machines[0].node)
			return err
		})
		if len(content) != len(all) || !maps.EqualFunc(content, restored, maps.Equal) {
			t.Errorf("%d triples were added, %d are in the cluster and %d in the restored store", len(all), len(content), len(restored))
		}
		position, err := w.machines[0].node.Feed().Position(t.Context())
		require.NoError(t, err)
		for _, err := range s.Feed().Changes(t.Context(), feed.Request{Since: position}) {
			if !errors.Is(err, feed.ErrPosition) {
				t.Errorf("a position of the original: %v", err)
			}
		}
		require.NoError(t, s.Close())
		// 3. Start a machine with it, and let another one join.
		first, second := w.add(), w.add()
		if _, err := vfs.Clone(vfs.Default, first.disk, dir, dataDir, vfs.CloneSync); err != nil {
			t.Fatal(err)
		}
		first.run()
		second.run(first)
		w.eventually("read the new cluster", func(ctx context.Context) error {
			for _, m := range []*machine{first, second} {
				joined, err := storetest.Content(ctx, m.node)
				if err != nil {
					return err
				}
				if members := len(m.node.View().Members); members != 2 || !maps.EqualFunc(content, joined, maps.Equal) {
					return fmt.Errorf("%d members, %d triples", members, len(joined))
				}
			}
			return nil
		})
	})
}
