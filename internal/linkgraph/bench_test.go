// Benchmarks of updates and reads.

package linkgraph

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// benchWorld is the graph of a generated web of the given number of pages.
func benchWorld(b *testing.B, pages uint32) (*world, []string, []uid.UID) {
	b.Helper()
	w := newWorld(b, machine.Options{})
	g, err := linkgen.New(linkgen.Options{Pages: pages})
	if err != nil {
		b.Fatal(err)
	}
	names := make([]string, pages)
	for i := range names {
		names[i] = string(g.URL(uint32(i), nil))
	}
	var changes []links.Change
	var list []uint32
	for i := range pages {
		list = g.Links(i, list[:0])
		c := links.Change{Source: names[i]}
		for _, to := range list {
			c.Targets = append(c.Targets, names[to])
		}
		if changes = append(changes, c); len(changes) == 1000 || i == pages-1 {
			if _, err := w.graph.Update(ctx, changes); err != nil {
				b.Fatal(err)
			}
			changes = changes[:0]
		}
	}
	if err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { _, err := k.RebuildAll(); return err }); err != nil {
		b.Fatal(err)
	}
	uids, err := w.graph.UIDs(ctx, names)
	if err != nil {
		b.Fatal(err)
	}
	return w, names, uids
}

// BenchmarkUpdate changes links, until they are durable and visible.
func BenchmarkUpdate(b *testing.B) {
	w, names, _ := benchWorld(b, 20_000)
	rng := random(b)
	n := 0
	for b.Loop() {
		var changes []links.Change
		for range 1000 {
			c := links.Change{Source: names[rng.IntN(len(names))]}
			for range 10 {
				c.Targets = append(c.Targets, names[rng.IntN(len(names))])
			}
			changes = append(changes, c)
		}
		n += 10_000
		if _, err := w.graph.Update(ctx, changes); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "links/s")
}

// BenchmarkLinks reads lists, a thousand in a call.
func BenchmarkLinks(b *testing.B) {
	w, _, uids := benchWorld(b, 20_000)
	for name, some := range map[string][]uid.UID{"few": uids[:1000], "all": uids} {
		b.Run(fmt.Sprint(name), func(b *testing.B) {
			n, at := 0, 0
			for b.Loop() {
				if at+1000 > len(some) {
					at = 0
				}
				l, err := w.graph.Links(ctx, links.Forward, some[at:at+1000])
				if err != nil {
					b.Fatal(err)
				}
				n += l.Len()
				at += 1000
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/list")
		})
	}
}
