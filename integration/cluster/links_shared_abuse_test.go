// Links of the data beside the project, on one machine and on three.

package cluster

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// sharedLinks calls add with the lines of some files of the data beside the project.
func sharedLinks(t *testing.T, add func(line string), elements ...string) {
	t.Helper()
	if os.Getenv("TREFOIL_ABUSE") == "" {
		t.Skip("minutes of work: set TREFOIL_ABUSE")
	}
	pattern := filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, elements...)...)
	paths, err := filepath.Glob(pattern)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: %w", pattern, fs.ErrNotExist)
	}
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("%s is missing: real data is not tested", pattern)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		require.NoError(t, err)
		lines := bufio.NewScanner(f)
		if strings.HasSuffix(path, ".gz") {
			unzipped, err := gzip.NewReader(f)
			require.NoError(t, err)
			lines = bufio.NewScanner(unzipped)
		}
		for lines.Scan() {
			add(lines.Text())
		}
		require.NoError(t, errors.Join(lines.Err(), f.Close()))
	}
}

// plainLinks is a graph in plain maps, in both directions, by URL and then by UID.
type plainLinks struct {
	urls  [2]map[string]map[string]bool
	lists [2]map[uid.UID][]uid.UID
}

func (p *plainLinks) add(src, dst string) {
	for d, link := range [2][2]string{{src, dst}, {dst, src}} {
		if p.urls[d] == nil {
			p.urls[d] = map[string]map[string]bool{}
		}
		if p.urls[d][link[0]] == nil {
			p.urls[d][link[0]] = map[string]bool{}
		}
		p.urls[d][link[0]][link[1]] = true
	}
}

