// SPARQL queries in the process.

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// A query runs at least minRuns times, and more often if these take less than queryTime.
const (
	minRuns   = 5
	queryTime = 2 * time.Second
)

// outcome is the result of one run of a query.
type outcome struct {
	rows, reads int64
	took        time.Duration
}

// sparql measures queries by the engine that servers use.
func (b *bench) sparql(ctx context.Context) error {
	store, err := b.openLoaded(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	e, err := engine.New(store, engine.Options{Timeout: 10 * time.Minute})
	if err != nil {
		return err
	}
	for _, q := range rig.Queries {
		if err := b.measure(ctx, e, q); err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
	}
	return nil
}

func (b *bench) measure(ctx context.Context, e *engine.Engine, q rig.Query) error {
	last, err := runQuery(ctx, e, q.Text) // warms the caches
	if err != nil {
		return err
	}
	var took rig.Times
	for begun := time.Now(); len(took) < minRuns || time.Since(begun) < queryTime; {
		if last, err = runQuery(ctx, e, q.Text); err != nil {
			return err
		}
		took = append(took, last.took)
		if last.took > queryTime {
			break // one warm run is enough if it is long
		}
	}
	maxReads := q.MaxReads
	if maxReads < 0 {
		maxReads = last.rows
	}
	if maxReads > 0 && last.reads > maxReads {
		return fmt.Errorf("%d rows of the store were read, %d would do", last.reads, maxReads)
	}
	median := took.Quantile(0.5)
	b.Report.Row(q.Name, q.Target, "%s (%s); %s rows, %s read, %s read/s", span(median), span(took.Quantile(0.95)),
		rig.Thousands(float64(last.rows)), rig.Thousands(float64(last.reads)), rig.Thousands(rig.PerSecond(last.reads, median)))
	return nil
}

func runQuery(ctx context.Context, e *engine.Engine, text string) (outcome, error) {
	var o outcome
	begun := time.Now()
	q, err := e.Prepare(ctx, rig.QueryPrefixes+text, engine.Params{})
	if err != nil {
		return o, err
	}
	if q.Form() != ast.Select {
		return o, fmt.Errorf("not a SELECT")
	}
	a, err := q.Run(ctx)
	if err != nil {
		return o, err
	}
	defer a.Close()
	for _, err := range a.Rows() {
		if err != nil {
			return o, err
		}
		o.rows++
	}
	o.took = time.Since(begun)
	o.reads = a.Plan().TotalReads()
	return o, nil
}

// span prints a duration in milliseconds.
func span(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.2f ms", float64(d.Nanoseconds())/1e6)
	}
	return fmt.Sprintf("%.0f ms", float64(d.Nanoseconds())/1e6)
}
