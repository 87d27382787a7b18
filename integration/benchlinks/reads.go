package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node/httpapi"
	graphs "github.com/trefoildb/trefoil/node/links"
)

// asked is how many pages are asked for.
const asked = 1 << 20

// drawn returns random pages of a graph, and all of them where they are few.
func (b *bench) drawn(ctx context.Context, graph links.Graph, pages int64) ([]uid.UID, error) {
	all, err := graph.Pages(ctx, 0, int(pages))
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(b.seed, 0))
	some := make([]uid.UID, asked)
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
func (b *bench) reads(ctx context.Context, graph *graphs.Graph, stats links.Stats) error {
	some, err := b.drawn(ctx, graph, stats.Pages)
	if err != nil {
		return err
	}
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
		add("500 ns", fmt.Sprintf("GetLinks of a random list, %s", d), "%s (%.1f links; batches of %d, one goroutine)", each(took, len(some)), float64(n)/float64(len(some)), batch)
	}
	few := some[:batch]
	took, err := best(func() error {
		for range asked / batch {
			if _, err := graph.Links(ctx, links.Forward, few); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	add("150 ns", "GetLinks, lists in the cache", "%s", each(took, asked))
	var names []string
	took, err = best(func() (err error) { names, err = graph.URLs(ctx, some[:1<<17]); return err })
	if err != nil {
		return err
	}
	add("1 us", "UidToUrl", "%s", each(took, 1<<17))
	if took, err = best(func() error { _, err := graph.UIDs(ctx, names); return err }); err != nil {
		return err
	}
	add("2 us", "UrlToUid", "%s", each(took, 1<<17))
	took, err = best(func() error {
		_, err := graph.SampleLinks(ctx, links.Backward, some[:1<<17], sample.Spec{N: 10, Mode: sample.ModeConsistent})
		return err
	})
	if err != nil {
		return err
	}
	add("", "SampleLinks, 10 consistent of the links to a page", "%s", each(took, 1<<17))
	return b.remote(ctx, graph, some[:1<<18])
}

// remote measures lists through the door, by one client on this machine.
func (b *bench) remote(ctx context.Context, graph *graphs.Graph, some []uid.UID) error {
	api, err := httpapi.New(nil, httpapi.Options{Links: graph})
	if err != nil {
		return err
	}
	server := httptest.NewServer(api)
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	if err != nil {
		return err
	}
	remote := c.Links()
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
	add("1 M", "batched GetLinks by a client over loopback", "%s lists/s (batches of %d)", rate(int64(len(some)), took), batch)
	return nil
}

// ranks measures PageRank and SALSA.
func (b *bench) ranks(ctx context.Context, graph *graphs.Graph, stats links.Stats) error {
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
	add("200 M a core", "PageRank, all processors", "%s links/s (%d rounds, %.1f s)", rate(stats.Links*int64(job.Round), took), job.Round, took.Seconds())
	some, err := b.drawn(ctx, graph, stats.Pages)
	if err != nil {
		return err
	}
	var ranking links.Ranking
	took, err = best(func() (err error) {
		ranking, err = graph.Rank(ctx, links.RankRequest{Algorithm: links.SALSA, Pages: some[:2800], In: 10, Out: 10, Mode: sample.ModeConsistent, Top: 10})
		return err
	})
	if err != nil {
		return err
	}
	add("30 ms", "SALSA of 2,800 roots, a = b = 10", "%.1f ms (%s pages, %s links)", took.Seconds()*1000, count(int64(ranking.Vertices)), count(int64(ranking.Edges)))
	return nil
}

// updaters is how many updates are on their way at a time.
const updaters = 4

// errgroup waits for goroutines, and keeps the first error.
type errgroup struct {
	group sync.WaitGroup
	once  sync.Once
	err   error
}

func (g *errgroup) run(do func() error) {
	g.group.Go(func() {
		if err := do(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	})
}

func (g *errgroup) wait() error {
	g.group.Wait()
	return g.err
}

// changes measures updates while lists are read.
func (b *bench) changes(ctx context.Context, graph *graphs.Graph) error {
	some, err := b.drawn(ctx, graph, asked)
	if err != nil {
		return err
	}
	names, err := graph.URLs(ctx, some[:100_000])
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	read := make(chan int64)
	go func() {
		n := int64(0)
		for at := 0; reading.Err() == nil; at = (at + 1024) % asked {
			if l, err := graph.Links(ctx, links.Forward, some[at:at+1024]); err == nil {
				n += int64(l.Len())
			}
		}
		read <- n
	}()
	var total atomic.Int64
	var group errgroup
	begun := time.Now()
	for client := range updaters {
		group.run(func() error {
			rng := rand.New(rand.NewPCG(b.seed, uint64(2+client)))
			for time.Since(begun) < 10*time.Second {
				var batch []links.Change
				for range 1000 {
					c := links.Change{Source: names[rng.IntN(len(names))]}
					for range 10 {
						c.Targets = append(c.Targets, names[rng.IntN(len(names))])
					}
					batch = append(batch, c)
				}
				if _, err := graph.Update(ctx, batch); err != nil {
					return err
				}
				total.Add(10 * 1000)
			}
			return nil
		})
	}
	err = group.wait()
	took := time.Since(begun)
	stop()
	lists := <-read
	if err != nil {
		return err
	}
	add("50,000", "updates, durable and seen, while lists are read", "%s links/s (%d at a time; %s lists/s read meanwhile by one goroutine)", rate(total.Load(), took), updaters, rate(lists, took))
	return nil
}
