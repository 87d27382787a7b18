// Links while machines are down.

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// lose kills so many machines, and waits until the others are a cluster without them. What
// the dead ones read is not regenerated until regenerate is called.
func (w *web) lose(n int) (regenerate func()) {
	w.t.Helper()
	regenerate = w.held.begin(heldRequests["sync"], 0)
	for range n {
		m := w.any()
		w.end(m)
		m.kill()
	}
	w.until("the dead are excluded", func() bool {
		for _, m := range w.up() {
			v := m.node.View()
			if v == nil || len(v.Members) != len(w.up()) || m.node.Lease() != nil {
				return false
			}
		}
		return true
	})
	if !w.awaiting() { // nobody had to send anything
		w.t.Log("all was regenerated at once")
	}
	return regenerate
}

// awaiting reports whether nothing is regenerated yet.
func (w *web) awaiting() bool {
	return !slices.ContainsFunc(w.up(), func(m *machine) bool { return m.node.View().Phase != recovery.Fill })
}

// fresh makes changes by a random machine, of which most are about pages that nobody has
// heard of.
func (w *web) fresh() {
	w.t.Helper()
	page := func() string {
		if w.random.IntN(3) == 0 {
			return w.url()
		}
		return fmt.Sprintf("http://www%d.example.org/new/%d", w.random.IntN(10), w.random.IntN(1000))
	}
	var changes []links.Change
	for range 1 + w.random.IntN(4) {
		c := links.Change{Kind: links.ChangeKind(w.random.IntN(3)), Source: page()}
		for range w.random.IntN(5) {
			c.Targets = append(c.Targets, page())
		}
		if c.Kind == links.DeleteLinks {
			for _, dst := range slices.Sorted(maps.Keys(w.links[c.Source])) {
				if w.random.IntN(2) == 0 {
					c.Targets = append(c.Targets, dst)
				}
			}
		}
		changes = append(changes, c)
		w.apply(c)
	}
	if _, err := w.some().Update(w.t.Context(), changes); err != nil {
		w.t.Fatal(err)
	}
}

// freshTriple adds a link between pages that nobody has heard of, as a triple.
func (w *web) freshTriple() {
	w.t.Helper()
	src, dst := fmt.Sprintf("http://www%d.example.org/t/%d", w.random.IntN(10), w.random.IntN(1000)), w.url()
	if w.random.IntN(2) == 0 {
		src, dst = dst, src
	}
	if _, err := store.Add(w.t.Context(), w.any().node, []triple.Triple{links.Link(links.DefaultPredicate, src, dst)}); err != nil {
		w.t.Fatal(err)
	}
	w.apply(links.Change{Source: src, Targets: []string{dst}})
}

// sameAtOnce has all machines make links to the same new pages at the same time.
func (w *web) sameAtOnce() {
	w.t.Helper()
	var targets []string
	for range 5 {
		targets = append(targets, fmt.Sprintf("http://www%d.example.org/same/%d", w.random.IntN(10), w.random.IntN(1e6)))
	}
	var all sync.WaitGroup
	for i, m := range w.up() {
		c := links.Change{Source: fmt.Sprintf("http://www%d.example.org/source/%d", i, w.random.IntN(100)), Targets: targets}
		w.apply(c)
		g := w.graphs[m]
		all.Go(func() {
			if _, err := g.Update(w.t.Context(), []links.Change{c}); err != nil {
				w.t.Errorf("update through %s: %v", m.name, err)
			}
			found, err := g.UIDs(w.t.Context(), targets)
			if err != nil {
				w.t.Errorf("UIDs through %s: %v", m.name, err)
				return
			}
			for i, u := range found {
				w.told(targets[i], u)
			}
		})
	}
	all.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// checkPages reads all pages, at most n in a call, compares them with those that have links, and looks
// each of them up.
func (w *web) checkPages(g *linkgraph.Graph, n int) {
	w.t.Helper()
	ctx := w.t.Context()
	var all []uid.UID
	for after := uid.UID(0); ; after = all[len(all)-1] {
		some, err := g.Pages(ctx, after, n)
		if err != nil {
			w.t.Fatalf("pages after %s: %v", after, err)
		}
		if len(some) > n || len(some) > 0 && some[0] <= after {
			w.t.Fatalf("%d pages after %s, from %s on", len(some), after, some[0])
		}
		if all = append(all, some...); len(some) < n {
			break
		}
	}
	if want := w.linked(); !slices.Equal(all, want) {
		w.t.Fatalf("the pages are %v, want %v", all, want)
	}
	urls, err := g.URLs(ctx, all)
	require.NoError(w.t, err)
	uids, err := g.UIDs(ctx, urls)
	require.NoError(w.t, err)
	for i, u := range uids {
		if urls[i] == "" || u != all[i] {
			w.t.Fatalf("%s is a page, whose URL is %q, which has the UID %s", all[i], urls[i], u)
		}
	}
}

// checkLabelled compares the labels of the links of each page, where they are answered, and
// returns how many of these pages there are: of a link whose versions all were on machines
// that are dead nobody tells its label.
func (w *web) checkLabelled(g *linkgraph.Graph) (answered int) {
	w.t.Helper()
	urls := slices.Sorted(maps.Keys(w.links))
	uids, err := g.UIDs(w.t.Context(), urls)
	require.NoError(w.t, err)
	for i, url := range urls {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		labels, err := g.Labels(ctx, links.Forward, uids[i:i+1])
		cancel()
		if err != nil {
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
				w.t.Fatal(err)
			}
			continue
		}
		answered++
		targets := slices.SortedFunc(maps.Keys(w.links[url]), func(a, b string) int { return cmp.Compare(w.uids[a], w.uids[b]) })
		var want []cell.Label
		for _, target := range targets {
			want = append(want, w.links[url][target])
		}
		if got := labels.At(0); !slices.Equal(got, want) {
			w.t.Fatalf("labels of the links of %s: %v; they are %v", url, got, want)
		}
	}
	return answered
}

