// Links right after machines are killed.

package cluster

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// copied waits until all machines have the cells that they must hold.
func (w *web) copied() {
	w.t.Helper()
	for _, m := range w.up() {
		if err := w.graphs[m].AwaitCells(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// checkLists compares all lists, UIDs and URLs with what they ought to be: all within
// some time.
func (w *web) checkLists(g *linkgraph.Graph, within time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	pages := map[string]bool{}
	for url := range w.uids {
		pages[url] = true
	}
	for src, of := range w.links {
		for dst := range of {
			pages[src], pages[dst] = true, true
		}
	}
	urls := slices.Sorted(maps.Keys(pages))
	uids, err := g.UIDs(ctx, urls)
	if err != nil {
		w.t.Fatalf("UIDs: %v", err)
	}
	for i, u := range uids {
		w.told(urls[i], u)
	}
	back, err := g.URLs(ctx, uids)
	if err != nil || !slices.Equal(back, urls) {
		w.t.Fatalf("URLs: %v, %v", back, err)
	}
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		lists, err := g.Links(ctx, d, uids)
		if err != nil {
			w.t.Fatalf("%v links: %v", d, err)
		}
		degrees, err := g.Degrees(ctx, d, uids)
		if err != nil {
			w.t.Fatalf("%v degrees: %v", d, err)
		}
		sampled, err := g.SampleLinks(ctx, d, uids, sample.Spec{N: 1000})
		if err != nil {
			w.t.Fatalf("%v samples: %v", d, err)
		}
		outward, err := g.SampleLinks(ctx, d, uids, sample.Spec{N: 1000, Class: sample.InterHost})
		if err != nil {
			w.t.Fatalf("%v samples of links between hosts: %v", d, err)
		}
		for i, url := range urls {
			var want, between []uid.UID
			for src, of := range w.links {
				for dst := range of {
					if d == links.Forward && src == url {
						want = append(want, w.uids[dst])
					} else if d == links.Backward && dst == url {
						want = append(want, w.uids[src])
					}
				}
			}
			slices.Sort(want)
			for _, u := range want {
				if hostOf(w.urls[u]) != hostOf(url) {
					between = append(between, u)
				}
			}
			if got := slices.Sorted(slices.Values(outward.At(i))); !slices.Equal(got, between) {
				w.t.Fatalf("%v links of %s to other hosts: %v; they are %v", d, url, got, between)
			}
			some := slices.Sorted(slices.Values(sampled.At(i)))
			if got := lists.At(i); !slices.Equal(got, want) || degrees[i] != len(want) || !slices.Equal(some, want) {
				w.t.Fatalf("%v links of %s: %v, degree %d, sample %v; they are %v", d, url, got, degrees[i], some, want)
			}
		}
	}
}

// checkLabels compares how many labels there are. They are read from rows, which may have to
// wait for another view.
func (w *web) checkLabels(g *linkgraph.Graph) {
	w.t.Helper()
	ctx := w.t.Context()
	urls := slices.Sorted(maps.Keys(w.uids))
	uids, err := g.UIDs(ctx, urls)
	if err != nil {
		w.t.Fatalf("UIDs: %v", err)
	}
	labels, err := g.Labels(ctx, links.Forward, uids)
	if err != nil {
		w.t.Fatalf("labels: %v", err)
	}
	for i, url := range urls {
		if got := len(labels.At(i)); got != len(w.links[url]) {
			w.t.Fatalf("%d labels of the links of %s; there are %d", got, url, len(w.links[url]))
		}
	}
}

// hostOf returns the host of a page as [web.url] makes them.
func hostOf(url string) string { return url[:len("http://www0")] }

// byOtherDoorsBetween adds or deletes a link of pages that have UIDs, as a triple.
func (w *web) byOtherDoorsBetween(urls []string) {
	w.asTriple(urls[w.random.IntN(len(urls))], urls[w.random.IntN(len(urls))])
}

// TestLinksAnsweredRightAfter kills one machine and two at once, with changes up to that
// moment: every list is answered at once, before anybody is excluded, and all the time
// until what they had is regenerated, with changes going on.
func TestLinksAnsweredRightAfter(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 15 {
			web.change()
			web.byOtherDoors()
		}
		const soon = 8 * time.Second
		for _, losses := range []int{1, 2} {
			web.check(web.some()) // all pages have UIDs
			w.settle()
			web.copied()
			urls := slices.Sorted(maps.Keys(web.uids))
			for range w.random.IntN(9) {
				web.byOtherDoorsBetween(urls)
			}
			quiet := w.random.IntN(2) == 0
			if quiet {
				time.Sleep(2 * time.Second) // of virtual time: holders know what is settled
			}
			leader, led := w.leader(), true
			for range losses {
				m := w.any()
				led = led && m != leader
				web.end(m)
				m.kill()
			}
			survivor := w.any()
			begun := time.Now()
			web.checkLists(web.graphs[survivor], soon)
			took := time.Since(begun)
			t.Logf("%d lost, the leader left: %v, quiet: %v; all was answered after %s", losses, led, quiet, took)
			if quiet && led && took > 5*time.Second { // at the latest when the dead are excluded
				t.Errorf("all was answered after %s only", took)
			}
			web.checkLabels(web.graphs[survivor])
			for range 12 {
				web.byOtherDoorsBetween(urls)
				web.checkLists(web.graphs[w.any()], soon)
			}
			w.settle()
			web.checkLists(web.some(), soon)
			for range losses {
				w.add().run(w.up()[0])
			}
			web.open()
			w.settle()
		}
	})
}
