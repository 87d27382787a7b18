// Links of very long lists, which take many messages between machines.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// hub is a page with long lists in both directions. Some of its links come and go.
type hub struct {
	*web
	page   string
	stable []string // pages that it links to, and that link to it, all the time
	others []string // pages that may do so
	reads  atomic.Int64
}

// newHub makes the links of a hub that stay, some with labels.
func newHub(web *web, n int) *hub {
	h := &hub{web: web, page: "http://hub.example.org/"}
	for i := range n {
		h.stable = append(h.stable, fmt.Sprintf("http://www%d.example.org/stable/%d", i%50, i))
	}
	for i := range n / 10 {
		h.others = append(h.others, fmt.Sprintf("http://www%d.example.org/other/%d", i%50, i))
	}
	c := links.Change{Source: h.page, Targets: h.stable}
	for i := range h.stable {
		label := cell.NoLabel
		if i%3 == 0 {
			label = cell.Label{Weight: 1, Anchor: strings.Repeat("anchor ", i%5)}
		}
		c.Labels = append(c.Labels, label)
	}
	changes := []links.Change{c}
	for _, src := range h.stable {
		changes = append(changes, links.Change{Source: src, Targets: []string{h.page}})
	}
	if _, err := web.some().Update(web.t.Context(), changes); err != nil {
		web.t.Fatal(err)
	}
	for _, c := range changes {
		web.apply(c)
	}
	return h
}

// read reads both lists of the hub and returns an error if they lack a link that is there all the
// time, or have one twice.
func (h *hub) read(ctx context.Context, g *linkgraph.Graph, stable []uid.UID, page uid.UID) error {
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		lists, err := g.Links(ctx, d, []uid.UID{stable[0], page, stable[1]})
		if err != nil {
			return err
		}
		list := lists.At(1)
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			h.t.Errorf("%v links of the hub do not ascend", d)
		}
		found := 0
		for _, u := range stable {
			if _, ok := slices.BinarySearch(list, u); ok {
				found++
			}
		}
		if found != len(stable) || len(list) > len(stable)+len(h.others) || lists.Len() != 3 {
			h.t.Errorf("%v links of the hub: %d, with %d of the %d that stay", d, len(list), found, len(stable))
		}
	}
	h.reads.Add(1)
	return nil
}

// change adds and deletes links of the hub, and sometimes replaces its whole list.
func (h *hub) change(random *rand.Rand) {
	h.t.Helper()
	some := func() (list []string) {
		for range 1 + random.IntN(20) {
			list = append(list, h.others[random.IntN(len(h.others))])
		}
		return list
	}
	changes := []links.Change{
		{Kind: links.AddLinks, Source: h.page, Targets: some()},
		{Kind: links.DeleteLinks, Source: h.page, Targets: some()},
		{Kind: links.AddLinks, Source: some()[0], Targets: []string{h.page}},
		{Kind: links.DeleteLinks, Source: some()[0], Targets: []string{h.page}},
	}
	if random.IntN(4) == 0 {
		changes = append(changes, links.Change{Kind: links.ReplaceLinks, Source: h.page, Targets: append(some(), h.stable...)})
	}
	for _, c := range changes {
		h.apply(c)
	}
	for {
		_, err := h.some().Update(h.t.Context(), changes)
		if err == nil {
			return
		}
		// A killed machine may have written it or not. All may be sent again.
		if !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable) {
			h.t.Fatal(err)
		}
	}
}

