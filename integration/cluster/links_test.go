// The graph of links of a cluster against a plain one.

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// web is the graph of links that a cluster ought to have, in plain maps, and the graphs
// of its machines.
type web struct {
	*world
	dir string // of the files of all graphs
	// messageBytes is the size of messages between graphs; 0 is the default.
	messageBytes int
	copies       int                // of cells, besides the first one
	memoryBytes  map[*machine]int64 // bounds of graphs that are opened
	graphs       map[*machine]*linkgraph.Graph
	links        map[string]map[string]cell.Label // by source and target

	mu   sync.Mutex
	uids map[string]uid.UID // all that anybody was ever told
	urls map[uid.UID]string
}

func newWeb(w *world) *web {
	return &web{world: w, dir: w.t.TempDir(), copies: 2, graphs: map[*machine]*linkgraph.Graph{}, links: map[string]map[string]cell.Label{}, uids: map[string]uid.UID{}, urls: map[uid.UID]string{}}
}

// open opens the graphs of machines that run and have none.
func (w *web) open() {
	w.t.Helper()
	for _, m := range w.up() {
		if w.graphs[m] != nil || m.noLinks {
			continue
		}
		g, err := linkgraph.OpenNode(m.node, linkgraph.Options{Copies: w.copies, Dir: filepath.Join(w.dir, m.name), Workers: 1, MessageBytes: w.messageBytes, MemoryBytes: w.memoryBytes[m], Logger: w.log.With("machine", m.name)})
		require.NoError(w.t, err)
		w.graphs[m] = g
	}
}

// end closes the graphs of machines, all where none is named.
func (w *web) end(machines ...*machine) {
	if machines == nil {
		machines = slices.Collect(maps.Keys(w.graphs))
	}
	for _, m := range machines {
		if err := w.graphs[m].Close(); err != nil {
			w.t.Error(err)
		}
		delete(w.graphs, m)
	}
}

// some returns the graph of one of the machines that run and keep one.
func (w *web) some() *linkgraph.Graph {
	m := w.any()
	for m.noLinks {
		m = w.any()
	}
	return w.graphs[m]
}

// told notes what a page's UID was said to be: it never is another.
func (w *web) told(url string, u uid.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u == 0 {
		w.t.Errorf("%s has no UID", url)
	}
	if before, ok := w.uids[url]; ok && before != u {
		w.t.Errorf("%s was %s and is %s", url, before, u)
	}
	if before, ok := w.urls[u]; ok && before != url {
		w.t.Errorf("%s is %s, and was %s", u, url, before)
	}
	w.uids[url], w.urls[u] = u, url
}

// url returns one of a few pages of a few hosts.
func (w *web) url() string { return randomURL(w.random) }

func randomURL(random *rand.Rand) string {
	return fmt.Sprintf("http://www%d.example.org/%d", random.IntN(6), random.IntN(12))
}

// allURLs returns all pages that url may return.
func allURLs() (urls []string) {
	for host := range 6 {
		for page := range 12 {
			urls = append(urls, fmt.Sprintf("http://www%d.example.org/%d", host, page))
		}
	}
	return urls
}

// freshURL returns one of many more pages, of more hosts.
func freshURL(random *rand.Rand) string {
	return fmt.Sprintf("http://www%d.example.org/fresh/%d", random.IntN(10), random.IntN(20))
}

// allPages returns all pages that url and freshURL may return.
func allPages() []string {
	urls := allURLs()
	for host := range 10 {
		for page := range 20 {
			urls = append(urls, fmt.Sprintf("http://www%d.example.org/fresh/%d", host, page))
		}
	}
	return urls
}

// change makes random changes by a random machine.
func (w *web) change() {
	w.t.Helper()
	var changes []links.Change
	for range 1 + w.random.IntN(8) {
		c := links.Change{Kind: links.ChangeKind(w.random.IntN(3)), Source: w.url()}
		for range w.random.IntN(5) {
			c.Targets = append(c.Targets, w.url())
		}
		if c.Kind != links.DeleteLinks && w.random.IntN(4) == 0 {
			for range c.Targets {
				c.Labels = append(c.Labels, cell.Label{Weight: float64(w.random.IntN(9)), Anchor: "a"})
			}
		}
		changes = append(changes, c)
		w.apply(c)
	}
	if _, err := w.some().Update(w.t.Context(), changes); err != nil {
		w.t.Fatal(err)
	}
}

