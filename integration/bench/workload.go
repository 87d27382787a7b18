// The photo site and the library: operations of an application, over HTTP.

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/workload"
	"github.com/trefoildb/trefoil/integration/workload/drive"
)

const (
	workloadTriples  = 50_000
	workloadClients  = 8
	workloadFor      = 10 * time.Second
	workloadSearches = 200 // that are judged in the end
)

// workload measures applications' operations, and has an oracle check what the node
// holds and answers in the end.
func (b *bench) workload(ctx context.Context) error {
	for _, a := range []struct {
		name string
		app  workload.Application
	}{
		{"photo site", workload.Photos{Seed: b.seed, Triples: workloadTriples}},
		{"library", workload.Library{Seed: b.seed, Triples: workloadTriples}},
	} {
		if err := b.application(ctx, a.name, a.app); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return nil
}

func (b *bench) application(ctx context.Context, name string, app workload.Application) (err error) {
	dir := b.store("workload")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := b.serve(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	c, err := client.New(s.url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()

	store, d := drive.OverHTTP{Client: c}, new(drive.Driver)
	if err := d.Load(ctx, store, app); err != nil {
		return err
	}
	m, err := drive.Measure(ctx, []drive.Store{store}, app, workloadClients, workloadFor)
	if err != nil {
		return err
	}
	if err := d.Verify(ctx, store, app, m, workloadSearches); err != nil {
		return err
	}
	b.report.row(fmt.Sprintf("%s, %d triples, %d clients over HTTP: operations/s", name, workloadTriples, workloadClients), "-",
		"%s", thousands(perSecond(m.Operations(), m.Elapsed)))
	for _, kind := range []workload.Kind{workload.Find, workload.Add, workload.Delete} {
		took := times(m.Took[kind])
		b.report.row(fmt.Sprintf("%s, %s: median (p95)", name, kind), "-", "%.2f ms (%.2f)", micro(took.quantile(0.5))/1000, micro(took.quantile(0.95))/1000)
	}
	return nil
}