// TestLinksInPieces has a page with long lists in both directions, where messages are so small that
// each list takes many of them. All machines read it while it changes and while two machines are
// killed. Each read has the links that are there all the time, each of them once. In the end all
// answers are compared.
func TestLinksInPieces(t *testing.T) {
	seed.Long(t)
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		web.messageBytes = 400 + w.random.IntN(1000)
		w.form()
		web.open()
		defer web.end()
		h := newHub(web, 400)
		w.settle()
		web.copied()
		uids, err := web.some().UIDs(t.Context(), append([]string{h.page}, h.stable...))
		require.NoError(t, err)
		page, stable := uids[0], uids[1:]

		// 1. Read by all machines, whether they hold the page or not.
		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		defer func() { cancel(); readers.Wait() }()
		for _, g := range maps.Clone(web.graphs) {
			readers.Go(func() {
				for ctx.Err() == nil {
					_ = h.read(ctx, g, stable, page)  // its machine may be dead
					time.Sleep(50 * time.Millisecond) // of virtual time, which reads from memory do not take
				}
			})
		}
		// 2. Change it, and kill two machines: at least one is a holder that others ask.
		for round := range 12 {
			h.change(w.random)
			if round == 4 || round == 6 {
				m := w.any()
				g := web.graphs[m]
				delete(web.graphs, m)
				defer func() { _ = g.Close() }()
				m.kill()
			}
		}
		before := h.reads.Load()
		w.until("some more reads", func() bool { return h.reads.Load() > before+10 })
		cancel()
		readers.Wait()
		// 3. Compare all answers.
		w.settle()
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
	})
}

// TestLinksPiecesOfAll compares all kinds of answers where a message has room for a few links only.
func TestLinksPiecesOfAll(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		web.messageBytes = 40
		w.form()
		web.open()
		defer web.end()
		for range 8 {
			web.change()
			web.byOtherDoors()
		}
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		begun := time.Now()
		samples, err := web.some().SampleLinks(t.Context(), links.Forward, slices.Collect(maps.Keys(web.urls)), sample.Spec{N: 1000})
		if err != nil || samples.Len() != len(web.urls) {
			t.Errorf("%d samples of %d pages after %s, %v", samples.Len(), len(web.urls), time.Since(begun), err)
		}
	})
}

// TestLinksPrefixes reads lists of very different lengths by prefixes. Together they are the lists, no
// prefix exceeds its bound, and none is empty unless its first list exceeds the bound.
func TestLinksPrefixes(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		var changes []links.Change
		var urls []string
		for i := range 60 {
			c := links.Change{Source: fmt.Sprintf("http://www%d.example.org/%d", w.random.IntN(20), i)}
			for to := range []int{1, 30, 300, 3000}[w.random.IntN(4)] {
				c.Targets = append(c.Targets, fmt.Sprintf("http://to%d.example.org/%d", to%50, to))
			}
			changes, urls = append(changes, c), append(urls, c.Source)
		}
		if _, err := web.some().Update(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
		w.settle()
		pages, err := web.some().UIDs(t.Context(), urls)
		require.NoError(t, err)
		all, err := web.some().Links(t.Context(), links.Forward, pages)
		require.NoError(t, err)
		most := 500 + w.random.IntN(30000)
		check := func() {
			for _, m := range w.up() {
				comparePrefixes(t, web.graphs[m], pages, most, all)
			}
		}
		check()
		// Right after a kill the lists of the dead machine come from other holders.
		w.settle()
		web.copied()
		m := w.any()
		g := web.graphs[m]
		delete(web.graphs, m)
		defer func() { _ = g.Close() }()
		m.kill()
		check()
	})
}

// comparePrefixes reads the lists of pages by prefixes with at most most links, and compares them.
func comparePrefixes(t *testing.T, g *linkgraph.Graph, pages []uid.UID, most int, all links.Lists) {
	t.Helper()
	for n := 0; n < len(pages); {
		some, err := g.LinksPrefix(t.Context(), links.Forward, pages[n:], most)
		if err != nil || len(some.Items) > most || some.Len() > len(pages)-n {
			t.Fatalf("%d lists, %d links of at most %d; %v", some.Len(), len(some.Items), most, err)
		}
		for i := range some.Len() {
			if !slices.Equal(some.At(i), all.At(n+i)) {
				t.Fatalf("list %d has %d links, want %d", n+i, len(some.At(i)), len(all.At(n+i)))
			}
		}
		if n += some.Len(); some.Len() == 0 {
			if long := len(all.At(n)); long <= most {
				t.Fatalf("no list, and the first one has %d links of at most %d", long, most)
			}
			n++
		}
	}
}
