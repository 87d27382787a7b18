// The photo site and the library, over HTTP.

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

const (
	workloadTriples = 50_000
	workloadTime    = 10 * time.Second
)

// workload measures the operations of applications.
func (b *bench) workload(ctx context.Context) error {
	for _, a := range b.Apps(workloadTriples) {
		if err := b.application(ctx, a); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return nil
}

func (b *bench) application(ctx context.Context, a rig.App) (err error) {
	dir := b.dir("workload")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := b.serve(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	m, err := a.Operate(ctx, []string{s.url}, func() error { return nil }, workloadTime)
	if err != nil {
		return err
	}
	b.Report.Row(fmt.Sprintf("%s, %d triples, %d clients over HTTP: operations/s", a.Name, workloadTriples, rig.WorkloadClients), "-",
		"%s", rig.Thousands(rig.PerSecond(m.Operations(), m.Elapsed)))
	rig.EachKind(m, func(kind string, took rig.Times) {
		b.Report.Row(fmt.Sprintf("%s, %s: median (p95)", a.Name, kind), "-", "%.2f ms (%.2f)", rig.Millis(took.Quantile(0.5)), rig.Millis(took.Quantile(0.95)))
	})
	return nil
}
