// Bulk loads.

package cluster

import (
	"context"
	"fmt"
	"os"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// load measures bulk loads of one file: into a directory without a server, then through
// servers. It also measures the bytes on all disks together.
func (b *bench) load(ctx context.Context) error {
	file, err := b.Data(ctx, "lubm", b.sizes.triples)
	if err != nil {
		return err
	}
	if err := b.loadDirectory(ctx, file); err != nil {
		return err
	}
	var alone float64
	for _, n := range b.sizes.loadNodes {
		if err := b.loadNodes(ctx, n, file, &alone); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	return nil
}

func (b *bench) loadDirectory(ctx context.Context, file string) error {
	dir, err := os.MkdirTemp(b.Dir, "store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := b.Load(ctx, file, "--data", dir)
	if err != nil {
		return err
	}
	b.Report.Add(rig.Figure{What: fmt.Sprintf("load of %s triples into a directory, without a server", rig.Thousands(float64(l.Read))), Nodes: 1,
		Value: rig.PerSecond(l.Read, l.Took), Unit: "triples/s", Detail: fmt.Sprintf("%.1f s", l.Took.Seconds())})
	return nil
}

func (b *bench) loadNodes(ctx context.Context, n int, file string, alone *float64) error {
	c, err := b.form(ctx, n)
	if err != nil {
		return err
	}
	defer c.Close()

	before := c.CPU(nil)
	l, err := c.load(ctx, file)
	if err != nil {
		return err
	}
	used := c.CPU(nil) - before
	rate := rig.PerSecond(l.Read, l.Took)
	f := rig.Figure{What: "the same load through a node", Nodes: n, Value: rate, Unit: "triples/s", Detail: fmt.Sprintf("%.1f s", l.Took.Seconds())}
	if used > 0 {
		f.Detail += fmt.Sprintf("; %.1f s of processor time of all nodes", used.Seconds())
	}
	if n == 1 {
		*alone = rate
	} else {
		f.Target = "0.5x of one node"
		f.Detail = ofOne(rate, *alone) + "; " + f.Detail
	}
	b.Report.Add(f)

	// The bytes on disk, which must be read when compactions are over.
	s, err := c.Rest(ctx)
	if err != nil {
		return err
	}
	size, err := c.Size()
	if err != nil {
		return err
	}
	b.Report.Add(rig.Figure{What: "tables on all disks together, at rest", Nodes: n, Value: float64(s.Bytes) / float64(l.Read), Unit: "bytes/triple",
		Detail: fmt.Sprintf("%.1f with logs, which are kept for use again", float64(size)/float64(l.Read))})
	return nil
}