// TestLinksWhileAway kills one machine and two, with changes up to that moment. As soon as
// they are excluded, and while nothing is regenerated, new pages get UIDs, links of any
// pages are changed, and all that there is to ask is answered.
func TestLinksWhileAway(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 15 {
			web.change()
			web.byOtherDoors()
		}
		web.check(web.some())
		w.settle()
		time.Sleep(2 * time.Second) // of virtual time: copies are not made of nothing
		web.copied()
		for range w.random.IntN(5) {
			web.fresh()
			web.freshTriple()
		}
		regenerate := web.lose(1 + w.random.IntN(2))
		defer regenerate()
		held := web.awaiting()
		const soon = 5 * time.Second
		for range 4 {
			begun := time.Now()
			web.fresh()
			web.sameAtOnce()
			web.fresh()
			web.freshTriple()
			if took := time.Since(begun); took > soon {
				t.Errorf("changes took %s", took)
			}
			g := web.some()
			web.checkLists(g, soon)
			if web.checkLabelled(g) == 0 {
				t.Error("no labels are answered")
			}
			web.checkPages(g, 1+w.random.IntN(60))
			web.checkStats(g)
		}
		if held && !web.awaiting() {
			t.Error("something was regenerated meanwhile")
		}
		regenerate()
		w.settle()
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		web.checkPages(web.some(), 1000)
		web.checkStats(web.some())
	})
}

// TestLinksFirstWhileAway gives pages two UIDs at a time each, as machines do that do not
// hear of each other, while what a dead machine had is not regenerated and messages are
// slow. If anybody gets a UID by then, it must be the same for all, forever.
func TestLinksFirstWhileAway(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 15 {
			web.change()
			web.byOtherDoors()
		}
		web.check(web.some())
		w.settle()
		time.Sleep(2 * time.Second) // of virtual time: copies are not made of nothing
		web.copied()
		regenerate := web.lose(1 + w.random.IntN(2))
		defer regenerate()
		w.net.Delay(0, 50*time.Millisecond)
		var all sync.WaitGroup
		for i := range 30 {
			url := fmt.Sprintf("http://www%d.example.org/two/%d", i%10, i)
			for range 2 {
				m, wait := w.any(), time.Duration(w.random.IntN(60))*time.Millisecond
				change := links.Change{Source: url, Targets: []string{url}}
				all.Go(func() {
					time.Sleep(wait) // of virtual time
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					_, err := web.graphs[m].Update(ctx, []links.Change{change})
					for errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil { // as a client does at 503
						_, err = web.graphs[m].Update(ctx, []links.Change{change})
					}
					if err != nil {
						t.Errorf("a link through %s: %v", m.name, err)
					}
				})
				reader := rand.New(rand.NewPCG(w.random.Uint64(), 0))
				graphs := slices.Collect(maps.Values(web.graphs))
				all.Go(func() { web.asked(graphs, reader, url) })
			}
		}
		all.Wait()
		w.net.Delay(0, 0)
		regenerate()
		w.settle()
		urls := slices.Sorted(maps.Keys(web.uids))
		found, err := web.some().UIDs(t.Context(), urls)
		require.NoError(t, err)
		for i, u := range found {
			web.told(urls[i], u)
		}
	})
}

// asked asks for the UID of a page until it has one, and some times more.
func (w *web) asked(graphs []*linkgraph.Graph, random *rand.Rand, url string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for left := 10; left > 0; {
		found, err := graphs[random.IntN(len(graphs))].UIDs(ctx, []string{url})
		if errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil { // after 5 s without progress, as a client does at 503
			continue
		}
		if err != nil {
			w.t.Errorf("the UID of %s: %v", url, err)
			return
		}
		if found[0] != 0 {
			w.told(url, found[0])
			left--
		}
		time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond) // of virtual time
	}
}
