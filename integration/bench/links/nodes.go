// The graph of links of a cluster of processes.

package links

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// nodes are a cluster under measurement.
type nodes struct {
	*rig.Cluster
	b *bench
}

// waitFor calls check every 10 ms until it returns nil.
func waitFor(ctx context.Context, check func(context.Context) error) error {
	return rig.WaitFor(ctx, 10*time.Millisecond, check)
}

// waitIdle waits until all live nodes are members and no row moves.
func (n *nodes) waitIdle(ctx context.Context) error {
	live := len(n.Live())
	_, err := n.WaitStatus(ctx, "all copies, and no move", func(s client.Status) bool { return rig.IsWhole(s, live) && s.Waiting == "" })
	return err
}

// cluster measures the graph of links of a cluster. Its nodes share the processors.
func (b *bench) cluster(ctx context.Context, size int, name, file string) (err error) {
	// 1. The cluster and its data.
	b.add(" ", fmt.Sprintf("**%s, %d nodes**", name, size), "")
	formed, err := b.Form(ctx, rig.Nodes{FailureTimeout: 5 * time.Second, Flags: []string{"--link-copies", fmt.Sprint(b.linkCopies)}}, size)
	if err != nil {
		return err
	}
	defer formed.Close()
	n := &nodes{formed, b}
	begun := time.Now()
	if _, err := rig.Output(b.Command(ctx, "load", "--links", "--to", n.Machines[0].URL(), file)); err != nil {
		return err
	}
	loaded := time.Since(begun)

	// 2. UIDs. The members find the pages in the background.
	reader, err := client.New(n.Machines[size-1].URL(), client.Options{})
	if err != nil {
		return err
	}
	defer reader.Close()
	g := reader.Links
	var stats links.Stats
	named := time.Now()
	err = waitFor(ctx, func(ctx context.Context) error {
		latest, err := g.Stats(ctx)
		// The time counts up to the last new page, so the wait for quiet is left out.
		if latest.Pages != stats.Pages {
			stats, named = latest, time.Now()
		}
		if err == nil && (stats.Pages == 0 || time.Since(named) < namedTime) {
			err = errors.New("pages without UIDs")
		}
		return err
	})
	if err != nil {
		return err
	}
	b.add("", "load of the links through one node", "%s, %.1f s: %s links/s", count(stats.Links), loaded.Seconds(), rate(stats.Links, loaded))
	b.add("", "UIDs for all pages, in the background", "%s pages, after %.1f s", count(stats.Pages), (named.Sub(begun) - loaded).Seconds())

	// 3. Lists and rankings. They must be measured when the segments that the load split have moved.
	some, err := b.drawn(ctx, g, stats.Pages)
	if err != nil {
		return err
	}
	if err := n.waitIdle(ctx); err != nil {
		return err
	}
	// Copies are made in the background. They must not disturb the reads below.
	if b.linkCopies > 0 {
		if err := n.copied(ctx); err != nil {
			return err
		}
		b.add("", "copies of all lists on other nodes", "after %.1f s", (time.Since(begun) - loaded).Seconds())
	}
	if err := n.lists(ctx, g, some[:1<<18]); err != nil {
		return err
	}
	if err := n.sizes(ctx, g); err != nil {
		return err
	}
	if err := b.salsa(ctx, g, some, "100 ms", ", end to end"); err != nil {
		return err
	}
	if err := b.pageRank(ctx, g, "150 M in all", "PageRank by all nodes, to the scores on each"); err != nil {
		return err
	}
	return n.copies(ctx, g, some)
}

// sizes reports the memory of the cells for which each machine answers. Followers have as much again.
func (n *nodes) sizes(ctx context.Context, g *client.Links) error {
	stats, err := g.Stats(ctx)
	if err != nil {
		return err
	}
	least, most := stats.Servers[0].Bytes, int64(0)
	for _, s := range stats.Servers {
		least, most = min(least, s.Bytes), max(most, s.Bytes)
	}
	n.b.add("", "bytes of the cells, without those of followers", "%.0f a page, %.1f a link; %.1f to %.1f MB a machine",
		rig.Ratio(float64(stats.Bytes), float64(stats.Pages)), rig.Ratio(float64(stats.Bytes), float64(stats.Links)), float64(least)/1e6, float64(most)/1e6)
	return nil
}

// namedTime must pass without a new UID. Then all pages have theirs.
const namedTime = 10 * time.Second

// clusterBatch is the number of pages of one request.
const clusterBatch = 1 << 13

// lists measures batched lists, first and when they are cached.
func (n *nodes) lists(ctx context.Context, g *client.Links, some []uid.UID) error {
	// 1. Batches. The first round fills the caches.
	reads := int64(0)
	read := func() error {
		reads++
		for at := 0; at+clusterBatch <= len(some); at += clusterBatch {
			if _, err := g.Links(ctx, links.Forward, some[at:at+clusterBatch]); err != nil {
				return err
			}
		}
		return nil
	}
	total := int64(len(some) / clusterBatch * clusterBatch)
	begun := time.Now()
	if err := read(); err != nil {
		return err
	}
	first, busy := time.Since(begun), n.CPU(nil)
	reads = 0
	took, err := best(read)
	if err != nil {
		return err
	}
	busy = n.CPU(nil) - busy
	n.b.add("1 M", "batched GetLinks by a client of one node", "%s lists/s (the first time %s)", rate(total, took), rate(total, first))
	n.b.add("", "processor time of all nodes", "%.2f us a list", float64(busy.Nanoseconds())/1000/float64(total*reads))

	// 2. One page a request.
	const single = 1000
	took, err = best(func() error {
		for _, u := range some[:single] {
			if _, err := g.Links(ctx, links.Forward, []uid.UID{u}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	n.b.add("", "GetLinks of one page", "%d us", took.Microseconds()/single)
	return nil
}
