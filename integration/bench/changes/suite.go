// The flags of the suite, and its parts.

// Package changes measures the change feed through servers: how fast one consumer and many read it,
// how soon a consumer has an acknowledged change, what consumers cost the writers, and backups and
// restores beside tar.
//
// Each part runs on a lone server and on a cluster whose machines share this machine. Clients write
// by [client.Client] and read by [client.Client.Changes].
package changes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/triple"
)

// bench is one run of the suite.
type bench struct {
	rig.Rig
	triples     int
	consumers   int
	nodes       int
	latencyAdds int
}

// batch is the number of triples in one add.
const batch = 1000

// Suite defines the flags of the suite and returns the function that measures.
func Suite(f *flag.FlagSet) func(context.Context, []string) error {
	b := &bench{}
	b.Flags(f, "trefoil-bench-changes", "some 2 GB")
	f.IntVar(&b.triples, "triples", 1_000_000, "triples to add and to read as changes")
	f.IntVar(&b.consumers, "consumers", 100, "consumers at a time")
	f.IntVar(&b.nodes, "nodes", 3, "machines of the cluster; 0 is none")
	f.IntVar(&b.latencyAdds, "latency-adds", 1000, "adds whose way to a consumer is timed")
	return b.run
}

func (b *bench) run(ctx context.Context, _ []string) error {
	if err := b.Begin(""); err != nil {
		return err
	}
	b.Report.Heading()
	for _, n := range []int{1, b.nodes} {
		if n == 0 {
			continue
		}
		if err := b.measure(ctx, n); err != nil {
			return fmt.Errorf("%d machines: %w", n, err)
		}
	}
	return nil
}

// measure runs all parts on new servers.
func (b *bench) measure(ctx context.Context, nodes int) error {
	// 1. Start the servers. The feed must keep all changes of the run.
	c, err := b.Form(ctx, rig.Nodes{FailureTimeout: 2 * time.Second, IdleTime: time.Second, Flags: []string{"--feed-retention", "8GiB,24h"}}, nodes)
	if err != nil {
		return err
	}
	defer c.Close()
	b.Report.Row(fmt.Sprintf("**%d machines**", nodes), "", "")
	first := c.Machines[0].Client
	start, err := first.Feed.Position(ctx)
	if err != nil {
		return err
	}
	// 2. Write without a consumer, and beside one.
	half := b.triples / 2
	quiet, err := b.write(ctx, first, 0, half)
	if err != nil {
		return err
	}
	following, cancel := context.WithCancel(ctx)
	seen := make(chan error, 1)
	go func() { _, err := read(following, first, client.ChangesOptions{Since: start}, b.triples); seen <- err }()
	beside, err := b.write(ctx, first, half, b.triples)
	if err == nil {
		err = <-seen
	}
	cancel()
	if err != nil {
		return err
	}
	b.Report.Row("adds in batches of 1,000, without a consumer", "", "%s/s", rig.Thousands(rig.PerSecond(int64(half), quiet)))
	b.Report.Row("the same, beside one consumer that reads everything", "", "%s/s", rig.Thousands(rig.PerSecond(int64(b.triples-half), beside)))
	// 3. Read everything: one consumer, then many.
	took, err := read(ctx, first, client.ChangesOptions{Since: start, End: true}, b.triples)
	if err != nil {
		return err
	}
	b.Report.Row("changes to one consumer", "200,000/s", "%s/s", rig.Thousands(rig.PerSecond(int64(b.triples), took)))
	if took, err = b.readMany(ctx, first, start); err != nil {
		return err
	}
	all := int64(b.consumers) * int64(b.each())
	b.Report.Row(fmt.Sprintf("changes to %d consumers, in all", b.consumers), "", "%s/s", rig.Thousands(rig.PerSecond(all, took)))
	// 4. The way of single changes, and backups.
	if err := b.latency(ctx, c); err != nil {
		return err
	}
	return b.backups(ctx, c)
}

// change returns the n-th triple of the run.
func change(n int) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://bench.example/item/%08d", n)),
		Predicate: triple.NewIRI("http://bench.example/name"), Object: triple.NewString(fmt.Sprintf("item number %d", n))}
}

// write adds the triples from to until with four clients.
func (b *bench) write(ctx context.Context, c *client.Client, from, until int) (time.Duration, error) {
	// 1. The clients take the next batch by turns.
	begun := time.Now()
	var next atomic.Int64
	next.Store(int64(from))
	var running sync.WaitGroup
	failed := make(chan error, 4)
	for range 4 {
		running.Go(func() {
			for {
				n := int(next.Add(batch)) - batch
				if n >= until {
					return
				}
				all := make([]triple.Triple, 0, batch)
				for i := n; i < min(n+batch, until); i++ {
					all = append(all, change(i))
				}
				if _, err := c.Add(ctx, all); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	// 2. The first error is enough.
	running.Wait()
	close(failed)
	return time.Since(begun), <-failed
}

// read reads changes until n adds have come.
func read(ctx context.Context, c *client.Client, o client.ChangesOptions, n int) (time.Duration, error) {
	begun, adds := time.Now(), 0
	for change, err := range c.Feed.Changes(ctx, o) {
		if err != nil {
			return 0, err
		}
		if change.Kind == "add" {
			adds++
		}
		if adds >= n {
			return time.Since(begun), nil
		}
	}
	if adds < n {
		return 0, fmt.Errorf("the feed ended after %d of %d adds", adds, n)
	}
	return time.Since(begun), nil
}

// each is the number of changes that each of many consumers reads.
func (b *bench) each() int { return max(b.triples/b.consumers, 1) }

// readMany reads the beginning of the feed with all consumers at once.
func (b *bench) readMany(ctx context.Context, c *client.Client, since string) (time.Duration, error) {
	begun := time.Now()
	errs := make([]error, b.consumers)
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() { _, errs[i] = read(ctx, c, client.ChangesOptions{Since: since}, b.each()) })
	}
	running.Wait()
	return time.Since(begun), errors.Join(errs...)
}

// latency times single adds on an idle server, from the answer to the consumer's change. A consumer
// of another machine of the cluster reads.
func (b *bench) latency(ctx context.Context, c *rig.Cluster) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writer, reader := c.Machines[0].Client, c.Machines[len(c.Machines)-1].Client
	since, err := reader.Feed.Position(ctx)
	if err != nil {
		return err
	}
	// 1. The consumer records when each change came.
	type arrival struct {
		at  time.Time
		err error
	}
	arrived := make(chan arrival, b.latencyAdds)
	go func() {
		for _, err := range reader.Feed.Changes(ctx, client.ChangesOptions{Since: since}) {
			arrived <- arrival{time.Now(), err}
		}
	}()
	// 2. One add at a time. A change may come before the answer to its add.
	var times rig.Times
	for i := range b.latencyAdds {
		if _, err := writer.Add(ctx, []triple.Triple{change(b.triples + i)}); err != nil {
			return err
		}
		answered := time.Now()
		a := <-arrived
		if a.err != nil {
			return a.err
		}
		times = append(times, max(a.at.Sub(answered), 0))
	}
	slices.Sort(times)
	b.Report.Row("from the answer to the consumer", "p99 under 20 ms", "p50 %.2f ms, p99 %.2f ms", rig.Millis(times.Quantile(0.5)), rig.Millis(times.Quantile(0.99)))
	return nil
}
