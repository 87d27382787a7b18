// TestGraph: the conformance test of links.Graph.

package linkstest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestGraph compares an empty graph with a plain one, after each of several rounds of random
// changes. Answers are compared by URL, because UIDs may differ. settle must wait until answers
// contain all committed changes. It may be nil if they do at once.
func TestGraph(t *testing.T, g links.Graph, waitCommitted func()) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("TREFOIL_SEED=%d", seed)
	c := &conformance{T: t, random: rand.New(rand.NewPCG(seed, 0)), graph: g, plain: New(), uids: map[string]uid.UID{}}
	if _, err := g.Update(t.Context(), []links.Change{{Source: "no IRI", Targets: []string{"http://a.example/"}}}); !errors.Is(err, links.ErrInvalid) {
		t.Errorf("a change of an invalid page: %v", err)
	}
	for range 4 {
		c.change()
		if waitCommitted != nil {
			waitCommitted()
		}
		for _, compare := range []func(){c.comparePages, c.compareLists, c.comparePrefixes, c.compareRankings, c.comparePageLabels} {
			c.changeStores(1)
			compare()
		}
	}
}

// changeStores relinquishes or requests random stores once in n times, if the graph can. Answers must
// not depend on that.
func (c *conformance) changeStores(n int) {
	c.Helper()
	loader := c.graph.Capabilities().Loader
	if loader == nil || c.random.IntN(n) > 0 {
		return
	}
	change, some := loader.Relinquish, links.Stores(1+c.random.IntN(int(links.AllStores)))
	if c.random.IntN(4) == 0 {
		change = loader.Request
	}
	if err := change(c.Context(), some); err != nil {
		c.Fatalf("stores %s: %v", some, err)
	}
}

// conformance is a graph that is compared with a plain one.
type conformance struct {
	*testing.T
	random *rand.Rand
	graph  links.Graph
	plain  *Graph
	uids   map[string]uid.UID // of all pages; a UID never changes
}

// url returns one of a few pages of a few hosts.
func (c *conformance) url() string {
	return fmt.Sprintf("http://www%d.example.org/%d", c.random.IntN(5), c.random.IntN(9))
}

// change makes the same random changes on both graphs, and compares their results.
func (c *conformance) change() {
	c.Helper()
	// 1. Draw changes of links, and labels of pages.
	var changes []links.Change
	for source := range 30 {
		one := links.Change{Kind: links.ChangeKind(c.random.IntN(3)), Source: fmt.Sprintf("http://www%d.example.org/%d", source%5, source)}
		for range c.random.IntN(8) {
			if url := c.url(); !slices.Contains(one.Targets, url) {
				one.Targets = append(one.Targets, url)
			}
		}
		if one.Kind != links.DeleteLinks && c.random.IntN(2) == 0 {
			for range one.Targets {
				one.Labels = append(one.Labels, links.Label{Weight: float64(1 + c.random.IntN(9)), Anchor: "see"})
			}
		}
		changes = append(changes, one)
	}
	for range 8 {
		label := links.Label{Weight: float64(1 + c.random.IntN(3)), Anchor: []string{"", "page"}[c.random.IntN(2)]}
		changes = append(changes, links.Change{Kind: links.LabelPage, Source: c.url(), Labels: []links.Label{label}})
	}
	// 2. Make them one by one, because each result is compared.
	for _, one := range changes {
		c.changeStores(8)
		got, err := c.graph.Update(c.Context(), []links.Change{one})
		want, _ := c.plain.Update(c.Context(), []links.Change{one})
		if err != nil || got.Added != want.Added || got.Deleted != want.Deleted {
			c.Fatalf("%+v: %+v, %v; want %+v", one, got, err, want)
		}
	}
}

