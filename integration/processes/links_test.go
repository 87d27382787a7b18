// The graph of links of a cluster of processes.

package processes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// web is links as they ought to be, by source, and the UIDs that were told.
type web struct {
	t     *testing.T
	links map[string]map[string]bool
	uids  map[string]uid.UID
}

// change adds, deletes and replaces links through a machine.
func (w *web) change(m *machine, random *rand.Rand) {
	w.t.Helper()
	page := func() string {
		return fmt.Sprintf("https://host%d.example.net/%d", random.IntN(9), random.IntN(20))
	}
	var changes []links.Change
	for range 60 {
		c := links.Change{Kind: links.ChangeKind(random.IntN(3)), Source: page()}
		for range random.IntN(8) {
			c.Targets = append(c.Targets, page())
		}
		changes = append(changes, c)
		of := w.links[c.Source]
		if of == nil {
			of = map[string]bool{}
			w.links[c.Source] = of
		}
		if c.Kind == links.ReplaceLinks {
			clear(of)
		}
		for _, target := range c.Targets {
			if c.Kind == links.DeleteLinks {
				delete(of, target)
			} else {
				of[target] = true
			}
		}
	}
	until(w.t, fmt.Sprintf("machine %d changes links", m.number), func() error {
		_, err := m.client.Links.Update(w.t.Context(), changes) // may be done twice
		return err
	})
}

// check compares what a machine answers; an error is what it does not answer now.
func (w *web) check(m *machine) error {
	w.t.Helper()
	g := m.client.Links
	back := map[string]map[string]bool{}
	for src, of := range w.links {
		for dst := range of {
			for _, url := range []string{src, dst} {
				if back[url] == nil {
					back[url] = map[string]bool{}
				}
			}
			back[dst][src] = true
		}
	}
	urls := slices.Sorted(maps.Keys(back))
	uids, err := g.UIDs(w.t.Context(), urls)
	if err != nil {
		return err
	}
	for i, url := range urls {
		if before, ok := w.uids[url]; uids[i] == 0 || ok && before != uids[i] {
			w.t.Fatalf("machine %d: the UID of %s is %s and was %s", m.number, url, uids[i], before)
		}
		w.uids[url] = uids[i]
	}
	for d, of := range map[links.Direction]map[string]map[string]bool{links.Forward: w.links, links.Backward: back} {
		lists, err := g.Links(w.t.Context(), d, uids)
		if err != nil {
			return err
		}
		for i, url := range urls {
			var want []uid.UID
			for end := range of[url] {
				want = append(want, w.uids[end])
			}
			slices.Sort(want)
			if got := lists.At(i); !slices.Equal(got, want) {
				w.t.Fatalf("machine %d: %v links of %s are %v; they should be %v", m.number, d, url, got, want)
			}
		}
	}
	return w.checkQueries(m, urls)
}

// checkQueries compares the degrees and the rankings in queries with the links.
func (w *web) checkQueries(m *machine, urls []string) error {
	w.t.Helper()
	values := "VALUES ?p { <" + strings.Join(urls, "> <") + "> } "
	scores, degrees := 0.0, 0
	query := "PREFIX links: <urn:trefoil:links:> SELECT * { " + values + "?p links:outDegree ?n . (?p) links:salsa (?s 0 0) }"
	for row, err := range m.client.Query(w.t.Context(), query, client.QueryOptions{}) {
		if err != nil {
			return err
		}
		var score float64
		if _, err := fmt.Sscan(row.Term("s").Value(), &score); err != nil {
			w.t.Fatalf("machine %d: %v", m.number, err)
		}
		if page, n := row.Term("p").Value(), row.Term("n").Value(); n != fmt.Sprint(len(w.links[page])) {
			w.t.Fatalf("machine %d: %s links to %s pages in a query, and should to %d", m.number, page, n, len(w.links[page]))
		}
		scores, degrees = scores+score, degrees+1
	}
	if degrees != len(urls) || scores < 1-1e-9 || scores > 1+1e-9 {
		w.t.Fatalf("machine %d: %d of %d pages are ranked, and their scores sum up to %v", m.number, degrees, len(urls), scores)
	}
	return nil
}

// TestLinks has a graph on a node alone, which two others join: UIDs stay, any machine
// answers and changes it, and it is answered again when one is killed.
func TestLinks(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	c := newCluster(t, 3)
	w := &web{t, map[string]map[string]bool{}, map[string]uid.UID{}}
	first := c.machines[0]
	first.start()
	first.ready()
	// On a busy machine a request may take longer than the client of a machine waits.
	check := func(m *machine) {
		t.Helper()
		until(t, fmt.Sprintf("machine %d answers links", m.number), func() error { return w.check(m) })
	}
	until(t, "stores are requested", func() error { return first.client.Links.Capabilities().Loader.Request(t.Context(), links.AllStores) })
	w.change(first, random)
	check(first)
	for _, m := range c.machines[1:] {
		m.args = append(m.args, "--join", first.address)
		m.start()
	}
	for _, m := range c.machines[1:] {
		m.ready()
	}
	c.whole(3)
	for _, m := range c.machines {
		check(m)
		w.change(m, random)
		check(c.machines[random.IntN(3)])
	}
	victim := c.machines[random.IntN(3)]
	victim.kill()
	check(c.up()[0])
	c.whole(2)
	w.change(c.up()[1], random)
	victim.start()
	victim.ready()
	c.whole(3)
	for _, m := range c.machines {
		check(m)
	}
}
