// Tests of the graph against a plain map: changes, restarts and damaged files.

package linkgraph

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/update"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
	"github.com/trefoildb/trefoil/triple"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}

var ctx = context.Background()

var random = seed.Rand

// world is a store, its graph, and a plain map for comparison.
type world struct {
	t     testing.TB
	dir   string
	o     machine.Options
	store *store.Store
	graph *Graph
	links map[string]map[string]links.Label
	uids  map[string]uid.UID // of all pages that ever had one
}

func newWorld(t testing.TB, o machine.Options) *world {
	w := &world{t: t, dir: t.TempDir(), o: o, links: map[string]map[string]links.Label{}, uids: map[string]uid.UID{}}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.t.Helper()
	db, err := store.Open(w.dir, store.Options{MinFreeBytes: -1, Watched: []string{links.DefaultPredicate}})
	require.NoError(w.t, err)
	graph, err := Open(db, w.o)
	require.NoError(w.t, err)
	if err := graph.AwaitCells(ctx); err != nil && (w.o.MemoryBytes == 0 || !errors.Is(err, links.ErrMemory)) {
		w.t.Fatal(err)
	}
	w.store, w.graph = db, graph
}

func (w *world) close() {
	if err := errors.Join(w.graph.Close(), w.store.Close()); err != nil {
		w.t.Error(err)
	}
}

func (w *world) reopen() {
	w.t.Helper()
	w.close()
	w.open()
}

func (w *world) set(src, dst string, label links.Label) {
	if w.links[src] == nil {
		w.links[src] = map[string]links.Label{}
	}
	w.links[src][dst] = label
}

func (w *world) unset(src, dst string) { delete(w.links[src], dst) }

// update makes changes in the graph and in the map.
func (w *world) update(changes ...links.Change) {
	w.t.Helper()
	if _, err := w.graph.Update(ctx, changes); err != nil {
		w.t.Fatal(err)
	}
	for _, c := range changes {
		old := maps.Clone(w.links[c.Source])
		if c.Kind == links.ReplaceLinks {
			delete(w.links, c.Source)
		}
		for i, dst := range c.Targets {
			if c.Kind == links.DeleteLinks {
				w.unset(c.Source, dst)
				continue
			}
			label, ok := old[dst]
			if !ok {
				label = cell.NoLabel
			}
			if c.Labels != nil && c.Labels[i] != cell.NoLabel {
				label = c.Labels[i]
			}
			w.set(c.Source, dst, label)
		}
	}
}

// compare compares all answers of the graph with the map.
func (w *world) compare() {
	w.t.Helper()
	if _, err := w.graph.Board.CaughtUp(ctx); err != nil {
		w.t.Fatal(err)
	}
	forward, backward := map[string][]string{}, map[string][]string{}
	pages := map[string]bool{}
	n := int64(0)
	for src, targets := range w.links {
		for dst := range targets {
			pages[src], pages[dst] = true, true
			forward[src] = append(forward[src], dst)
			backward[dst] = append(backward[dst], src)
			n++
		}
	}
	urls := slices.Sorted(maps.Keys(pages))
	uids, err := w.graph.UIDs(ctx, urls)
	require.NoError(w.t, err)
	named := map[uid.UID]string{}
	for i, u := range uids {
		if !u.Valid() || u.Slot() != uid.SlotOf(weburl.HostKey(urls[i])) {
			w.t.Fatalf("%s has UID %s", urls[i], u)
		}
		if other, ok := named[u]; ok {
			w.t.Fatalf("%s and %s both have UID %s", urls[i], other, u)
		}
		if before, ok := w.uids[urls[i]]; ok && before != u {
			w.t.Fatalf("%s had UID %s and has %s", urls[i], before, u)
		}
		named[u], w.uids[urls[i]] = urls[i], u
	}
	known := slices.Collect(maps.Keys(w.uids)) // also of those without links now
	for some := range slices.Chunk(known, 100) {
		var asked []uid.UID
		for _, url := range some {
			asked = append(asked, w.uids[url])
		}
		if back, err := w.graph.URLs(ctx, asked); err != nil || !slices.Equal(back, some) {
			w.t.Fatalf("UIDs %v of %q are of %q, %v", asked, some, back, err)
		}
	}
	for d, want := range map[links.Direction]map[string][]string{links.Forward: forward, links.Backward: backward} {
		lists, err := w.graph.Links(ctx, d, uids)
		require.NoError(w.t, err)
		degrees, err := w.graph.Degrees(ctx, d, uids)
		require.NoError(w.t, err)
		for i, url := range urls {
			got := make([]string, 0, len(lists.At(i)))
			for _, u := range lists.At(i) {
				got = append(got, named[u])
			}
			if !slices.IsSorted(lists.At(i)) {
				w.t.Fatalf("%s links of %s: %v", d, url, lists.At(i))
			}
			slices.Sort(got)
			slices.Sort(want[url])
			if !slices.Equal(got, want[url]) || degrees[i] != len(got) {
				w.t.Fatalf("%s links of %s, degree %d:\n got %q\nwant %q", d, url, degrees[i], got, want[url])
			}
		}
		labels, err := w.graph.Labels(ctx, d, uids)
		require.NoError(w.t, err)
		for i, url := range urls {
			for j, u := range lists.At(i) {
				src, dst := url, named[u]
				if d == links.Backward {
					src, dst = dst, src
				}
				if got, want := labels.At(i)[j], w.links[src][dst]; got != want {
					w.t.Fatalf("label of %s -> %s, %s: %+v, want %+v", src, dst, d, got, want)
				}
			}
		}
	}
	all := w.enumerate(n, int64(len(named)))
	if want := slices.Sorted(maps.Keys(named)); !slices.Equal(all, want) {
		w.t.Fatalf("the pages are %v, want %v", all, want)
	}
}

