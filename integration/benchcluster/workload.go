package main

// This file measures applications: adds, deletes and searches of many clients.

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/workload"
	"github.com/trefoildb/trefoil/integration/workload/drive"
)

const (
	workloadClients  = 8
	workloadSearches = 200 // that are judged in the end
)

// workload measures the photo site and the library. An oracle checks in the end what
// the cluster holds and answers.
func (b *bench) workload(ctx context.Context) error {
	for _, a := range []struct {
		name string
		app  workload.Application
	}{
		{"photo site", workload.Photos{Seed: b.seed, Triples: b.sizes.workload}},
		{"library", workload.Library{Seed: b.seed, Triples: b.sizes.workload}},
	} {
		var alone float64 // operations a second of one node
		for _, n := range b.sizes.writeNodes {
			rate, err := b.application(ctx, n, a.name, a.app, alone)
			if err != nil {
				return fmt.Errorf("%s, %d nodes: %w", a.name, n, err)
			}
			if n == 1 {
				alone = rate
			}
		}
	}
	return nil
}

// application measures one application on n nodes, whose clients are spread over all.
func (b *bench) application(ctx context.Context, n int, name string, app workload.Application, alone float64) (rate float64, err error) {
	// 1. The initial data, and splits of segments that they bring.
	c, err := b.form(ctx, n)
	if err != nil {
		return 0, err
	}
	defer c.close()
	var stores []drive.Store
	for _, m := range c.live() {
		one, err := client.New(m.url(), client.Options{})
		if err != nil {
			return 0, err
		}
		defer one.Close()
		stores = append(stores, drive.OverHTTP{Client: one})
	}
	d := new(drive.Driver)
	if err := d.Load(ctx, stores[0], app); err != nil {
		return 0, err
	}
	if _, err := c.rest(ctx); err != nil {
		return 0, err
	}

	// 2. Operations; then what they have left.
	m, err := drive.Measure(ctx, stores, app, workloadClients, b.sizes.workloadFor)
	if err != nil {
		return 0, err
	}
	if err := d.Verify(ctx, stores[len(stores)-1], app, m, workloadSearches); err != nil {
		return 0, err
	}
	rate = perSecond(m.Operations(), m.Elapsed)
	f := figure{What: fmt.Sprintf("%s, %d triples, %d clients", name, b.sizes.workload, workloadClients), Nodes: n, Value: rate, Unit: "operations/s"}
	if alone > 0 {
		f.Detail = ofOne(rate, alone)
	}
	b.report.add(f)
	for _, kind := range []workload.Kind{workload.Find, workload.Add, workload.Delete} {
		took := times(m.Took[kind])
		b.report.add(figure{What: fmt.Sprintf("%s, %s", name, kind), Nodes: n, Value: millis(took.quantile(0.5)), Unit: "ms",
			Detail: fmt.Sprintf("p95 %.2f ms", millis(took.quantile(0.95)))})
	}
	return rate, nil
}
