// Benchmarks of labels, and of rankings with weights.

package linkgraph

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// labelledWorld is a generated web of which each link has a weight and an anchor.
func labelledWorld(b *testing.B, pages uint32) (*world, []uid.UID) {
	b.Helper()
	w := newWorld(b, machine.Options{})
	g, err := linkgen.New(linkgen.Options{Pages: pages})
	if err != nil {
		b.Fatal(err)
	}
	var changes []links.Change
	var list []uint32
	for i := range pages {
		list = g.Links(i, list[:0])
		c := links.Change{Source: string(g.URL(i, nil))}
		for k, to := range list {
			c.Targets = append(c.Targets, string(g.URL(to, nil)))
			c.Labels = append(c.Labels, links.Label{Weight: float64(1 + k%5), Anchor: fmt.Sprintf("see page %d", to)})
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
	uids, err := w.graph.Pages(ctx, 0, int(pages))
	if err != nil {
		b.Fatal(err)
	}
	return w, uids
}

// BenchmarkLabels reads labels in both directions, a thousand pages in a call. It reports the bytes
// of the column of labels: a second one beside the backward lists would take as much again.
func BenchmarkLabels(b *testing.B) {
	w, uids := labelledWorld(b, 5_000)
	bytes, count := 0, int64(0)
	for _, v := range w.graph.Board.State.Load().Views {
		bytes += v.Cell().Sizes()["labels"]
		count += v.NumLinks(links.Forward)
	}
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		b.Run(d.String(), func(b *testing.B) {
			n, at := 0, 0
			for b.Loop() {
				if at+1000 > len(uids) {
					at = 0
				}
				l, err := w.graph.Labels(ctx, d, uids[at:at+1000])
				if err != nil {
					b.Fatal(err)
				}
				n += len(l.Items)
				at += 1000
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/label")
			b.ReportMetric(float64(bytes)/float64(count), "bytes/link")
		})
	}
	b.Run("pages", func(b *testing.B) {
		if _, err := w.graph.Update(ctx, labelsOfPages(b, w, uids[:1000])); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := w.graph.PageLabels(ctx, uids[:1000]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(1000*b.N), "ns/label")
	})
	for _, weighted := range []bool{false, true} {
		b.Run(fmt.Sprintf("salsa/weighted=%v", weighted), func(b *testing.B) {
			for b.Loop() {
				r := links.RankRequest{Algorithm: links.SALSA, Pages: uids[:500], In: 10, Out: 10, Mode: sample.ModeConsistent, Top: 10, Weighted: weighted}
				if _, err := w.graph.Rank(ctx, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// labelsOfPages returns changes that label pages.
func labelsOfPages(b *testing.B, w *world, pages []uid.UID) (changes []links.Change) {
	b.Helper()
	urls, err := w.graph.URLs(ctx, pages)
	if err != nil {
		b.Fatal(err)
	}
	for _, url := range urls {
		changes = append(changes, links.Change{Kind: links.LabelPage, Source: url, Labels: []links.Label{{Weight: 2, Anchor: "page"}}})
	}
	return changes
}