// enumerate returns all pages, and compares their number with the stats.
func (w *world) enumerate(links, pages int64) (all []uid.UID) {
	w.t.Helper()
	stats, err := w.graph.Stats(ctx)
	if err != nil || stats.Links != links || stats.Linked != links || stats.Pages != pages {
		w.t.Fatalf("%d pages, %d links, in fact; %+v, %v", pages, links, stats, err)
	}
	for after := uid.UID(0); ; after = all[len(all)-1] {
		some, err := w.graph.Pages(ctx, after, 7)
		require.NoError(w.t, err)
		if all = append(all, some...); len(some) == 0 {
			return all
		}
	}
}

func pageURL(host, n int) string { return fmt.Sprintf("http://www.host%d.example.org/page%d", host, n) }

func TestGraph(t *testing.T) {
	w := newWorld(t, machine.Options{CellPages: 10})
	w.compare()
	a, b, c := pageURL(1, 1), pageURL(1, 2), pageURL(2, 1)
	label := links.Label{Weight: 2.5, Anchor: "the text"}
	w.update(links.Change{Source: a, Targets: []string{b, c, a}, Labels: []links.Label{cell.NoLabel, label, cell.NoLabel}})
	w.compare()
	w.update(links.Change{Kind: links.ReplaceLinks, Source: a, Targets: []string{c, b}}, links.Change{Source: b, Targets: []string{c}})
	w.compare()
	w.update(links.Change{Kind: links.DeleteLinks, Source: a, Targets: []string{b, pageURL(9, 9)}})
	w.compare()
	w.reopen()
	w.compare()
	w.update(links.Change{Kind: links.ReplaceLinks, Source: a})
	w.compare()
	w.reopen()
	w.compare()
}

// TestOtherDoors checks that links from other endpoints are visible, in named graphs too.
func TestOtherDoors(t *testing.T) {
	w := newWorld(t, machine.Options{})
	a, b := pageURL(1, 1), pageURL(2, 1)
	link := links.Link(links.DefaultPredicate, a, b)
	named := link
	named.Graph = triple.NewIRI("http://example.org/graph")
	long := "http://www.host3.example.org/" + strings.Repeat("long/", 1000)
	if _, err := store.Add(ctx, w.store, []triple.Triple{link, named, links.Link(links.DefaultPredicate, long, a), links.Link("http://example.org/other", b, a),
		{Subject: link.Subject, Predicate: link.Predicate, Object: triple.NewString("no page")}}); err != nil {
		t.Fatal(err)
	}
	w.set(a, b, cell.NoLabel)
	w.set(long, a, cell.NoLabel)
	w.compare()
	if _, err := store.Delete(ctx, w.store, []triple.Triple{link}); err != nil {
		t.Fatal(err)
	}
	w.compare() // the named graph has it still
	if _, err := store.Delete(ctx, w.store, []triple.Triple{named, links.Link(links.DefaultPredicate, long, a)}); err != nil {
		t.Fatal(err)
	}
	w.unset(a, b)
	w.unset(long, a)
	w.compare()
	if _, err := store.Apply(ctx, w.store, store.Steps{ClearAll: true}); err != nil {
		t.Fatal(err)
	}
	clear(w.uids) // these were triples as well
	w.compare()
}

