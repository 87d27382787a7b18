// Applications: adds, deletes and searches of several clients.

package cluster

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// workload measures the photo site and the library.
func (b *bench) workload(ctx context.Context) error {
	for _, a := range b.Apps(b.sizes.workload) {
		var alone float64 // operations a second of one node
		for _, n := range b.sizes.writeNodes {
			rate, err := b.application(ctx, n, a, alone)
			if err != nil {
				return fmt.Errorf("%s, %d nodes: %w", a.Name, n, err)
			}
			if n == 1 {
				alone = rate
			}
		}
	}
	return nil
}

// application measures one application on n nodes.
func (b *bench) application(ctx context.Context, n int, a rig.App, alone float64) (rate float64, err error) {
	c, err := b.form(ctx, n)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	m, err := a.Operate(ctx, c.URLs(), func() error { _, err := c.Rest(ctx); return err }, b.sizes.workloadTime)
	if err != nil {
		return 0, err
	}
	rate = rig.PerSecond(m.Operations(), m.Elapsed)
	f := rig.Figure{What: fmt.Sprintf("%s, %d triples, %d clients", a.Name, b.sizes.workload, rig.WorkloadClients), Nodes: n, Value: rate, Unit: "operations/s"}
	if alone > 0 {
		f.Detail = ofOne(rate, alone)
	}
	b.Report.Add(f)
	rig.EachKind(m, func(kind string, took rig.Times) {
		b.Report.Add(rig.Figure{What: a.Name + ", " + kind, Nodes: n, Value: rig.Millis(took.Quantile(0.5)), Unit: "ms",
			Detail: fmt.Sprintf("p95 %.2f ms", rig.Millis(took.Quantile(0.95)))})
	})
	return rate, nil
}
