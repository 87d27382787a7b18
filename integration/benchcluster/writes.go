package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

const batchTriples = 1000

// writes measures adds of batches by one client, which has some of them on their
// way at a time, to one node or to all in turn.
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
	c, err := b.form(ctx, n)
	if err != nil {
		return err
	}
	defer c.close()
	var next atomic.Int64 // number of the next batch
	if _, err := c.writeBatches(ctx, c.live()[:1], 4, b.sizes.batches/4, &next); err != nil {
		return err // which warmed up, and split the first segments
	}
	if _, err := c.rest(ctx); err != nil {
		return err
	}
	for _, flight := range []int{4, 16} {
		for _, all := range []bool{false, true} {
			to, whom := c.live()[:1], "one node"
			if all {
				to, whom = c.live(), "all nodes"
			}
			if all && n == 1 {
				continue
			}
			before := c.cpu(nil)
			run, err := c.writeBatches(ctx, to, flight, b.sizes.batches, &next)
			if err != nil {
				return err
			}
			used := c.cpu(nil) - before
			f := figure{What: fmt.Sprintf("adds in batches of %d, %d on their way, to %s", batchTriples, flight, whom),
				Nodes: n, Value: run.rate, Unit: "triples/s", Detail: "a batch: " + run.took.show(), Asked: "25,000"}
			if n == 1 {
				alone[flight], f.Asked = run.rate, ""
			} else if alone[flight] > 0 {
				f.Detail = ofOne(run.rate, alone[flight]) + "; " + f.Detail
			}
			if used > 0 {
				f.Detail += fmt.Sprintf("; %.1f µs of processor time a triple", float64(used.Microseconds())/float64(len(run.took)*batchTriples))
			}
			b.report.add(f)
		}
	}
	return nil
}

// written is what a run of writes did.
type written struct {
	rate float64 // triples a second
	took times   // of each batch
}

// writeBatches adds so many batches, or as many as there is time for.
func (c *cluster) writeBatches(ctx context.Context, to []*machine, flight, batches int, next *atomic.Int64) (run written, err error) {
	var clients []*client.Client
	for _, m := range to {
		one, err := client.New(m.url(), client.Options{})
		if err != nil {
			return run, err
		}
		defer one.Close()
		clients = append(clients, one)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	var begun atomic.Int64
	start := time.Now()
	for writer := range flight {
		group.Go(func() {
			var took times
			for begun.Add(1) <= int64(batches) && time.Since(start) < c.b.sizes.writeFor && ctx.Err() == nil {
				number := next.Add(1)
				batch := c.b.photos(number)
				at := time.Now()
				if _, err := clients[(writer+len(took))%len(clients)].Add(ctx, batch); err != nil {
					cancel(err)
					return
				}
				took = append(took, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			run.took = append(run.took, took...)
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return run, err
	}
	run.rate = perSecond(int64(len(run.took)*batchTriples), time.Since(start))
	return run, nil
}

// photos returns a batch, the same for the same number.
func (b *bench) photos(number int64) []triple.Triple {
	r := rand.New(rand.NewPCG(b.seed, uint64(number)))
	batch := make([]triple.Triple, batchTriples)
	for i := range batch {
		batch[i] = photo(r, int(number)*batchTriples+i)
	}
	return batch
}