// TestLongAtOnce checks that changes between new pages with very long IRIs are applied with
// those before them. If they are deleted or annotated, the feed has only their beginning.
func TestLongAtOnce(t *testing.T) {
	w := newWorld(t, machine.Options{})
	a := pageURL(1, 1)
	long := func(i int) string {
		return fmt.Sprint("http://www.host3.example.org/", strings.Repeat("long/", 1000), i)
	}
	begun, goOn := make(chan struct{}), make(chan struct{})
	asked := make(chan error, 1)
	go func() {
		asked <- w.graph.keeper.InKeeper(ctx, func(*keep.Keeper) error {
			close(begun)
			<-goOn
			return nil
		})
	}()
	<-begun // the keeper applies nothing now
	noted, deleted := links.Link(links.DefaultPredicate, long(1), a), links.Link(links.DefaultPredicate, a, long(2))
	label := links.Label{Weight: 3, Anchor: "x"}
	_, added := store.Add(ctx, w.store, []triple.Triple{noted, deleted})
	annotated := store.Annotate(ctx, w.store, noted, links.Application, lists.AppendLabel(nil, label))
	_, err := store.Delete(ctx, w.store, []triple.Triple{deleted})
	close(goOn)
	require.NoError(t, errors.Join(added, annotated, err, <-asked))
	w.set(long(1), a, label)
	w.compare()
}

// TestRandom makes random changes by all endpoints, with restarts, and compares with a plain
// map.
func TestRandom(t *testing.T) {
	rng := random(t)
	w := newWorld(t, machine.Options{CellPages: 20, BuildBytes: 1 << 10, Workers: 2})
	some := func() string { return pageURL(rng.IntN(8), rng.IntN(12)) }
	steps := 60
	if testing.Short() {
		steps = 25
	}
	for step := range steps {
		switch n := rng.IntN(10); {
		case n < 6:
			var changes []links.Change
			for range 1 + rng.IntN(30) {
				c := links.Change{Kind: links.ChangeKind(rng.IntN(3)), Source: some()}
				seen := map[string]bool{}
				for range rng.IntN(8) {
					if dst := some(); !seen[dst] {
						seen[dst] = true
						c.Targets = append(c.Targets, dst)
					}
				}
				if c.Kind != links.DeleteLinks && rng.IntN(3) == 0 {
					for range c.Targets {
						label := cell.NoLabel
						if rng.IntN(2) == 0 {
							label = links.Label{Weight: float64(rng.IntN(5)), Anchor: fmt.Sprint("anchor ", rng.IntN(5))}
						}
						c.Labels = append(c.Labels, label)
					}
				}
				changes = append(changes, c)
			}
			w.update(changes...)
		case n < 8:
			var added, deleted []triple.Triple
			for range rng.IntN(20) {
				src, dst := some(), some()
				added = append(added, links.Link(links.DefaultPredicate, src, dst))
				if _, ok := w.links[src][dst]; !ok {
					w.set(src, dst, cell.NoLabel)
				}
			}
			if _, err := store.Add(ctx, w.store, added); err != nil {
				t.Fatal(err)
			}
			for range rng.IntN(20) {
				src, dst := some(), some()
				deleted = append(deleted, links.Link(links.DefaultPredicate, src, dst))
				w.unset(src, dst)
			}
			if _, err := store.Delete(ctx, w.store, deleted); err != nil {
				t.Fatal(err)
			}
		case n < 9:
			w.reopen()
		default:
			err := w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error {
				_, err := k.RebuildAll()
				return err
			})
			require.NoError(t, err)
		}
		if step%5 == 0 {
			w.compare()
		}
	}
	w.compare()
	before := w.graph.Board.State.Load()
	require.NoError(t, w.graph.placer.Make(ctx, machine.AllPartitions))
	if w.graph.Board.State.Load() == before {
		t.Error("nothing was built")
	}
	w.compare()
}

