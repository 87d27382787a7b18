// Readers of the graph of links at epochs, while links and machines change.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// frozen is what was read of each epoch, by readers that go on all the time.
type frozen struct {
	*web
	pick    func(*rand.Rand) *linkgraph.Graph // returns the graph of a machine; nil is one of graphs
	dead    func(*linkgraph.Graph) bool       // reports whether its machine is dead, and answers nobody; may be nil
	mu      sync.Mutex
	graphs  []*linkgraph.Graph        // of machines that run
	clock   int                       // counts begins and ends of changes
	touched map[string]int            // the clock of the last one, by source; that of "" is of all sources
	pending map[string]bool           // sources that are being changed, or of which nobody knows what they are; "" is all
	edges   map[edge]cell.Label       // the links of the other sources
	seen    map[uint64]map[int]string // what was read, by epoch and kind
	read    map[uint64]map[int]any    // the same, to be compared with other kinds

	compared, again int // reads that were compared with the plain map, reads that repeated one
}

// edge is a link.
type edge struct{ src, dst string }

func newFrozen(w *web) *frozen {
	f := &frozen{web: w, touched: map[string]int{}, pending: map[string]bool{}, seen: map[uint64]map[int]string{}, read: map[uint64]map[int]any{}}
	f.changed()
	return f
}

// changing makes changes of the links that readers see at any moment.
func (f *frozen) changing(do func()) {
	f.t.Helper()
	f.mu.Lock()
	f.pending[""] = true
	f.mu.Unlock()
	do()
	f.changed()
}

// changed takes over what the links and machines are now.
func (f *frozen) changed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.touch("")
	delete(f.pending, "")
	f.takeOver()
	f.graphs = slices.Collect(maps.Values(f.web.graphs))
}

// The kinds of what is read.
const (
	kindUIDs = iota
	kindLabelled
	kindBackward
	kindDegrees
	kindSamples
	kindPages
	kindURLs
	kinds
)

// pass reads the graph at the epoch that it has now, each kind by itself and as long as it
// is of that epoch.
func (f *frozen) pass(ctx context.Context, random *rand.Rand) (epoch uint64, err error) {
	// 1. Find the epoch, and all pages.
	g, since := f.other(random), f.now()
	if epoch, err = g.CurrentEpoch(ctx, 0); err != nil {
		return 0, err
	}
	if epoch < links.MinClusterEpoch || epoch >= 2*links.MinClusterEpoch {
		f.t.Errorf("epoch %d", epoch)
	}
	urls := allPages()
	found, err := g.UIDs(ctx, urls)
	if err != nil {
		return epoch, err
	}
	if f.isDead(g) {
		return epoch, nil
	}
	names, pages := f.toldAll(urls, found)
	// 2. Read all kinds.
	for i, kind := range append([]int{kindUIDs}, random.Perm(kinds)...) {
		var got any = found
		if i > 0 && kind != kindUIDs {
			if got, err = readKind(ctx, g, kind, pages, names); err != nil {
				return epoch, err
			}
		}
		if f.isDead(g) {
			return epoch, nil
		}
		f.compare(since, kind, got, pages, names)
		// What was read before is of the epoch, if that is still there.
		if random.IntN(2) == 0 {
			g = f.other(random)
		}
		now, err := g.CurrentEpoch(ctx, epoch)
		if err != nil || now != epoch || f.isDead(g) {
			return now, err
		}
		f.note(epoch, kind, got)
	}
	return epoch, nil
}

