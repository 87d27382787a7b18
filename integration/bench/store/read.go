// Reads in the process.

package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

const (
	questions    = 5_000
	questionRows = 100 // most rows of each answer
)

// patterns are the measured patterns.
var patterns = []struct {
	name string
	of   func(t triple.Triple) triple.Pattern
}{
	{"s p ?", func(t triple.Triple) triple.Pattern {
		return triple.Pattern{Subject: t.Subject, Predicate: t.Predicate}
	}},
	{"? p o", func(t triple.Triple) triple.Pattern {
		return triple.Pattern{Predicate: t.Predicate, Object: t.Object}
	}},
	{"? ? o", func(t triple.Triple) triple.Pattern { return triple.Pattern{Object: t.Object} }},
	{"s ? o", func(t triple.Triple) triple.Pattern {
		return triple.Pattern{Subject: t.Subject, Object: t.Object}
	}},
}

// sample returns triples from all of the store, in random order. number selects one of several
// samples.
func (b *bench) sample(ctx context.Context, sn *store.Snapshot, number uint64) ([]triple.Triple, error) {
	r := rand.New(rand.NewPCG(b.Seed, number))
	rows, _, err := sn.EstimateRange(triple.OrderRange(triple.OSP))
	if err != nil {
		return nil, err
	}
	// Steps are random with a mean of step, so that the sample has about questions triples.
	step := max(rows/questions, 1)
	next := r.Int64N(step)
	var out []triple.Triple
	i := int64(0)
	for row, err := range sn.Range(ctx, triple.Bounds{Order: triple.OSP}, store.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		if i == next {
			t, err := row.Triple()
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			next += 1 + r.Int64N(2*step)
		}
		i++
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// read measures scans and patterns.
func (b *bench) read(ctx context.Context) error {
	db, err := b.openLoaded(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	sn, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer sn.Close()

	// 1. Scans, with their bound.
	raw, err := rawScan(ctx, db)
	if err != nil {
		return err
	}
	rate, err := b.scan(ctx, sn)
	if err != nil {
		return err
	}
	b.Report.Row("ordered scan in the process, keys and values: triples/s", "5,000,000", "%s", rig.Thousands(rate))
	// The bound shows the cost of the layers above Pebble.
	if raw > 0 {
		b.Report.Row("a Pebble iterator over the same rows: rows/s", "bound", "%s (ours is %.2fx)", rig.Thousands(raw), rate/raw)
	}

	// 2. Patterns.
	triples, err := b.sample(ctx, sn, 0)
	if err != nil {
		return err
	}
	for _, p := range patterns {
		var took rig.Times
		for range 2 { // the first round warms the cache
			took = took[:0]
			for _, t := range triples {
				begun := time.Now()
				// Rows are read, but neither decoded nor kept.
				for _, err := range sn.Match(ctx, p.of(t), store.ReadOptions{Limit: questionRows}) {
					if err != nil {
						return err
					}
				}
				took = append(took, time.Since(begun))
			}
		}
		b.Report.Row(fmt.Sprintf("pattern %s, warm, first %d rows: median (p95)", p.name, questionRows), "50 µs",
			"%.1f µs (%.1f)", micro(took.Quantile(0.5)), micro(took.Quantile(0.95)))
	}
	return nil
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// scan reads all triples in order SPO, twice, and returns the better rate.
func (b *bench) scan(ctx context.Context, sn *store.Snapshot) (float64, error) {
	best := 0.0
	for range 2 {
		begun := time.Now()
		n, bytes := int64(0), 0
		for row, err := range sn.Range(ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{}) {
			if err != nil {
				return 0, err
			}
			n++
			bytes += len(row.Key) + len(row.Value)
		}
		best = max(best, rig.PerSecond(n, time.Since(begun)))
	}
	return best, nil
}
