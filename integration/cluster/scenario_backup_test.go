// Backups of scenarios.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// archive is a backup that was taken, and the triples that its restore must have at least.
type archive struct {
	data  []byte
	end   feed.Position
	least map[int]bool
}

func (p *play) backup(ctx context.Context, args []string) error {
	return p.takeBackup(ctx, args, nil)
}

// increment takes a backup of the changes since the last one.
func (p *play) increment(ctx context.Context, args []string) error {
	if len(p.chain) == 0 {
		return errors.New("there is no backup to continue")
	}
	return p.takeBackup(ctx, args, p.chain)
}

// takeBackup takes a backup that continues a chain, and restores it. If none comes of it, what was sent
// must not be taken for a backup.
func (p *play) takeBackup(ctx context.Context, args []string, chain []archive) error {
	api, err := p.api(p.machineOf(args))
	if err != nil {
		return err
	}
	path := "/backup"
	if len(chain) > 0 {
		path += "?since=" + chain[len(chain)-1].end.String()
	}
	a := archive{least: maps.Clone(p.data)}
	if a.data, err = ask(ctx, api, http.MethodGet, path, nil); err != nil {
		if _, read := backup.Read(bytes.NewReader(a.data)); len(a.data) > 0 && !errors.Is(read, store.ErrBackup) {
			return fmt.Errorf("a backup failed (%v), and what was sent of it is read: %v", err, read)
		}
		return err
	}
	info, err := backup.Read(bytes.NewReader(a.data))
	if err != nil {
		return err
	}
	a.end = info.End
	p.chain = append(slices.Clone(chain), a)
	return p.restored(ctx)
}

// restored restores the chain of backups. The store must have what was acknowledged before the last one
// began, and nothing that was not written.
func (p *play) restored(ctx context.Context) error {
	var chain []backup.Archive
	for i, a := range p.chain {
		chain = append(chain, backup.Archive{Name: fmt.Sprint("archive ", i), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(a.data)), nil }})
	}
	dir := filepath.Join(p.w.t.TempDir(), "restored")
	if _, err := backup.Restore(ctx, dir, chain, backup.Options{}); err != nil {
		return err
	}
	s, err := store.Open(dir, store.Options{MinFreeBytes: -1})
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := contentsOf(ctx, s, triple.SPO)
	if err != nil {
		return err
	}
	// What was added since, or may have been, may be there or not.
	last := p.chain[len(p.chain)-1]
	for _, i := range slices.Concat(p.doubtful, slices.Collect(maps.Keys(p.data))) {
		if !last.least[i] {
			delete(got, numbered(i, i+1)[0].String())
		}
	}
	want := map[string]bool{}
	for i := range last.least {
		want[numbered(i, i+1)[0].String()] = true
	}
	if diff := difference(got, want); diff != "" {
		return fmt.Errorf("the store that is restored from %d backups: %s", len(chain), diff)
	}
	return nil
}
