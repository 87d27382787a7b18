package main

import (
	"context"
	"fmt"
	"os"
)

// load measures bulk loads of one file through the doors of clusters, and what
// they leave on all disks together; first into a directory, without a server.
func (b *bench) load(ctx context.Context) error {
	file, err := b.data(ctx, b.sizes.triples)
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
	dir, err := os.MkdirTemp(b.dir, "store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := b.loadBy(ctx, file, "--data", dir)
	if err != nil {
		return err
	}
	b.report.add(figure{What: fmt.Sprintf("load of %s triples into a directory, without a server", thousands(float64(l.Read))), Nodes: 1,
		Value: perSecond(l.Read, l.took), Unit: "triples/s", Detail: fmt.Sprintf("%.1f s", l.took.Seconds())})
	return nil
}

func (b *bench) loadNodes(ctx context.Context, n int, file string, alone *float64) error {
	c, err := b.form(ctx, n)
	if err != nil {
		return err
	}
	defer c.close()
	before := c.cpu(nil)
	l, err := c.load(ctx, file)
	if err != nil {
		return err
	}
	used := c.cpu(nil) - before
	rate := perSecond(l.Read, l.took)
	f := figure{What: "the same load through a node", Nodes: n, Value: rate, Unit: "triples/s", Detail: fmt.Sprintf("%.1f s", l.took.Seconds())}
	if used > 0 {
		f.Detail += fmt.Sprintf("; %.1f s of processor time of all nodes", used.Seconds())
	}
	if n == 1 {
		*alone = rate
	} else {
		f.Asked = "0.5x of one node"
		f.Detail = ofOne(rate, *alone) + "; " + f.Detail
	}
	b.report.add(f)
	s, err := c.rest(ctx)
	if err != nil {
		return err
	}
	size, err := c.size()
	if err != nil {
		return err
	}
	b.report.add(figure{What: "tables on all disks together, at rest", Nodes: n, Value: float64(s.Bytes) / float64(l.Read), Unit: "bytes/triple",
		Detail: fmt.Sprintf("%.1f with logs, which are kept for use again", float64(size)/float64(l.Read))})
	return nil
}
