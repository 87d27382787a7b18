package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

const (
	questions    = 5_000
	questionRows = 100 // rows read of each answer, at most
)

// patterns are the bound patterns that are measured.
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

// openLoaded opens the store that load left.
func (b *bench) openLoaded(ctx context.Context) (*node.Store, error) {
	dir := b.store("lubm")
	if _, err := os.Stat(dir); err != nil {
		file, err := b.data(ctx, "lubm", b.triples)
		if err != nil {
			return nil, err
		}
		if err := b.loadOnce(ctx, "lubm", "", "500,000", file); err != nil {
			return nil, err
		}
	}
	return node.Open(dir, node.Options{})
}

// sample returns triples that are spread over the store.
func sample(ctx context.Context, sn *node.Snapshot, n int, r *rand.Rand) ([]triple.Triple, error) {
	all := triple.OrderRange(triple.OSP)
	rows, _, err := sn.EstimateRange(all)
	if err != nil {
		return nil, err
	}
	step := max(rows/int64(n), 1)
	next := r.Int64N(step)
	var out []triple.Triple
	i := int64(0)
	for row, err := range sn.Range(ctx, triple.Bounds{Order: triple.OSP}, node.ReadOptions{}) {
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

// read measures reads in the process.
func (b *bench) read(ctx context.Context) error {
	store, err := b.openLoaded(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	sn, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer sn.Close()
	raw, err := rawScan(ctx, store)
	if err != nil {
		return err
	}
	rate, err := b.scan(ctx, sn)
	if err != nil {
		return err
	}
	b.report.row("ordered scan in the process, keys and values: triples/s", "5,000,000", "%s", thousands(rate))
	if raw > 0 {
		b.report.row("a Pebble iterator over the same rows: rows/s", "bound", "%s (ours is %.2fx)", thousands(raw), rate/raw)
	}
	r := rand.New(rand.NewPCG(b.seed, 0))
	triples, err := sample(ctx, sn, questions, r)
	if err != nil {
		return err
	}
	for _, p := range patterns {
		var took times
		for round := range 2 { // the first warms the cache
			took = took[:0]
			for _, t := range triples {
				begun := time.Now()
				for _, err := range sn.Match(ctx, p.of(t), node.ReadOptions{Limit: questionRows}) {
					if err != nil {
						return err
					}
				}
				took = append(took, time.Since(begun))
			}
			_ = round
		}
		b.report.row(fmt.Sprintf("pattern %s, warm, first %d rows: median (p95)", p.name, questionRows), "50 µs",
			"%.1f µs (%.1f)", micro(took.quantile(0.5)), micro(took.quantile(0.95)))
	}
	return nil
}

func micro(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// scan reads all triples in order SPO, twice, and returns the better rate.
func (b *bench) scan(ctx context.Context, sn *node.Snapshot) (float64, error) {
	best := 0.0
	for range 2 {
		begun := time.Now()
		n, bytes := int64(0), 0
		for row, err := range sn.Range(ctx, triple.Bounds{Order: triple.SPO}, node.ReadOptions{}) {
			if err != nil {
				return 0, err
			}
			n++
			bytes += len(row.Key) + len(row.Value)
		}
		best = max(best, perSecond(n, time.Since(begun)))
	}
	return best, nil
}