// TestDamagedFiles checks that files are not used if they are damaged, missing, or of another
// store.
func TestDamagedFiles(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	w := newWorld(t, machine.Options{CellPages: 5})
	for host := range 4 {
		for i := range 6 {
			w.update(links.Change{Source: pageURL(host, i), Targets: []string{pageURL(host, i+1), pageURL(host+1, i)}})
		}
	}
	require.NoError(t, w.graph.placer.Make(ctx, machine.AllPartitions))
	dir := w.dir + "/links"
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	if len(entries) < 3 {
		t.Fatalf("%d files", len(entries))
	}
	for _, e := range entries {
		for name, damage := range map[string]func(data []byte) []byte{
			"a flipped bit": func(data []byte) []byte { data[len(data)/2] ^= 4; return data },
			"cut off":       func(data []byte) []byte { return data[:len(data)/2] },
			"gone":          nil,
		} {
			w.close()
			file := dir + "/" + e.Name()
			data, err := os.ReadFile(file)
			if err != nil {
				w.open()
				continue // it has another name by now
			}
			if damage == nil {
				err = os.Remove(file)
			} else {
				err = os.WriteFile(file, damage(bytes.Clone(data)), 0o644)
			}
			require.NoError(t, err)
			w.open()
			t.Log(name, e.Name())
			w.compare()
		}
	}
}

func TestSamplesAndRanks(t *testing.T) {
	w := newWorld(t, machine.Options{CellPages: 100})
	hub := "http://hub.example.com/"
	c := links.Change{Source: hub}
	for host := range 40 {
		for i := range 50 {
			c.Targets = append(c.Targets, pageURL(host, i))
		}
	}
	c.Targets = append(c.Targets, "http://other.example.com/", "http://hub.example.com/own")
	w.update(c)
	uids, err := w.graph.UIDs(ctx, append([]string{hub}, c.Targets...))
	require.NoError(t, err)
	sampled := func(spec sample.Spec) []uid.UID {
		t.Helper()
		l, err := w.graph.SampleLinks(ctx, links.Forward, uids[:1], spec)
		require.NoError(t, err)
		return l.At(0)
	}
	want := func(n int, keep func(url string) bool) []uid.UID {
		var all []uid.UID
		for i, url := range c.Targets {
			if keep(url) {
				all = append(all, uids[1+i])
			}
		}
		slices.SortFunc(all, func(a, b uid.UID) int {
			if uid.Mix(uint64(a)) < uid.Mix(uint64(b)) {
				return -1
			}
			return 1
		})
		all = all[:min(n, len(all))]
		slices.Sort(all)
		return all
	}
	check := func() {
		t.Helper()
		for class, keep := range map[sample.Class]func(string) bool{
			sample.All:         func(string) bool { return true },
			sample.InterHost:   func(url string) bool { return !strings.HasPrefix(url, hub) },
			sample.InterDomain: func(url string) bool { return !strings.Contains(url, ".com/") },
		} {
			got := sampled(sample.Spec{N: 20, Mode: sample.ModeConsistent, Class: class})
			if !slices.Equal(got, want(20, keep)) {
				t.Errorf("%s: %v, want %v", class, got, want(20, keep))
			}
			if got := sampled(sample.Spec{N: 20, Mode: sample.ModeRandom, Class: class, Seed: 7}); len(got) != 20 {
				t.Errorf("%s: %d at random", class, len(got))
			}
		}
	}
	check()
	require.NoError(t, w.graph.keeper.InKeeper(ctx, func(k *keep.Keeper) error { _, err := k.RebuildAll(); return err }))
	s := w.graph.Board.State.Load()
	if tables := s.Sketches[s.Find(uids[0])]; tables == nil || tables[links.Forward].Len() != 1 {
		t.Error("a list of 2002 links has no sketch")
	}
	check() // by a sketch
	gone := want(3, func(string) bool { return true })
	kept := c.Targets[:0:0]
	var deleted []string
	for i, url := range c.Targets {
		if slices.Contains(gone, uids[1+i]) {
			deleted = append(deleted, url)
		} else {
			kept = append(kept, url)
		}
	}
	w.update(links.Change{Kind: links.DeleteLinks, Source: hub, Targets: deleted})
	c.Targets = kept
	if uids, err = w.graph.UIDs(ctx, append([]string{hub}, c.Targets...)); err != nil {
		t.Fatal(err)
	}
	check()

	for _, algorithm := range []links.Algorithm{links.SALSA, links.HITS} {
		r, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: algorithm, Pages: uids[:1], Out: 10, Mode: sample.ModeConsistent, All: true})
		require.NoError(t, err)
		if r.Vertices != 11 || r.Edges != 10 || len(r.Hubs) != 11 || r.Hubs[0].UID != uids[0] {
			t.Errorf("%s: %+v", algorithm, r)
		}
	}
	if _, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: links.PageRank, Pages: uids[:2]}); !errors.Is(err, links.ErrNoJob) {
		t.Errorf("a rank without a job: %v", err)
	}
	require.NoError(t, w.graph.StartPageRank(ctx, links.PageRankOptions{Store: true}))
	var job links.PageRankJob
	for job.State != "done" {
		if job, err = w.graph.PageRank(ctx); err != nil || job.State == "failed" {
			t.Fatal(job, err)
		}
	}
	stats, err := w.graph.Stats(ctx)
	if err != nil || job.Pages != stats.Pages || job.Links != stats.Links || !job.Converged || job.Stored != job.Pages {
		t.Errorf("job %+v of %+v, %v", job, stats, err)
	}
	r, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: links.PageRank, All: true})
	if err != nil || int64(len(r.Authorities)) != job.Pages {
		t.Fatalf("%d pages of %d are ranked: %v", len(r.Authorities), job.Pages, err)
	}
	sum := 0.0
	for _, p := range r.Authorities {
		sum += p.Score
	}
	if sum < 1-1e-9 || sum > 1+1e-9 {
		t.Errorf("the scores sum up to %v", sum)
	}
	sn, err := w.store.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	best := r.Authorities[0]
	name, err := w.graph.URLs(ctx, []uid.UID{best.UID})
	require.NoError(t, err)
	noted, err := sn.Annotation(ctx, links.UIDTriple(name[0], best.UID), links.PageRankApplication)
	if err != nil || string(noted.Bytes()) != strconv.FormatFloat(best.Score, 'g', -1, 64) {
		t.Errorf("%q is noted on %s, its score is %v: %v", noted.Bytes(), name[0], best.Score, err)
	}
}

