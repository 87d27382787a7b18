// Look-ups, lists, rankings and updates in the process.

package links

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	graphs "github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// drawnPages is the number of pages that are read.
const drawnPages = 1 << 20

// drawn returns random pages of a graph. If the graph is small, pages repeat.
func (b *bench) drawn(ctx context.Context, graph links.Graph, pages int64) ([]uid.UID, error) {
	all, err := graph.Pages(ctx, 0, int(pages))
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(b.Seed, 0))
	some := make([]uid.UID, drawnPages)
	for i := range some {
		some[i] = all[rng.IntN(len(all))]
	}
	return some, nil
}

// best returns the shortest of three times.
func best(do func() error) (least time.Duration, err error) {
	for range 3 {
		begun := time.Now()
		if err := do(); err != nil {
			return 0, err
		}
		if took := time.Since(begun); least == 0 || took < least {
			least = took
		}
	}
	return least, nil
}

func each(d time.Duration, n int) string { return fmt.Sprintf("%d ns", d.Nanoseconds()/int64(n)) }

// reads measures look-ups and lists.
func (b *bench) reads(ctx context.Context, db *store.Store, graph *graphs.Graph, stats links.Stats) error {
	// 1. Random lists.
	some, err := b.drawn(ctx, graph, stats.Pages)
	if err != nil {
		return err
	}

	// 1. Lists: at random, then a few that stay in the cache.
	const batch = 1 << 10
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		n := 0
		took, err := best(func() error {
			n = 0
			for at := 0; at < len(some); at += batch {
				l, err := graph.Links(ctx, d, some[at:at+batch])
				if err != nil {
					return err
				}
				n += len(l.Items)
			}
			return nil
		})
		if err != nil {
			return err
		}
		b.add("500 ns", fmt.Sprintf("GetLinks of a random list, %s", d), "%s (%.1f links; batches of %d, one goroutine)", each(took, len(some)), float64(n)/float64(len(some)), batch)
	}

	// 2. The same lists each time, which must all be in the cache.
	few := some[:batch]
	took, err := best(func() error {
		for range drawnPages / batch {
			if _, err := graph.Links(ctx, links.Forward, few); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.add("150 ns", "GetLinks, lists in the cache", "%s", each(took, drawnPages))

	// 2. URLs and UIDs.

	// 3. URLs, UIDs and samples.
	var names []string
	took, err = best(func() (err error) { names, err = graph.URLs(ctx, some[:1<<17]); return err })
	if err != nil {
		return err
	}
	b.add("1 us", "UidToUrl", "%s", each(took, 1<<17))
	if took, err = best(func() error { _, err := graph.UIDs(ctx, names); return err }); err != nil {
		return err
	}
	b.add("2 us", "UrlToUid", "%s", each(took, 1<<17))
	took, err = best(func() error {
		_, err := graph.SampleLinks(ctx, links.Backward, some[:1<<17], sample.Spec{N: 10, Mode: sample.ModeConsistent})
		return err
	})
	if err != nil {
		return err
	}
	b.add("", "SampleLinks, 10 consistent of the links to a page", "%s", each(took, 1<<17))
	return b.remote(ctx, db, graph, some[:1<<18])
}

// remote measures lists over HTTP, by one client on this machine.
func (b *bench) remote(ctx context.Context, db *store.Store, graph *graphs.Graph, some []uid.UID) error {
	api, err := server.New(db, server.Options{Links: graph})
	if err != nil {
		return err
	}
	srv := httptest.NewServer(api)
	defer srv.Close()
	c, err := client.New(srv.URL, client.Options{})
	if err != nil {
		return err
	}
	remote := c.Links
	const batch = 1 << 13
	took, err := best(func() error {
		for at := 0; at < len(some); at += batch {
			if _, err := remote.Links(ctx, links.Forward, some[at:at+batch]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.add("1 M", "batched GetLinks by a client over loopback", "%s lists/s (batches of %d)", rate(int64(len(some)), took), batch)
	return nil
}

// ranks measures PageRank and SALSA.
func (b *bench) ranks(ctx context.Context, graph *graphs.Graph, stats links.Stats) error {
	// 1. PageRank.
	if err := b.pageRank(ctx, graph, "200 M a core", "PageRank, all processors"); err != nil {
		return err
	}

	// 2. SALSA.
	some, err := b.drawn(ctx, graph, stats.Pages)
	if err != nil {
		return err
	}
	return b.salsa(ctx, graph, some, "30 ms", "")
}

// pageRank measures a job, which runs in the background until its scores converge.
func (b *bench) pageRank(ctx context.Context, graph links.Ranker, target, what string) error {
	begun := time.Now()
	if err := graph.StartPageRank(ctx, links.PageRankOptions{}); err != nil {
		return err
	}
	var job links.PageRankJob
	for {
		var err error
		if job, err = graph.PageRank(ctx); err != nil {
			return err
		}
		if job.State != "running" {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if job.State != "done" {
		return fmt.Errorf("PageRank: %s: %s", job.State, job.Error)
	}
	took := time.Since(begun)
	b.add(target, what, "%s links/s (%d rounds, %.1f s)", rate(job.Links*int64(job.Round), took), job.Round, took.Seconds())
	return nil
}

// salsa measures a ranking of 2,800 of some pages.
func (b *bench) salsa(ctx context.Context, graph links.Graph, some []uid.UID, target, how string) error {
	var ranking links.Ranking
	took, err := best(func() (err error) {
		ranking, err = graph.Rank(ctx, links.RankRequest{Algorithm: links.SALSA, Pages: some[:2800], In: 10, Out: 10, Mode: sample.ModeConsistent, Top: 10})
		return err
	})
	if err != nil {
		return err
	}
	b.add(target, "SALSA of 2,800 roots, a = b = 10"+how, "%.1f ms (%s pages, %s links)", rig.Millis(took), count(int64(ranking.Vertices)), count(int64(ranking.Edges)))
	return nil
}

// updaters is the number of updates in flight.
const updaters = 4

// changes measures updates while lists are read.
func (b *bench) changes(ctx context.Context, graph *graphs.Graph) error {
	some, err := b.drawn(ctx, graph, drawnPages)
	if err != nil {
		return err
	}
	names, err := graph.URLs(ctx, some[:100_000])
	if err != nil {
		return err
	}

	// 1. One goroutine reads until the updates have ended.
	reading, stop := context.WithCancel(ctx)
	read := make(chan int64)
	go func() {
		n := int64(0)
		for at := 0; reading.Err() == nil; at = (at + 1024) % drawnPages {
			// A failed read counts nothing. The rate would show it.
			if l, err := graph.Links(ctx, links.Forward, some[at:at+1024]); err == nil {
				n += int64(l.Len())
			}
		}
		read <- n
	}()

	// 2. Each updater sends one update after the other. The first error ends them all.
	updating, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var total atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for updater := range updaters {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(b.Seed, uint64(2+updater)))
			for time.Since(begun) < 10*time.Second {
				if _, err := graph.Update(updating, randomChanges(rng, names)); err != nil {
					cancel(err)
					return
				}
				total.Add(changeLinks * batchChanges)
			}
		})
	}
	group.Wait()
	took := time.Since(begun)
	// The reader must end before its count is read.
	stop()
	lists := <-read
	if err := context.Cause(updating); err != nil {
		return err
	}
	b.add("50,000", "updates, durable and seen, while lists are read", "%s links/s (%d at a time; %s lists/s read meanwhile by one goroutine)", rate(total.Load(), took), updaters, rate(lists, took))
	return nil
}

// An update has batchChanges changes of changeLinks links each.
const batchChanges, changeLinks = 1000, 10

func randomChanges(rng *rand.Rand, names []string) []links.Change {
	batch := make([]links.Change, batchChanges)
	for i := range batch {
		batch[i].Source = names[rng.IntN(len(names))]
		for range changeLinks {
			batch[i].Targets = append(batch[i].Targets, names[rng.IntN(len(names))])
		}
	}
	return batch
}