// apply makes a change of what ought to be.
func (w *web) apply(c links.Change) {
	of := w.links[c.Source]
	if of == nil {
		of = map[string]cell.Label{}
		w.links[c.Source] = of
	}
	if c.Kind == links.ReplaceLinks {
		for target := range of {
			if !slices.Contains(c.Targets, target) {
				delete(of, target)
			}
		}
	}
	for i, target := range c.Targets {
		if c.Kind == links.DeleteLinks {
			delete(of, target)
			continue
		}
		label, ok := of[target]
		if !ok {
			label = cell.NoLabel
		}
		if c.Labels != nil && c.Labels[i] != cell.NoLabel {
			label = c.Labels[i]
		}
		of[target] = label
	}
}

// byOtherDoors adds or deletes a link as a triple.
func (w *web) byOtherDoors() { w.asTriple(w.url(), w.url()) }

// asTriple adds or deletes a link as a triple.
func (w *web) asTriple(src, dst string) {
	w.t.Helper()
	t := []triple.Triple{links.Link(links.DefaultPredicate, src, dst)}
	var err error
	if w.random.IntN(2) == 0 {
		_, err = store.Add(w.t.Context(), w.any().node, t)
		w.apply(links.Change{Source: src, Targets: []string{dst}})
	} else {
		_, err = store.Delete(w.t.Context(), w.any().node, t)
		w.apply(links.Change{Kind: links.DeleteLinks, Source: src, Targets: []string{dst}})
	}
	require.NoError(w.t, err)
}

// check compares all that a graph says with what ought to be.
func (w *web) check(g *linkgraph.Graph) {
	w.t.Helper()
	ctx := w.t.Context()
	backward := map[string][]string{}
	pages := map[string]bool{}
	for src, of := range w.links {
		for dst := range of {
			backward[dst] = append(backward[dst], src)
			pages[src], pages[dst] = true, true
		}
	}
	most := 30 // links of a prefix; the longest list must fit
	for src := range pages {
		most = max(most, len(w.links[src]), len(backward[src]))
	}
	urls := slices.Sorted(maps.Keys(pages))
	uids, err := g.UIDs(ctx, urls)
	require.NoError(w.t, err)
	for i, u := range uids {
		w.told(urls[i], u)
	}
	back, err := g.URLs(ctx, append(slices.Clone(uids), 12345, 0))
	if err != nil || !slices.Equal(back, append(slices.Clone(urls), "", "")) {
		w.t.Fatalf("URLs: %v, %v", back, err)
	}
	asked := append(slices.Clone(uids), uids...) // each twice, and what is no page
	asked = append(asked, 77)
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		lists, err := g.Links(ctx, d, asked)
		if err != nil || len(lists.Ends) != len(asked) {
			w.t.Fatalf("%d lists, %v", len(lists.Ends), err)
		}
		for rest, got := asked, []uid.UID(nil); ; {
			some, err := g.LinksPrefix(ctx, d, rest, most)
			if err != nil || some.Len() == 0 && len(rest) > 0 || len(some.Items) > most {
				w.t.Fatalf("%d lists of %d links, %v", some.Len(), len(some.Items), err)
			}
			if rest, got = rest[some.Len():], append(got, some.Items...); len(rest) > 0 {
				continue
			}
			if !slices.Equal(got, lists.Items) {
				w.t.Fatalf("%v lists in parts: %v; they are %v", d, got, lists.Items)
			}
			break
		}
		degrees, err := g.Degrees(ctx, d, asked)
		require.NoError(w.t, err)
		spec := sample.Spec{N: w.random.IntN(9), Mode: sample.Mode(w.random.IntN(2)), Class: sample.Class(w.random.IntN(3)), Seed: w.random.Uint64()}
		samples, err := g.SampleLinks(ctx, d, asked, spec)
		require.NoError(w.t, err)
		hosts := w.hosts()
		for i := range asked {
			var want []uid.UID
			if i < 2*len(urls) {
				ends := backward[urls[i%len(urls)]]
				if d == links.Forward {
					ends = slices.Collect(maps.Keys(w.links[urls[i%len(urls)]]))
				}
				for _, end := range ends {
					want = append(want, w.uids[end])
				}
				slices.Sort(want)
			}
			if got := lists.At(i); !slices.Equal(got, want) || degrees[i] != len(want) {
				w.t.Fatalf("%v links of %s (%s): %v, degree %d; they are %v", d, asked[i], w.urls[asked[i]], got, degrees[i], want)
			}
			if got, want := samples.At(i), sample.Sample(nil, want, asked[i], spec, hosts); !slices.Equal(got, want) {
				w.t.Fatalf("%v links of %s (%s), %+v: %v; they are %v", d, asked[i], w.urls[asked[i]], spec, got, want)
			}
		}
	}
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		labels, err := g.Labels(ctx, d, uids)
		require.NoError(w.t, err)
		for i, url := range urls {
			others, want := w.labelsOf(d, url)
			got := labels.At(i)
			if slices.Equal(got, want) {
				continue
			}
			for k, label := range got[:min(len(got), len(want))] {
				if label != want[k] {
					src, dst := url, others[k]
					if d == links.Backward {
						src, dst = dst, src
					}
					note, err := w.readNote(links.Link(links.DefaultPredicate, src, dst), links.Application)
					w.t.Errorf("the label of the link from %s to %s is %v; it was %v, and the store has %q, %v", src, dst, label, want[k], note, err)
				}
			}
			w.t.Fatalf("%d labels of the %s links of %s; there are %d", len(got), d, url, len(want))
		}
	}
	var all []uid.UID
	for after := uid.UID(0); ; {
		some, err := g.Pages(ctx, after, 7)
		require.NoError(w.t, err)
		if len(some) == 0 {
			break
		}
		all = append(all, some...)
		after = some[len(some)-1]
	}
	if want := slices.Sorted(slices.Values(uids)); !slices.Equal(all, want) {
		w.t.Fatalf("the pages are %v, want %v", all, want)
	}
}