// SampleLinks implements rank.Source.
func (p *plainLinks) SampleLinks(_ context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (l rank.Lists[uid.UID], err error) {
	for _, u := range pages {
		l.Items = sample.Sample(l.Items, p.lists[d][u], u, spec, nil)
		l.End()
	}
	return l, nil
}

// LinksWithin implements rank.Source.
func (p *plainLinks) LinksWithin(_ context.Context, set *rank.Set, class sample.Class) (l rank.Lists[uint32], err error) {
	for _, u := range set.UIDs() {
		l.Items = set.AppendWithin(l.Items, p.lists[links.Forward][u], class, sample.Classes{})
		l.End()
	}
	return l, nil
}

// WeightsWithin implements rank.Source: these links have no labels.
func (p *plainLinks) WeightsWithin(ctx context.Context, set *rank.Set, class sample.Class) (l rank.Lists[rank.WeightedLink], err error) {
	plain, err := p.LinksWithin(ctx, set, class)
	for i := range set.UIDs() {
		for _, to := range plain.At(i) {
			l.Items = append(l.Items, rank.WeightedLink{To: to, Weight: 1})
		}
		l.End()
	}
	return l, err
}

// compare compares all lists, degrees and figures of a graph, and SALSA of random roots.
func (p *plainLinks) compare(w *world, g *linkgraph.Graph) {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	// 1. UIDs of all pages.
	seen := map[string]bool{}
	var urls []string
	for d := range p.urls {
		for url := range p.urls[d] {
			if !seen[url] {
				seen[url] = true
				urls = append(urls, url)
			}
		}
	}
	slices.Sort(urls)
	uids, err := g.UIDs(ctx, urls)
	if err != nil || slices.Contains(uids, 0) {
		t.Fatalf("pages without UIDs, %v", err)
	}
	of := make(map[string]uid.UID, len(urls))
	for i, u := range uids {
		of[urls[i]] = u
	}
	// 2. Lists and degrees.
	greatest, edges := [2]int{}, int64(0)
	for d := range p.lists {
		p.lists[d] = make(map[uid.UID][]uid.UID, len(p.urls[d]))
		lists, err := g.Links(ctx, links.Direction(d), uids)
		require.NoError(t, err)
		degrees, err := g.Degrees(ctx, links.Direction(d), uids)
		require.NoError(t, err)
		for i, url := range urls {
			var want []uid.UID
			for other := range p.urls[d][url] {
				want = append(want, of[other])
			}
			slices.Sort(want)
			if p.lists[d][uids[i]] = want; !slices.Equal(lists.At(i), want) || degrees[i] != len(want) {
				t.Fatalf("%v links of %s: %d, degree %d; there are %d", links.Direction(d), url, len(lists.At(i)), degrees[i], len(want))
			}
			greatest[d] = max(greatest[d], len(want))
			edges += int64(len(want) * (1 - d))
		}
	}
	// 3. Figures.
	stats, err := g.Stats(ctx)
	if err != nil || stats.Links != edges || stats.Linked != edges || stats.Pages != int64(len(urls)) || stats.MaxOut != greatest[0] || stats.MaxIn != greatest[1] {
		t.Fatalf("%+v, %v; there are %d links of %d pages, at most %v", stats, err, edges, len(urls), greatest)
	}
	// 4. SALSA.
	for range 5 {
		var roots []uid.UID
		for range 200 {
			roots = append(roots, uids[w.random.IntN(len(uids))])
		}
		slices.Sort(roots)
		roots = slices.Compact(roots)
		got, err := g.Rank(ctx, links.RankRequest{Algorithm: links.SALSA, Pages: roots, In: 10, Out: 10, Mode: sample.ModeConsistent})
		require.NoError(t, err)
		n, err := rank.NewNeighbourhood(ctx, p, roots, rank.NeighbourhoodOptions{In: 10, Out: 10, Mode: sample.ModeConsistent})
		require.NoError(t, err)
		want := n.TopRoots(n.Graph.Len(), rank.SALSA(n.Graph).Authority)
		byUID := func(a, b rank.Scored) int { return cmp.Compare(a.UID, b.UID) }
		slices.SortFunc(want, byUID)
		slices.SortFunc(got.Authorities, byUID)
		if !slices.EqualFunc(got.Authorities, want, func(a, b rank.Scored) bool { return a.UID == b.UID && max(a.Score-b.Score, b.Score-a.Score) < 1e-12 }) {
			t.Fatalf("SALSA of %d pages with %d vertices is another one", len(roots), got.Vertices)
		}
	}
	t.Logf("%d pages, %d links, at most %v of a page, %d bytes of cells", len(urls), edges, greatest, stats.Bytes)
}

// compareOn loads the links into one machine and into three, and compares the graph of each machine.
func (p *plainLinks) compareOn(t *testing.T) {
	var all []triple.Triple
	for src, of := range p.urls[links.Forward] {
		for dst := range of {
			all = append(all, links.Link(links.DefaultPredicate, src, dst))
		}
	}
	for _, machines := range seed.Choose(t, []int{1, 3}) {
		t.Run(fmt.Sprint(machines), func(t *testing.T) {
			simulate(t, machines, func(t *testing.T, w *world) {
				web := newWeb(w)
				web.copies = min(1, machines-1)
				w.formAll()
				if s, err := w.any().load(t.Context(), document(t, "links.nq", all, 0), false); err != nil || s.New != int64(len(all)) {
					t.Fatalf("%+v, %v", s, err)
				}
				w.settle()
				web.open()
				defer web.end()
				for _, m := range w.up() {
					p.compare(w, web.graphs[m])
				}
			})
		})
	}
}

// TestAbuseSharedHosts has the links between hosts of 1996.
func TestAbuseSharedHosts(t *testing.T) {
	p := &plainLinks{}
	sharedLinks(t, func(line string) {
		link, _, _ := strings.Cut(line, "\t")
		if parts := strings.Split(link, "|"); len(parts) == 3 {
			src, dst := "http://"+parts[1]+"/", "http://"+parts[2]+"/"
			if triple.CheckIRI(src) == nil && triple.CheckIRI(dst) == nil {
				p.add(src, dst)
			}
		}
	}, "weblinks", "1996-uk-web-hosts.tsv.gz")
	p.compareOn(t)
}

// TestAbuseSharedDBpedia has the links from DBpedia to other data sets, whatever their predicate is.
func TestAbuseSharedDBpedia(t *testing.T) {
	p := &plainLinks{}
	sharedLinks(t, func(line string) {
		if parts := strings.Fields(line); len(parts) == 4 && parts[0][0] == '<' && parts[2][0] == '<' {
			src, dst := strings.Trim(parts[0], "<>"), strings.Trim(parts[2], "<>")
			if triple.CheckIRI(src) == nil && triple.CheckIRI(dst) == nil {
				p.add(src, dst)
			}
		}
	}, "dbpedia-links", "links", "*dbpedia.org", "*", "*.nt")
	p.compareOn(t)
}
