// Adds in batches.

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/triple"
)

const batchTriples = 1000

// writes measures adds of batches by one client, with several batches in flight, to one node or
// to all in turn.
func (b *bench) writes(ctx context.Context) error {
	alone := map[int]float64{} // triples a second of one node, by batches on their way
	for _, n := range b.sizes.writeNodes {
		if err := b.writesTo(ctx, n, alone); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	return nil
}

func (b *bench) writesTo(ctx context.Context, n int, alone map[int]float64) error {
	// 1. A cluster whose first segments are split.
	c, err := b.form(ctx, n)
	if err != nil {
		return err
	}
	defer c.Close()
	var next atomic.Int64 // number of the next batch
	// These writes only split the segments, so they are not measured.
	if _, err := c.writeBatches(ctx, c.Live()[:1], 4, b.sizes.batches/4, &next); err != nil {
		return err
	}
	if _, err := c.Rest(ctx); err != nil {
		return err
	}

	// 2. Each number of batches in flight, to one node and to all.
	for _, flight := range []int{4, 16} {
		for _, all := range []bool{false, true} {
			to, whom := c.Live()[:1], "one node"
			if all {
				to, whom = c.Live(), "all nodes"
			}
			if all && n == 1 {
				continue
			}
			before := c.CPU(nil)
			run, err := c.writeBatches(ctx, to, flight, b.sizes.batches, &next)
			if err != nil {
				return err
			}
			used := c.CPU(nil) - before
			f := rig.Figure{What: fmt.Sprintf("adds in batches of %d, %d on their way, to %s", batchTriples, flight, whom),
				Nodes: n, Value: run.rate, Unit: "triples/s", Detail: "a batch: " + run.took.String(), Target: "25,000"}
			// One node alone is the reference of the larger clusters.
			if n == 1 {
				alone[flight], f.Target = run.rate, ""
			} else if alone[flight] > 0 {
				f.Detail = ofOne(run.rate, alone[flight]) + "; " + f.Detail
			}
			if used > 0 {
				f.Detail += fmt.Sprintf("; %.1f µs of processor time a triple", float64(used.Microseconds())/float64(len(run.took)*batchTriples))
			}
			b.Report.Add(f)
		}
	}
	return nil
}

// written is the result of a run of writes.
type written struct {
	rate float64   // triples a second
	took rig.Times // of each batch
}

// writeBatches adds a number of batches, or fewer if the time is over.
func (c *cluster) writeBatches(ctx context.Context, to []*rig.Machine, flight, batches int, next *atomic.Int64) (run written, err error) {
	var clients []*client.Client
	for _, m := range to {
		one, err := client.New(m.URL(), client.Options{})
		if err != nil {
			return run, err
		}
		defer one.Close()
		clients = append(clients, one)
	}

	// Each writer sends one batch after the other. The first error ends all writers.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	var begun atomic.Int64
	start := time.Now()
	for writer := range flight {
		group.Go(func() {
			var took rig.Times
			for begun.Add(1) <= int64(batches) && time.Since(start) < c.b.sizes.writeTime && ctx.Err() == nil {
				// Numbers are never used twice, because a repeated batch would add nothing.
				number := next.Add(1)
				batch := c.b.photos(number)
				at := time.Now()
				if _, err := clients[(writer+len(took))%len(clients)].Add(ctx, batch); err != nil {
					cancel(err)
					return
				}
				took = append(took, time.Since(at))
			}
			// One lock for each writer at its end, none while the clock runs.
			mu.Lock()
			defer mu.Unlock()
			run.took = append(run.took, took...)
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return run, err
	}
	run.rate = rig.PerSecond(int64(len(run.took)*batchTriples), time.Since(start))
	return run, nil
}

// photos returns a batch, the same for the same number.
func (b *bench) photos(number int64) []triple.Triple {
	r := rand.New(rand.NewPCG(b.Seed, uint64(number)))
	batch := make([]triple.Triple, batchTriples)
	for i := range batch {
		batch[i] = rig.Photo(r, int(number)*batchTriples+i)
	}
	return batch
}
