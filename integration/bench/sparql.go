package main

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// A query runs at least minRuns times and, where that takes less, until it has
// run for queryTime.
const (
	minRuns   = 5
	queryTime = 2 * time.Second
)

// outcome is what one run of a query did.
type outcome struct {
	rows, reads int64
	took        time.Duration
}

// sparql measures queries in the process, as the doors run them.
func (b *bench) sparql(ctx context.Context) error {
	store, err := b.openLoaded(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	e, err := engine.New(engine.StoreOf(store), engine.Options{Timeout: 10 * time.Minute})
	if err != nil {
		return err
	}
	for _, q := range benchQueries {
		if err := b.measure(ctx, e, q); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

func (b *bench) measure(ctx context.Context, e *engine.Engine, q benchQuery) error {
	last, err := runQuery(ctx, e, q.text) // warms the caches
	if err != nil {
		return err
	}
	var took times
	for begun := time.Now(); len(took) < minRuns || time.Since(begun) < queryTime; {
		if last, err = runQuery(ctx, e, q.text); err != nil {
			return err
		}
		took = append(took, last.took)
		if last.took > queryTime {
			break // one warm run tells enough
		}
	}
	asked := q.asked
	if most := q.mostReads(last); most > 0 && last.reads > most {
		return fmt.Errorf("%d rows of the store were read, %d would do", last.reads, most)
	}
	median := took.quantile(0.5)
	b.report.row(q.name, asked, "%s (%s); %s rows, %s read, %s read/s", span(median), span(took.quantile(0.95)),
		thousands(float64(last.rows)), thousands(float64(last.reads)), thousands(perSecond(last.reads, median)))
	return nil
}

// mostReads returns how many rows of the store the query may read, 0 for any
// number; a negative maxReads asks for no more than come out.
func (q *benchQuery) mostReads(o outcome) int64 {
	if q.maxReads < 0 {
		return o.rows
	}
	return q.maxReads
}

func runQuery(ctx context.Context, e *engine.Engine, text string) (outcome, error) {
	var o outcome
	begun := time.Now()
	q, err := e.Prepare(ctx, queryPrefixes+text, engine.Params{})
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

// span prints a duration in the unit that it is read in.
func span(d time.Duration) string {
	if d < 100*time.Millisecond {
		return fmt.Sprintf("%.2f ms", float64(d.Nanoseconds())/1e6)
	}
	return fmt.Sprintf("%.0f ms", float64(d.Nanoseconds())/1e6)
}