// TestLongList updates a page with more links than one change of the store has.
func TestLongList(t *testing.T) {
	seed.Slow(t)
	if testing.Short() {
		t.Skip("short: large, and like others but for the parts that it is taken in")
	}
	w := newWorld(t, machine.Options{})
	list := func(from, to int) (targets []string) {
		for i := from; i < to; i++ {
			targets = append(targets, pageURL(i%7, i))
		}
		return targets
	}
	hub := pageURL(100, 1)
	w.update(links.Change{Source: hub, Targets: list(0, 2*update.ChangedLinks+5)})
	w.update(links.Change{Kind: links.ReplaceLinks, Source: hub, Targets: list(update.ChangedLinks, 2*update.ChangedLinks+10)})
	w.compare()
	w.update(links.Change{Kind: links.DeleteLinks, Source: hub, Targets: list(0, update.ChangedLinks+10)})
	w.compare()
	// Short lists replace long ones: first a very long one, then many at once.
	w.update(links.Change{Source: hub, Targets: list(0, 2*update.ChangedLinks+5)})
	w.update(links.Change{Kind: links.ReplaceLinks, Source: hub, Targets: list(7, 9)}, links.Change{Source: hub, Targets: list(3, 4)})
	w.compare()
	var long, short []links.Change
	for i := range 2*update.ChangedLinks/1000 + 1 {
		long = append(long, links.Change{Source: pageURL(101, i), Targets: list(0, 1000)})
		short = append(short, links.Change{Kind: links.ReplaceLinks, Source: pageURL(101, i), Targets: list(i, i+2)})
	}
	w.update(long...)
	w.update(short...)
	w.compare()
}

// TestLongTargets updates pages with URLs so long that a change of the store has a few of them.
func TestLongTargets(t *testing.T) {
	w := newWorld(t, machine.Options{MessageBytes: 10_000})
	var changes []links.Change
	for i := range 9 {
		c := links.Change{Kind: links.ChangeKind(i % 3), Source: pageURL(i%3, 1)}
		for k := range 5 {
			c.Targets = append(c.Targets, fmt.Sprintf("%s?%s", pageURL(k, i), strings.Repeat("x", 1000*k)))
		}
		if c.Kind == links.DeleteLinks {
			c.Targets = append(c.Targets, changes[i-1].Targets[2:]...)
		}
		changes = append(changes, c)
	}
	w.update(changes...)
	w.anywhere()
}

