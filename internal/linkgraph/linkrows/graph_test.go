// The links of rows as a source of rankings.

package linkrows

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/rank/ranktest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// source is a graph as a source of package rank.
type source struct{ *Graph }

func (s source) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (links.Lists, error) {
	return s.Graph.SampleLinks(ctx, [...]links.Direction{rank.Forward: links.Forward, rank.Backward: links.Backward}[d], pages, spec)
}

// TestSource: links of several graphs are a source of rankings.
func TestSource(t *testing.T) {
	// 1. Random links, in one to three graphs each, and a label in one of these.
	random := seed.Rand(t)
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer db.Close()
	page := func() string {
		return fmt.Sprintf("http://www%d.example%d.org/%d", random.IntN(3), random.IntN(3), random.IntN(9))
	}
	names := linkstest.New()
	for range 500 {
		src, dst := page(), page()
		label := links.Label{Weight: float64(1 + random.IntN(4)), Anchor: "see"}
		one := links.Link(links.DefaultPredicate, src, dst)
		var all []triple.Triple
		for g := range 1 + random.IntN(3) {
			if g > 0 {
				one.Graph = triple.NewIRI(fmt.Sprint("urn:g:", g))
			}
			all = append(all, one)
		}
		if _, err := store.Add(t.Context(), db, all); err != nil {
			t.Fatal(err)
		}
		change := links.Change{Source: src, Targets: []string{dst}}
		if random.IntN(2) == 0 {
			change.Labels = []links.Label{label}
			for _, one := range all {
				require.NoError(t, store.Annotate(t.Context(), db, one, links.Application, lists.AppendLabel(nil, label)))
			}
		}
		// A link may come again in fewer graphs, with another label: that of the default graph counts.
		if _, err := names.Update(t.Context(), []links.Change{change}); err != nil {
			t.Fatal(err)
		}
	}
	// 2. The source must answer as the maps do.
	r, err := db.Reader()
	require.NoError(t, err)
	defer r.Close()
	pages, err := names.Pages(t.Context(), 0, 1000)
	require.NoError(t, err)
	out, err := names.Links(t.Context(), links.Forward, pages)
	require.NoError(t, err)
	labels, err := names.Labels(t.Context(), links.Forward, pages)
	require.NoError(t, err)
	forward, weights, hosts := map[uid.UID][]uid.UID{}, map[[2]uid.UID]float64{}, hosts{numbers: map[string]uint64{}, of: map[uid.Extent][2]uint64{}}
	urls, err := names.URLs(t.Context(), pages)
	require.NoError(t, err)
	for i, u := range pages {
		forward[u] = out.At(i)
		hosts.add(u, urls[i])
		for k, to := range out.At(i) {
			weights[[2]uid.UID{u, to}] = labels.At(i)[k].Weight
		}
	}
	g := New(names, r, triple.NewIRI(links.DefaultPredicate))
	ranktest.CheckSource(t, random.Uint64(), source{g}, forward, func(from, to uid.UID) float64 { return weights[[2]uid.UID{from, to}] }, &hosts)
}

// TestWeightsHaveOneOrder: weights come in the same order each time, because sums of floats depend on it.
func TestWeightsHaveOneOrder(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	require.NoError(t, err)
	defer db.Close()
	names, set := linkstest.New(), &rank.Set{}
	const src = "http://a.example/"
	for i := range 20 {
		dst := fmt.Sprint("http://b.example/", i)
		if _, err := store.Add(t.Context(), db, []triple.Triple{links.Link(links.DefaultPredicate, src, dst)}); err != nil {
			t.Fatal(err)
		}
		if _, err := names.Update(t.Context(), []links.Change{{Source: src, Targets: []string{dst}}}); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := names.Pages(t.Context(), 0, 100)
	require.NoError(t, err)
	for _, u := range pages {
		set.Add(u)
	}
	r, err := db.Reader()
	require.NoError(t, err)
	defer r.Close()
	g := New(names, r, triple.NewIRI(links.DefaultPredicate))
	first, err := g.WeightsWithin(t.Context(), set, sample.All)
	if err != nil || len(first.Items) != 20 {
		t.Fatal(first, err)
	}
	for range 5 {
		if again, err := g.WeightsWithin(t.Context(), set, sample.All); err != nil || !slices.Equal(again.Items, first.Items) {
			t.Fatalf("%v, %v; before %v", again.Items, err, first.Items)
		}
	}
}
