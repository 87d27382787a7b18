// Benchmarks of reading links.

package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/uid"
)

// arrays is a graph of lists in one slice: as fast as any, so that what is measured
// is the way to the client.
type arrays struct {
	*linkstest.Graph
	pages []uid.UID
	ends  []int
	items []uid.UID
}

// newArrays makes pages of hosts of 50, with some 18 links each, 3 of 4 within the host.
func newArrays(pages int) *arrays {
	r := rand.New(rand.NewPCG(1, 1))
	g := &arrays{Graph: linkstest.New()}
	for i := range pages {
		host := i / 50
		g.pages = append(g.pages, uid.Make(uid.Slot(host*7919%uid.NumSlots), uint32(1+host/uid.NumSlots), uint32(i%50)))
	}
	slices.Sort(g.pages)
	for i := range pages {
		from := len(g.items)
		for range r.IntN(39) {
			to := i/50*50 + r.IntN(50)
			if r.IntN(4) == 0 {
				to = r.IntN(pages)
			}
			g.items = append(g.items, g.pages[min(to, pages-1)])
		}
		slices.Sort(g.items[from:])
		g.items = g.items[:from+len(slices.Compact(g.items[from:]))]
		g.ends = append(g.ends, len(g.items))
	}
	return g
}

func (g *arrays) list(page uid.UID) []uid.UID {
	i, ok := slices.BinarySearch(g.pages, page)
	if !ok {
		return nil
	}
	from := 0
	if i > 0 {
		from = g.ends[i-1]
	}
	return g.items[from:g.ends[i]]
}

func (g *arrays) Degrees(_ context.Context, _ links.Direction, pages []uid.UID) ([]int, error) {
	all := make([]int, len(pages))
	for i, page := range pages {
		all[i] = len(g.list(page))
	}
	return all, nil
}

func (g *arrays) Links(_ context.Context, _ links.Direction, pages []uid.UID) (l links.Lists, err error) {
	for _, page := range pages {
		l.Items = append(l.Items, g.list(page)...)
		l.End()
	}
	return l, nil
}

// processorTime is that of this process, client and node.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLinks asks for the lists of random pages, in batches, over loopback. Client
// and node share the processors.
func BenchmarkLinks(b *testing.B) {
	const pages = 1_000_000
	g := newArrays(pages)
	url, _ := startNode(b, server.Options{Links: g})
	c, err := client.New(url, client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	l := c.Links
	for _, order := range []string{"random", "sorted"} {
		for _, batch := range []int{1, 100, 1000, 10_000, 50_000} {
			b.Run(fmt.Sprintf("%s/batch=%d", order, batch), func(b *testing.B) {
				r := rand.New(rand.NewPCG(2, 2))
				batches := make([][]uid.UID, 8)
				for i := range batches {
					for range batch {
						batches[i] = append(batches[i], g.pages[r.IntN(pages)])
					}
					if order == "sorted" {
						slices.Sort(batches[i])
					}
				}
				b.ReportAllocs()
				lists, items := 0, 0
				start := processorTime()
				for b.Loop() {
					got, err := l.Links(b.Context(), links.Forward, batches[lists/batch%len(batches)])
					if err != nil {
						b.Fatal(err)
					}
					lists += got.Len()
					items += len(got.Items)
				}
				b.ReportMetric(float64(lists)/b.Elapsed().Seconds(), "lists/s")
				b.ReportMetric(float64((processorTime()-start).Nanoseconds())/float64(lists), "cpu-ns/list")
				b.ReportMetric(float64(items)/float64(lists), "links/list")
			})
		}
	}
}

// BenchmarkLongList asks for one page of 10 million links.
func BenchmarkLongList(b *testing.B) {
	const length = 10_000_000
	g := &arrays{Graph: linkstest.New(), pages: []uid.UID{uid.Make(1, 1, 1)}, ends: []int{length}, items: make([]uid.UID, length)}
	for i := range g.items {
		g.items[i] = uid.Make(uid.Slot(i/1000), 1, uint32(i%1000)*3)
	}
	url, _ := startNode(b, server.Options{Links: g})
	c, err := client.New(url, client.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		got, err := c.Links.Links(b.Context(), links.Forward, g.pages)
		if err != nil || len(got.Items) != length {
			b.Fatal(len(got.Items), err)
		}
	}
	b.ReportMetric(length*float64(b.N)/b.Elapsed().Seconds(), "links/s")
}