// TestLabelOfAddedAgain adds a link with a label again, in a named graph: the label stays. If the link
// was deleted in between, it is gone.
func TestLabelOfAddedAgain(t *testing.T) {
	w := newWorld(t, machine.Options{})
	src, dst := pageURL(1, 1), pageURL(2, 1)
	label := cell.Label{Weight: 2, Anchor: "a"}
	w.update(links.Change{Source: src, Targets: []string{dst, pageURL(3, 1)}, Labels: []cell.Label{label, label}})
	again := links.Link(links.DefaultPredicate, src, dst)
	again.Graph = triple.NewIRI("urn:g")
	if _, err := store.Add(ctx, w.store, []triple.Triple{again}); err != nil {
		t.Fatal(err)
	}
	w.compare()
	w.update(links.Change{Kind: links.DeleteLinks, Source: src, Targets: []string{pageURL(3, 1)}}, links.Change{Source: src, Targets: []string{pageURL(3, 1)}})
	w.compare()
	w.anywhere()
}

// TestUIDOfTwoPages adds a page's UID to another page. Nobody may wait forever, the error must
// name the triple to delete, and then everything must continue.
func TestUIDOfTwoPages(t *testing.T) {
	w := newWorld(t, machine.Options{})
	w.update(links.Change{Source: pageURL(1, 1), Targets: []string{pageURL(2, 1)}})
	w.compare()
	stolen := links.UIDTriple("http://thief.example.org/", w.uids[pageURL(1, 1)])
	if _, err := store.Add(ctx, w.store, []triple.Triple{stolen}); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, w.graph.Close())
	require.NoError(t, os.RemoveAll(w.dir+"/links"))
	var err error
	if w.graph, err = Open(w.store, w.o); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"request": w.graph.AwaitCells(ctx),
		"read":    func() error { _, err := w.graph.UIDs(ctx, []string{pageURL(1, 1)}); return err }(),
		"update": func() error {
			_, err := w.graph.Update(ctx, []links.Change{{Source: pageURL(3, 1), Targets: []string{pageURL(1, 1)}}})
			return err
		}(),
	} {
		if !errors.Is(err, links.ErrLoading) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := w.graph.AwaitCells(ctx); err == nil || !strings.Contains(err.Error(), "thief") || !strings.Contains(err.Error(), "delete") {
		t.Errorf("the error does not help: %v", err)
	}
	if _, err := store.Delete(ctx, w.store, []triple.Triple{stolen}); err != nil {
		t.Fatal(err)
	}
	await.Condition(t, "it goes on", func() bool { return w.graph.AwaitCells(ctx) == nil })
	w.compare()
}

func TestInvalid(t *testing.T) {
	w := newWorld(t, machine.Options{})
	for name, c := range map[string]links.Change{
		"no IRI":        {Source: "no IRI", Targets: []string{pageURL(1, 1)}},
		"bad target":    {Source: pageURL(1, 1), Targets: []string{"http://a b/"}},
		"kind":          {Kind: 9, Source: pageURL(1, 1)},
		"few labels":    {Source: pageURL(1, 1), Targets: []string{pageURL(1, 2)}, Labels: []links.Label{}},
		"labels to del": {Kind: links.DeleteLinks, Source: pageURL(1, 1), Targets: []string{pageURL(1, 2)}, Labels: []links.Label{{}}},
	} {
		if _, err := w.graph.Update(ctx, []links.Change{c}); !errors.Is(err, links.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: "none"}); !errors.Is(err, links.ErrInvalid) {
		t.Error(err)
	}
	uids, err := w.graph.UIDs(ctx, []string{"unknown", pageURL(1, 1), ""})
	if err != nil || slices.ContainsFunc(uids, func(u uid.UID) bool { return u != 0 }) {
		t.Errorf("UIDs %v of unknown pages: %v", uids, err)
	}
	urls, err := w.graph.URLs(ctx, []uid.UID{0, 1, uid.Make(3, 3, 3), ^uid.UID(0)})
	if err != nil || strings.Join(urls, "") != "" {
		t.Errorf("URLs %q of unknown UIDs: %v", urls, err)
	}
	l, err := w.graph.Links(ctx, links.Forward, []uid.UID{0, 1, ^uid.UID(0)})
	if err != nil || l.Len() != 3 || len(l.Items) != 0 {
		t.Errorf("links %v of unknown UIDs: %v", l, err)
	}
}