// other returns another graph.
func (f *frozen) other(random *rand.Rand) *linkgraph.Graph {
	if f.pick != nil {
		return f.pick(random)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.graphs[random.IntN(len(f.graphs))]
}

// isDead reports whether the machine of a graph is dead, so that its answers reach nobody.
func (f *frozen) isDead(g *linkgraph.Graph) bool { return f.dead != nil && f.dead(g) }

// readKind reads something of all pages.
func readKind(ctx context.Context, g *linkgraph.Graph, kind int, pages []uid.UID, names map[uid.UID]string) (any, error) {
	switch kind {
	case kindLabelled:
		lists, err := g.Links(ctx, links.Forward, pages)
		if err != nil {
			return nil, err
		}
		labels, err := g.Labels(ctx, links.Forward, pages)
		all := map[edge]cell.Label{}
		for i := range pages {
			for k, u := range lists.At(i) {
				label := cell.NoLabel
				if err == nil && k < len(labels.At(i)) {
					label = labels.At(i)[k]
				}
				all[edge{names[pages[i]], names[u]}] = label
			}
		}
		return all, err
	case kindBackward:
		lists, err := g.Links(ctx, links.Backward, pages)
		all := map[edge]bool{}
		for i := 0; err == nil && i < len(pages); i++ {
			for _, u := range lists.At(i) {
				all[edge{names[u], names[pages[i]]}] = true
			}
		}
		return all, err
	case kindDegrees:
		from, err := g.Degrees(ctx, links.Forward, pages)
		to, other := g.Degrees(ctx, links.Backward, pages)
		all := map[string][2]int{}
		if err = errors.Join(err, other); err == nil {
			for i, u := range pages {
				all[names[u]] = [2]int{from[i], to[i]}
			}
		}
		return all, err
	case kindSamples:
		some, err := g.SampleLinks(ctx, links.Backward, pages, sample.Spec{N: 2, Mode: sample.ModeConsistent, Class: sample.InterHost})
		other, err2 := g.SampleLinks(ctx, links.Forward, pages, sample.Spec{N: 2, Mode: sample.ModeRandom, Seed: 7})
		return [2]links.Lists{some, other}, errors.Join(err, err2)
	case kindPages:
		return g.Pages(ctx, 0, 1000)
	default:
		return g.URLs(ctx, pages)
	}
}

// note compares what was read with what was read of the same epoch before.
func (f *frozen) note(epoch uint64, kind int, got any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[epoch] == nil {
		f.seen[epoch], f.read[epoch] = map[int]string{}, map[int]any{}
	}
	text := fmt.Sprint(got) // maps are printed in the order of their keys
	before, ok := f.seen[epoch][kind]
	if ok {
		f.again++
	}
	if ok && before != text {
		f.t.Errorf("epoch %d, read %d: it was\n%s\nand is\n%s", epoch, kind, before, text)
	}
	f.seen[epoch][kind], f.read[epoch][kind] = text, got
	all := f.read[epoch]
	labelled, ok := all[kindLabelled].(map[edge]cell.Label)
	if !ok {
		return
	}
	if backward, ok := all[kindBackward].(map[edge]bool); ok && !maps.EqualFunc(labelled, backward, func(cell.Label, bool) bool { return true }) {
		f.t.Errorf("epoch %d: links forward\n%v\nand backward\n%v", epoch, labelled, backward)
	}
	if degrees, ok := all[kindDegrees].(map[string][2]int); ok {
		want := degreesOf(labelled)
		for url, got := range degrees {
			if got != want[url] {
				f.t.Errorf("epoch %d: %s has degrees %v, and %v links", epoch, url, got, want[url])
			}
		}
	}
}

// degreesOf returns the out-degree and the in-degree of each page with links.
func degreesOf(links map[edge]cell.Label) map[string][2]int {
	degrees := map[string][2]int{}
	for e := range links {
		out := degrees[e.src]
		out[0]++
		degrees[e.src] = out
		in := degrees[e.dst]
		in[1]++
		degrees[e.dst] = in
	}
	return degrees
}

// one makes one change that takes one operation, or more.
func (f *frozen) one() {
	f.t.Helper()
	f.changing(func() {
		switch f.random.IntN(5) {
		case 0:
			f.change() // of several links, labels and whole lists
		case 1, 2:
			f.byOtherDoors()
		default:
			f.label()
		}
	})
}

// label sets or removes the label of a link that there is.
func (f *frozen) label() {
	f.t.Helper()
	var all []edge
	for src, of := range f.links {
		for dst := range of {
			all = append(all, edge{src, dst})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b edge) int { return min(max(2*cmpText(a.src, b.src)+cmpText(a.dst, b.dst), -1), 1) })
	e := all[f.random.IntN(len(all))]
	link := links.Link(links.DefaultPredicate, e.src, e.dst)
	if f.links[e.src][e.dst] != cell.NoLabel {
		if err := store.Annotate(f.t.Context(), f.any().node, link, links.Application, nil); err != nil {
			f.t.Fatal(err)
		}
		f.links[e.src][e.dst] = cell.NoLabel
		return
	}
	c := links.Change{Source: e.src, Targets: []string{e.dst}, Labels: []cell.Label{{Weight: float64(f.random.IntN(9) + 2), Anchor: "a"}}}
	f.apply(c)
	if _, err := f.some().Update(f.t.Context(), []links.Change{c}); err != nil {
		f.t.Fatal(err)
	}
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// bulk loads links, and a description of something else.
func (f *frozen) bulk() {
	f.t.Helper()
	all := quads(f.random, 50)
	for range 10 {
		src, dst := f.url(), f.url()
		all = append(all, links.Link(links.DefaultPredicate, src, dst))
		f.changing(func() { f.apply(links.Change{Source: src, Targets: []string{dst}}) })
	}
	f.changing(func() {
		if _, err := f.any().load(f.t.Context(), document(f.t, "links.nq", all, 0), false); err != nil {
			f.t.Fatal(err)
		}
	})
}

// work makes changes, with pauses between in which epochs stay for a while.
func (f *frozen) work(rounds int) {
	f.t.Helper()
	for range rounds {
		f.one()
		time.Sleep(time.Duration(f.random.IntN(300)) * time.Millisecond) // of virtual time
	}
}

// stays takes the epoch a hundred times, of all machines, over a while in which leases are
// renewed many times: when nothing changes any more, no view either, it is the same.
func (f *frozen) stays() {
	f.t.Helper()
	f.web.check(f.web.some()) // all pages have UIDs
	for try := 0; ; try++ {
		f.settle()
		view := f.any().node.View().Epoch
		epoch, taken, err := f.same(100)
		now := f.any().node.View().Epoch
		switch {
		case err != nil || taken < 100 && view == now || try == 20:
			f.t.Fatalf("after %d times the epoch is not %d any more, under views %d and %d; %v", taken, epoch, view, now, err)
		case taken == 100:
			if stats, err := f.web.some().Stats(f.t.Context()); err != nil || stats.Epoch != epoch {
				f.t.Fatalf("stats: %d, %v; the epoch is %d", stats.Epoch, err, epoch)
			}
			return
		}
	}
}

// same takes the epoch up to n times, and returns how often it was the first one.
func (f *frozen) same(n int) (epoch uint64, taken int, err error) {
	for ; taken < n; taken++ {
		var now uint64
		f.until("all members answer", func() bool {
			now, err = f.web.some().CurrentEpoch(f.t.Context(), uint64(taken%2)*epoch)
			return !errors.Is(err, store.ErrUnavailable)
		})
		if err != nil || taken > 0 && now != epoch {
			return epoch, taken, err
		}
		epoch = now
		time.Sleep(200 * time.Millisecond) // of virtual time
	}
	return epoch, taken, nil
}