// linked returns the pages that have links, ascending. All must have been told.
func (w *web) linked() []uid.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	pages := map[uid.UID]bool{}
	for src, of := range w.links {
		for dst := range of {
			pages[w.uids[src]], pages[w.uids[dst]] = true, true
		}
	}
	return slices.Sorted(maps.Keys(pages))
}

// checkStats compares the statistics of all servers with what they ought to be.
func (w *web) checkStats(g *linkgraph.Graph) {
	w.t.Helper()
	want := links.ServerStats{}
	in := map[string]int{}
	for _, of := range w.links {
		want.Links += int64(len(of))
		want.MaxOut = max(want.MaxOut, len(of))
		for dst := range of {
			in[dst]++
			want.MaxIn = max(want.MaxIn, in[dst])
		}
	}
	pages := w.linked()
	want.Pages, want.Linked, want.MinUID, want.MaxUID = int64(len(pages)), want.Links, pages[0], pages[len(pages)-1]
	stats, err := g.Stats(w.t.Context())
	if err != nil || len(stats.Servers) != len(w.up()) {
		w.t.Fatalf("%+v, %v", stats, err)
	}
	// The sizes in bytes are the machines' own matter.
	exact := func(s links.ServerStats) links.ServerStats {
		return links.ServerStats{Pages: s.Pages, Links: s.Links, Linked: s.Linked, MaxOut: s.MaxOut, MaxIn: s.MaxIn, MinUID: s.MinUID, MaxUID: s.MaxUID}
	}
	sum := int64(0)
	for _, s := range stats.Servers {
		sum += s.Pages
	}
	if got := exact(stats.ServerStats); got != want || sum != want.Pages {
		w.t.Fatalf("the statistics are %+v, of servers with %d pages, want %+v", got, sum, want)
	}
}

// hosts tells the hosts and domains of the extents of all pages.
func (w *web) hosts() extentHosts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return hostsOf(w.uids)
}

