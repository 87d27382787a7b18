// Links for users with some graphs only, in a cluster.

package cluster

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/linkgraph/linkrows"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// quadWeb is a web whose links are of several graphs.
type quadWeb struct {
	*web
	quads map[triple.Triple]cell.Label
}

var webGraphs = []triple.Term{{}, triple.NewIRI("http://example.org/g1"), triple.NewIRI("http://example.org/g2")}

// change adds or deletes links of all graphs by random machines.
func (w *quadWeb) change() {
	w.t.Helper()
	for range 12 {
		link := links.Link(links.DefaultPredicate, w.url(), w.url())
		link.Graph = webGraphs[w.random.IntN(len(webGraphs))]
		if w.random.IntN(4) == 0 {
			if all := slices.SortedFunc(maps.Keys(w.quads), func(a, b triple.Triple) int { return cmp.Compare(a.String(), b.String()) }); len(all) > 0 {
				link = all[w.random.IntN(len(all))]
			}
			w.mustDelete(w.any(), link)
			delete(w.quads, link)
			continue
		}
		w.mustAdd(w.any(), link)
		label, ok := w.quads[link]
		if !ok {
			label = cell.NoLabel
		}
		if w.random.IntN(3) == 0 {
			label = cell.Label{Weight: float64(w.random.IntN(9)), Anchor: link.Graph.Value()}
			require.NoError(w.t, store.Annotate(w.t.Context(), w.any().node, link, links.Application, lists.AppendLabel(nil, label)))
		}
		w.quads[link] = label
	}
}

// checkLimited compares what a machine answers a user with some graphs with the links of these.
func (w *quadWeb) checkLimited(m *machine, graphs ...triple.Term) {
	w.t.Helper()
	// 1. The visible links, in maps.
	visible := [2]map[string]map[string]cell.Label{{}, {}}
	for _, graph := range graphs { // in the order of rows
		for q, label := range w.quads {
			if q.Graph != graph {
				continue
			}
			for d, ends := range [][2]string{{q.Subject.Value(), q.Object.Value()}, {q.Object.Value(), q.Subject.Value()}} {
				if visible[d][ends[0]] == nil {
					visible[d][ends[0]] = map[string]cell.Label{}
				}
				if before, ok := visible[d][ends[0]][ends[1]]; !ok || before == cell.NoLabel {
					visible[d][ends[0]][ends[1]] = label
				}
			}
		}
	}
	// 2. The pages.
	ctx := graphrights.With(w.t.Context(), graphrights.New(graphs, nil))
	r, err := m.node.Reader()
	require.NoError(w.t, err)
	defer r.Close()
	g := linkrows.New(w.graphs[m], graphrights.Filter(ctx, r), triple.NewIRI(links.DefaultPredicate))
	urls := allURLs()
	all, err := w.graphs[m].UIDs(ctx, urls)
	require.NoError(w.t, err)
	byURL := map[string]uid.UID{}
	var uids []uid.UID
	var names []string
	for i, url := range urls {
		byURL[url] = all[i]
		if visible[links.Forward][url] == nil && visible[links.Backward][url] == nil {
			uids, names = append(uids, 0), append(names, "")
			continue
		}
		w.told(url, all[i])
		uids, names = append(uids, all[i]), append(names, url)
	}
	if got, err := g.UIDs(ctx, urls); err != nil || !slices.Equal(got, uids) {
		w.t.Fatalf("UIDs: %v, %v\nwant %v", got, err, uids)
	}
	if got, err := g.URLs(ctx, all); err != nil || !slices.Equal(got, names) {
		w.t.Fatalf("URLs: %v, %v\nwant %v", got, err, names)
	}
	w.checkWithin(g, visible[links.Forward], urls, all)
	// 3. The lists.
	spec := sample.Spec{N: w.random.IntN(4), Mode: sample.Mode(w.random.IntN(2)), Class: sample.Class(w.random.IntN(3)), Seed: w.random.Uint64()}
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		got, err := g.Links(ctx, d, all)
		labels, labelsErr := g.Labels(ctx, d, all)
		degrees, degreesErr := g.Degrees(ctx, d, all)
		samples, samplesErr := g.SampleLinks(ctx, d, all, spec)
		for _, err := range []error{err, labelsErr, degreesErr, samplesErr} {
			require.NoError(w.t, err)
		}
		for i, url := range urls {
			others := slices.SortedFunc(maps.Keys(visible[d][url]), func(a, b string) int { return cmp.Compare(byURL[a], byURL[b]) })
			var list []uid.UID
			var noted []cell.Label
			for _, other := range others {
				list, noted = append(list, byURL[other]), append(noted, visible[d][url][other])
			}
			drawn := sample.Sample(nil, list, all[i], spec, w.hosts())
			if !slices.Equal(got.At(i), list) || !slices.Equal(labels.At(i), noted) || degrees[i] != len(list) || !slices.Equal(samples.At(i), drawn) {
				w.t.Fatalf("%v of %s for %v: %v %v %d %v\nwant %v %v %v", d, url, graphs, got.At(i), labels.At(i), degrees[i], samples.At(i), list, noted, drawn)
			}
		}
	}
}

// checkWithin compares the links among all pages, as rankings read them.
func (w *quadWeb) checkWithin(g *linkrows.Graph, visible map[string]map[string]cell.Label, urls []string, pages []uid.UID) {
	w.t.Helper()
	var set rank.Set
	names := map[uid.UID]string{}
	for i, u := range pages {
		if u != 0 {
			set.Add(u)
			names[u] = urls[i]
		}
	}
	plain, err := g.LinksWithin(w.t.Context(), &set, sample.All)
	weighted, weightsErr := g.WeightsWithin(w.t.Context(), &set, sample.All)
	if err != nil || weightsErr != nil {
		w.t.Fatal(err, weightsErr)
	}
	for i, u := range set.UIDs() {
		of := visible[names[u]]
		if len(plain.At(i)) != len(of) || len(weighted.At(i)) != len(of) {
			w.t.Fatalf("%s has %d and %d links, want %d", names[u], len(plain.At(i)), len(weighted.At(i)), len(of))
		}
		for k := range of {
			if !slices.ContainsFunc(plain.At(i), func(n uint32) bool { return names[set.UIDs()[n]] == k }) ||
				!slices.Contains(weighted.At(i), rank.WeightedLink{To: w.number(&set, names, k), Weight: of[k].Weight}) {
				w.t.Fatalf("the link from %s to %s is not there", names[u], k)
			}
		}
	}
}

// number returns the number of a page in a set.
func (w *quadWeb) number(set *rank.Set, names map[uid.UID]string, url string) uint32 {
	return uint32(slices.IndexFunc(set.UIDs(), func(u uid.UID) bool { return names[u] == url }))
}

// TestLinksOfSomeGraphs: each machine answers a user with some graphs with the links of these, also when a machine is lost.
func TestLinksOfSomeGraphs(t *testing.T) {
	simulate(t, 4, func(t *testing.T, world *world) {
		w := &quadWeb{newWeb(world), map[triple.Triple]cell.Label{}}
		w.form()
		w.open()
		defer w.end()
		work := func(rounds int) {
			t.Helper()
			for range rounds {
				w.change()
				w.checkLimited(w.any(), webGraphs[1])
			}
			for _, m := range w.up() {
				w.checkLimited(m, webGraphs[0])
				w.checkLimited(m, webGraphs[0], webGraphs[2])
			}
		}
		work(6)
		lost := w.any()
		w.end(lost)
		lost.kill()
		w.settle()
		work(4)
		if len(w.quads) < 30 {
			t.Errorf("%d links are few", len(w.quads))
		}
	})
}