// urls returns all pages of the plain graph, and one unknown page.
func (c *conformance) urls() []string {
	var urls []string
	for url := range c.plain.uids {
		if len(c.plain.list(links.Forward, c.plain.uids[url]))+len(c.plain.list(links.Backward, c.plain.uids[url])) > 0 {
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	return append(urls, "http://unknown.example/")
}

// comparePages compares UIDs, URLs and the order of pages.
func (c *conformance) comparePages() {
	c.Helper()
	// 1. UIDs must be stable and lead back to their URLs. An unknown page has UID 0 and URL "".
	urls := c.urls()
	uids, err := c.graph.UIDs(c.Context(), urls)
	if err != nil || len(uids) != len(urls) {
		c.Fatalf("%d UIDs of %d pages, %v", len(uids), len(urls), err)
	}
	back, err := c.graph.URLs(c.Context(), uids)
	if err != nil || len(back) != len(urls) {
		c.Fatalf("%d URLs of %d pages, %v", len(back), len(urls), err)
	}
	for i, url := range urls[:len(urls)-1] {
		if was, ok := c.uids[url]; uids[i] == 0 || ok && was != uids[i] || back[i] != url {
			c.Fatalf("%s has UID %s, was %s, and is %s", url, uids[i], was, back[i])
		}
		c.uids[url] = uids[i]
	}
	if last := len(urls) - 1; uids[last] != 0 || back[last] != "" {
		c.Fatalf("an unknown page has UID %s and URL %q", uids[last], back[last])
	}
	// 2. Pages must return all pages with links, and no others, in ascending order, in small steps.
	var all []uid.UID
	for after := uid.UID(0); ; after = all[len(all)-1] {
		some, err := c.graph.Pages(c.Context(), after, 7)
		if err != nil {
			c.Fatal(err)
		}
		if all = append(all, some...); len(some) == 0 {
			break
		}
	}
	want := slices.Sorted(slices.Values(uids[:len(uids)-1]))
	if !slices.Equal(all, want) {
		c.Fatalf("the pages are %v, want %v", all, want)
	}
	// 3. The statistics must be exact.
	stats, err := c.graph.Stats(c.Context())
	if plain, _ := c.plain.Stats(c.Context()); err != nil || stats.Pages != plain.Pages || stats.Links != plain.Links || stats.Linked != plain.Linked ||
		stats.MaxOut != plain.MaxOut || stats.MaxIn != plain.MaxIn || len(want) > 0 && (stats.MinUID != want[0] || stats.MaxUID != want[len(want)-1]) {
		c.Fatalf("the statistics are %+v, want %+v, %v", stats, plain, err)
	}
}

// compareLists compares lists, degrees, labels and samples.
func (c *conformance) compareLists() {
	c.Helper()
	ctx, urls := c.Context(), c.urls()
	pages := make([]uid.UID, len(urls))
	for i, url := range urls {
		pages[i] = c.uids[url]
	}
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		lists, err := c.graph.Links(ctx, d, pages)
		degrees, other := c.graph.Degrees(ctx, d, pages)
		samples, third := c.graph.SampleLinks(ctx, d, pages, sample.Spec{N: 2, Mode: sample.ModeConsistent, Seed: 7})
		labels, fourth := c.graph.Labels(ctx, d, pages)
		if err := errors.Join(err, other, third, fourth); err != nil {
			c.Fatal(err)
		}
		for i, url := range urls {
			// 1. The list is that of the plain graph, and ascends.
			want := map[uid.UID]links.Label{}
			for _, to := range c.plain.list(d, c.plain.uids[url]) {
				label := c.plain.out[c.plain.uids[url]][to]
				if d == links.Backward {
					label = c.plain.out[to][c.plain.uids[url]]
				}
				want[c.uids[c.plain.urls[to]]] = label
			}
			got := lists.At(i)
			if !slices.IsSorted(got) || len(got) != len(want) || degrees[i] != len(want) {
				c.Fatalf("%s links of %s: %v, degree %d; want %v", d, url, got, degrees[i], want)
			}
			// 2. Labels are in the order of the list.
			for k, u := range got {
				label, ok := want[u]
				if !ok || len(labels.At(i)) != len(got) || labels.At(i)[k] != label {
					c.Fatalf("%s links of %s: %v with labels %v; want %v (no label: %v)", d, url, got, labels.At(i), want, cell.NoLabel)
				}
			}
			// 3. A sample is a part of the list.
			if n := len(samples.At(i)); n != min(2, len(got)) {
				c.Fatalf("a sample of %d of %d links", n, len(got))
			}
			for _, u := range samples.At(i) {
				if !slices.Contains(got, u) {
					c.Fatalf("%s is in a sample and not in the list %v", u, got)
				}
			}
		}
	}
}

// comparePrefixes compares LinksPrefix with Links, if the graph has this capability.
func (c *conformance) comparePrefixes() {
	c.Helper()
	has := c.graph.Capabilities()
	if has.Prefix == nil {
		return
	}
	var pages []uid.UID
	for _, url := range c.urls() {
		pages = append(pages, c.uids[url])
	}
	all, err := c.graph.Links(c.Context(), links.Forward, pages)
	if err != nil {
		c.Fatal(err)
	}
	for _, maxLinks := range []int{0, 5, 1 << 20} {
		lists, err := has.Prefix.LinksPrefix(c.Context(), links.Forward, pages, maxLinks)
		if err != nil || len(lists.Items) > maxLinks || lists.Len() > len(pages) {
			c.Fatalf("a prefix of %d lists, %d links, %v", lists.Len(), len(lists.Items), err)
		}
		for i := range lists.Len() {
			if !slices.Equal(lists.At(i), all.At(i)) {
				c.Fatalf("list %d of a prefix is %v, want %v", i, lists.At(i), all.At(i))
			}
		}
	}
}

// compareRankings compares SALSA and HITS of all pages, with and without weights. The samples are
// whole lists, because UIDs differ between the graphs.
func (c *conformance) compareRankings() {
	c.Helper()
	urls := c.urls()
	pages, plain := make([]uid.UID, len(urls)), make([]uid.UID, len(urls))
	for i, url := range urls {
		pages[i], plain[i] = c.uids[url], c.plain.uids[url]
	}
	for _, algorithm := range []links.Algorithm{links.SALSA, links.HITS} {
		for _, weighted := range []bool{false, true} {
			r := links.RankRequest{Algorithm: algorithm, Pages: pages, In: 100, Out: 100, Mode: sample.ModeConsistent, Weighted: weighted}
			got, err := c.graph.Rank(c.Context(), r)
			if err != nil {
				c.Fatal(err)
			}
			r.Pages = plain
			want, err := c.plain.Rank(c.Context(), r)
			if err != nil || got.Vertices != want.Vertices || got.Edges != want.Edges {
				c.Fatalf("%s, weighted %v: %d vertices, %d edges; want %d, %d, %v", algorithm, weighted, got.Vertices, got.Edges, want.Vertices, want.Edges, err)
			}
			c.compareScores(fmt.Sprintf("%s, weighted %v", algorithm, weighted), got.Authorities, want.Authorities)
			c.compareScores(fmt.Sprintf("hubs of %s, weighted %v", algorithm, weighted), got.Hubs, want.Hubs)
		}
	}
}

// compareScores compares scores by URL.
func (c *conformance) compareScores(what string, got, want []rank.Scored) {
	c.Helper()
	scores := map[uid.UID]float64{}
	for _, one := range want {
		scores[c.uids[c.plain.urls[one.UID]]] = one.Score
	}
	for _, one := range got {
		if score, ok := scores[one.UID]; !ok || math.Abs(score-one.Score) > 1e-6 {
			c.Fatalf("%s: page %s has score %g, want %g", what, one.UID, one.Score, score)
		}
	}
	if len(got) != len(want) {
		c.Fatalf("%s: %d scores, want %d", what, len(got), len(want))
	}
}

// comparePageLabels compares the labels of all pages, also of those without links.
func (c *conformance) comparePageLabels() {
	c.Helper()
	urls := append(slices.Sorted(maps.Keys(c.plain.uids)), "http://unknown.example/")
	pages, err := c.graph.UIDs(c.Context(), urls)
	if err != nil {
		c.Fatal(err)
	}
	got, err := c.graph.PageLabels(c.Context(), pages)
	if err != nil || len(got) != len(urls) {
		c.Fatalf("%d labels of %d pages, %v", len(got), len(urls), err)
	}
	for i, url := range urls {
		want, ok := c.plain.labels[c.plain.uids[url]]
		if !ok {
			want = cell.NoLabel
		}
		if got[i] != want {
			c.Fatalf("the label of %s is %+v, want %+v", url, got[i], want)
		}
	}
	invalid := links.Change{Kind: links.LabelPage, Source: urls[0], Targets: urls[:1], Labels: []links.Label{{Weight: 2}}}
	if _, err := c.graph.Update(c.Context(), []links.Change{invalid}); !errors.Is(err, links.ErrInvalid) {
		c.Errorf("a label of a page with a target: %v", err)
	}
}