// labelsOf returns the other ends of the links of a page, by UID, and the labels.
func (w *web) labelsOf(d links.Direction, url string) (others []string, labels []cell.Label) {
	of := map[string]cell.Label{}
	for src, targets := range w.links {
		for dst, label := range targets {
			if d == links.Forward && src == url {
				of[dst] = label
			} else if d == links.Backward && dst == url {
				of[src] = label
			}
		}
	}
	others = slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Compare(w.uids[a], w.uids[b]) })
	for _, other := range others {
		labels = append(labels, of[other])
	}
	return others, labels
}

// answered asks for all links again and again until there is an answer: before, all
// there may be is store.ErrUnavailable.
func (w *web) answered() {
	w.t.Helper()
	g := w.some()
	urls := slices.Sorted(maps.Keys(w.uids))
	w.until("links are answered", func() bool {
		ctx := w.t.Context()
		uids, err := g.UIDs(ctx, urls)
		for d := links.Forward; err == nil && d <= links.Backward; d++ {
			_, err = g.Links(ctx, d, uids)
		}
		if err == nil {
			_, err = g.Labels(ctx, links.Forward, uids)
		}
		if err == nil {
			_, err = g.Pages(ctx, 0, len(urls))
		}
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			w.t.Fatal(err)
		}
		return err == nil
	})
	w.check(g)
}

// TestLinks changes links at all endpoints and on all machines, loses one machine and two at
// once, and compares all answers, right after too.
func TestLinks(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		work := func(rounds int) {
			for range rounds {
				web.change()
				web.byOtherDoors()
			}
			web.check(web.some())
		}
		work(10)
		for _, losses := range []int{1, 2} {
			for range losses {
				m := w.any()
				web.end(m)
				m.kill()
			}
			web.answered() // nobody has noticed yet
			work(3)
			w.settle()
			work(3)
			for range losses {
				w.add().run(w.up()[0])
			}
			web.open()
			work(3)
			w.settle()
		}
		for _, m := range w.up() {
			web.check(web.graphs[m])
		}
		web.checkStats(web.some())
	})
}

// TestLinksConform: the graph of a cluster passes the conformance test.
func TestLinksConform(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		linkstest.TestGraph(t, web.some(), nil)
	})
}

// TestLinksNamedAtOnce has all machines give UIDs to the same pages at the same time,
// while one of them dies: a page has one UID for all, for good, and no two pages share
// one.
func TestLinksNamedAtOnce(t *testing.T) {
	seed.Long(t)
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for round := range 4 {
			var urls []string
			for i := range 40 {
				urls = append(urls, fmt.Sprintf("http://www%d.example.org/%d/%d", i%7, round, i))
			}
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for _, m := range w.up() {
				g := web.graphs[m]
				for range 2 {
					seed := w.random.Uint64()
					all.Go(func() { web.nameSome(ctx, g, seed, urls) })
				}
			}
			if round > 0 {
				w.until("somebody was told a UID", func() bool {
					web.mu.Lock()
					defer web.mu.Unlock()
					return len(web.uids) > 40*round+w.random.IntN(20)
				})
				victim := w.any()
				if len(w.up()) > 2 {
					defer func(g *linkgraph.Graph) { _ = g.Close() }(web.graphs[victim])
					delete(web.graphs, victim)
					victim.kill()
				}
			}
			w.settle()
			all.Wait()
			cancel()
			for _, m := range w.up() {
				found, err := web.graphs[m].UIDs(t.Context(), urls)
				require.NoError(t, err)
				for i, u := range found {
					web.told(urls[i], u)
				}
			}
			if len(w.up()) < 4 {
				w.add().run(w.up()[0])
				web.open()
				w.settle()
			}
		}
	})
}

// nameSome updates links to pages in an order of its own until all are done or the
// machine is gone.
func (w *web) nameSome(ctx context.Context, g *linkgraph.Graph, seed uint64, urls []string) {
	random := rand.New(rand.NewPCG(seed, 0))
	for _, i := range random.Perm(len(urls)) {
		_, err := g.Update(ctx, []links.Change{{Source: urls[i], Targets: []string{urls[(i+1)%len(urls)]}}})
		if err != nil {
			continue // the machine is dead, or another was in the middle: others go on
		}
		found, err := g.UIDs(ctx, urls[i:i+1])
		if err == nil {
			w.told(urls[i], found[0])
		}
	}
}

// TestLinksRanked compares rankings with those of the same graph in plain memory, and
// PageRank with the same done on the links that were read.
func TestLinksRanked(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 25 {
			web.change()
			web.byOtherDoors()
		}
		g := web.some()
		web.check(g)
		urls := slices.Sorted(maps.Keys(web.links))
		roots, err := g.UIDs(t.Context(), urls[:len(urls)/2])
		require.NoError(t, err)
		web.checkRankings(g, roots)
		job, scores := web.pageRank(g)
		if job.State != "done" || job.Stored != job.Pages {
			t.Fatalf("%+v", job)
		}
		top := scores.Authorities[0]
		note, err := w.readNote(links.UIDTriple(web.urls[top.UID], top.UID), links.PageRankApplication)
		if err != nil || note != fmt.Sprint(top.Score) {
			t.Errorf("the score %v is noted as %q, %v", top.Score, note, err)
		}
	})
}

// pageRank runs a job, and checks its scores if it ends well; meanwhile happens once it
// has begun.
func (w *web) pageRank(g *linkgraph.Graph, meanwhile ...func()) (job links.PageRankJob, scores links.Ranking) {
	t := w.t
	t.Helper()
	require.NoError(t, g.StartPageRank(t.Context(), links.PageRankOptions{Store: true}))
	for _, do := range meanwhile {
		do()
	}
	var err error
	w.until("the job ends", func() bool {
		job, err = g.PageRank(t.Context())
		return err != nil || job.State != "running" && job.State != "storing"
	})
	require.NoError(t, err)
	if job.State != "done" {
		return job, scores
	}
	edges := int64(0)
	for _, of := range w.links {
		edges += int64(len(of))
	}
	if job.Links != edges || !job.Converged {
		t.Fatalf("%+v; there are %d links", job, edges)
	}
	scores, err = g.Rank(t.Context(), links.RankRequest{Algorithm: links.PageRank, All: true})
	if err != nil || int64(len(scores.Authorities)) != job.Pages {
		t.Fatalf("%d scores, %v", len(scores.Authorities), err)
	}
	got := map[uid.UID]float64{}
	sum := 0.0
	for _, s := range scores.Authorities {
		got[s.UID] = s.Score
		sum += s.Score
	}
	if sum < 1-1e-6 || sum > 1+1e-6 {
		t.Errorf("scores sum up to %v", sum)
	}
	// The scores are their own next round.
	next := map[uid.UID]float64{}
	lost := 0.0
	for u := range got {
		of := w.links[w.urls[u]]
		if len(of) == 0 {
			lost += got[u]
		}
		for dst := range of {
			next[w.uids[dst]] += got[u] / float64(len(of))
		}
	}
	for u, score := range got {
		n := float64(len(got))
		if want := 0.15/n + 0.85*(lost/n+next[u]); score-want > 1e-6 || want-score > 1e-6 {
			t.Errorf("the score of %s is %v, and %v by its links", w.urls[u], score, want)
		}
	}
	return job, scores
}

// TestLinksRankedWhileLost loses a machine while PageRank runs: it ends right, with its scores stored.
func TestLinksRankedWhileLost(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		for range 20 {
			web.change()
			web.byOtherDoors()
		}
		m := w.any()
		g := web.graphs[m]
		web.check(g)
		job, _ := web.pageRank(g, func() {
			victim := w.any()
			for victim == m {
				victim = w.any()
			}
			web.end(victim)
			victim.kill()
		})
		if job.State != "done" || job.Stored != job.Pages {
			t.Errorf("%+v", job)
		}
		w.settle()
		if job, _ = web.pageRank(g); job.State != "done" {
			t.Errorf("when the cluster is whole again: %+v", job)
		}
	})
}

// readNote reads what is noted on a triple.
func (w *world) readNote(t triple.Triple, application string) (string, error) {
	sn, err := w.any().node.Reader()
	if err != nil {
		return "", err
	}
	defer sn.Close()
	data, err := sn.Annotation(w.t.Context(), t, application)
	return string(data.Bytes()), err
}
