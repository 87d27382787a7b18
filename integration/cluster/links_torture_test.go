// The graph of links of clusters under the faults of the torture.

package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// linkTorture is a torture whose clients read and change links.
type linkTorture struct {
	*frozen
	faults *torture

	tally   sync.Mutex
	written map[string]int // acknowledged changes, by endpoint
	doubts  int            // changes of unknown outcome
	looks   int            // reads that succeeded
	longest time.Duration  // that a read took
}

// longestRead bounds each read of links, whatever fails: the end of the feed, and the retries of
// the two or three requests that it takes.
const longestRead = time.Minute

// TestLinksTorture changes links at all endpoints of the store and reads them all the time, under the
// faults of [TestTorture]: kills, partitions of the network, moves, bad disks, growing, shrinking and restarts.
// Each read that succeeds has every link that was acknowledged before, and all reads of an epoch
// are the same. When all is quiet, all answers of all machines are those of plain maps.
func TestLinksTorture(t *testing.T) {
	seed.Long(t)
	rounds := 1
	if os.Getenv("TREFOIL_TORTURE") != "" {
		rounds = 3
	}
	tortureSeeds(t, func(t *testing.T, seed uint64) {
		bubble.Test(t, func(t *testing.T) { tortureLinks(t, seed, rounds) })
	})
}

func tortureLinks(t *testing.T, seed uint64, rounds int) {
	// 1. A cluster with some links.
	r := rand.New(rand.NewPCG(seed, 7))
	w := newWorld(t, seed)
	to := &torture{t: t, world: w, random: r, universe: linkUniverse(), errors: map[string]int{}, links: true,
		history: &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}}
	to.moveRate = 1 << (14 + r.IntN(12))
	to.copies = recovery.MinCopies + r.IntN(recovery.MaxCopies-recovery.MinCopies+1)
	l := &linkTorture{frozen: newFrozen(newWeb(w)), faults: to, written: map[string]int{}}
	l.pick, l.dead = l.anyGraph, to.isDead
	defer to.close()
	defer func() { t.Logf("errors: %v; faults: %q", to.errors, to.faults) }()
	to.form(3)
	l.adopt()
	for range 8 {
		l.change()
	}
	l.changed()

	// 2. Faults with clients, and quiet moments without.
	for range rounds {
		l.attack()
		l.calm()
	}
	l.relink()
	job := l.startJob(links.PageRankOptions{Weighted: r.IntN(2) == 0}, 0)
	job.ended()
	w.checkDisks()
	t.Logf("totals: clusters=1 faults=%d moves=%d acknowledged=%v doubts=%d looks=%d compared=%d epochs=%d repeated=%d longest-read=%s",
		to.struck, to.moves.Load(), l.written, l.doubts, l.looks, l.compared, len(l.seen), l.again, l.longest)
	if l.compared < 10 {
		t.Error("too little was compared")
	}
}

// linkUniverse returns keys of links, at which segments are split.
func linkUniverse() *universe {
	u := &universe{}
	for i, source := range allURLs() {
		for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			key, _ := triple.AppendKey(nil, o, links.Link(links.DefaultPredicate, source, allURLs()[(7*i)%72]))
			u.keys[o] = append(u.keys[o], key)
		}
	}
	return u
}

// attack runs clients during one round of faults.
func (l *linkTorture) attack() {
	stop := make(chan struct{})
	ctx, cancel := context.WithCancel(l.t.Context())
	var clients sync.WaitGroup
	defer func() {
		close(stop)
		cancel()
		clients.Wait()
	}()
	run := func(do func(random *rand.Rand)) {
		random := rand.New(rand.NewPCG(l.faults.random.Uint64(), 0))
		clients.Go(func() {
			// Faults may last for minutes. So the pauses grow.
			for pause := 50; !closed(stop); pause = min(pause+10+pause/16, 6000) {
				do(random)
				sleep(ctx, time.Duration(random.IntN(pause))*time.Millisecond)
			}
		})
	}
	for range 2 {
		run(l.write)
		run(func(random *rand.Rand) { l.read(func() error { return l.look(l.t.Context(), random) }) })
	}
	run(func(random *rand.Rand) {
		l.read(func() error {
			_, err := l.pass(l.t.Context(), random)
			return err
		})
	})
	splitter := rand.New(rand.NewPCG(l.faults.random.Uint64(), 0))
	clients.Go(func() { l.faults.move(ctx, splitter) })
	l.faults.round()
	// When all is mended, clients go on.
	reads, changes := l.done()
	l.until("links are read and changed", func() bool {
		moreReads, moreChanges := l.done()
		return moreReads >= reads+10 && moreChanges >= changes+3
	})
}

// done returns how many reads and changes succeeded.
func (l *linkTorture) done() (reads, changes int) {
	l.tally.Lock()
	defer l.tally.Unlock()
	for _, n := range l.written {
		changes += n
	}
	return l.looks, changes
}

// read makes one read, which may fail, and must not take long.
func (l *linkTorture) read(do func() error) {
	began := time.Now()
	err := do()
	took := time.Since(began)
	if err != nil {
		l.faults.saw(err)
	}
	l.tally.Lock()
	defer l.tally.Unlock()
	if l.longest = max(l.longest, took); took > longestRead*kinds {
		l.faults.fail("a read took %s: %v", took, err)
	}
	if err == nil {
		l.looks++
	}
}

// adopt makes the hosts, which are whole, the machines of the web.
func (l *linkTorture) adopt() {
	l.faults.machines()
	clear(l.web.graphs)
	for i, h := range l.faults.wanted() {
		if l.web.graphs[l.machines[i]] = h.up().links(); l.web.graphs[l.machines[i]] == nil {
			l.t.Fatalf("%s has no graph of links", h.name)
		}
	}
}

// calm compares all answers of all machines when there are no faults.
func (l *linkTorture) calm() {
	l.t.Helper()
	// 1. Each machine has all of its cells.
	l.faults.rest()
	l.adopt()
	l.until("all cells are there", func() bool {
		return !slices.ContainsFunc(l.up(), func(m *machine) bool {
			_, missing := l.web.graphs[m].Partitions()
			return missing > 0
		})
	})
	// 2. Nothing is in doubt.
	l.settleDoubts()
	for _, m := range l.up() {
		l.check(l.web.graphs[m])
	}
	l.checkPages(l.some(), 1+l.random.IntN(60))
	l.checkStats(l.some())
	if epoch, taken, err := l.same(10); err != nil || taken < 10 {
		l.t.Errorf("after %d times the epoch is not %d any more, and nothing has changed; %v", taken, epoch, err)
	}
}

// settleDoubts gives known links to sources whose last change may have been made or not.
func (l *linkTorture) settleDoubts() {
	l.t.Helper()
	for _, source := range allURLs() {
		if !l.pending[source] {
			continue
		}
		for _, c := range []links.Change{
			{Kind: links.DeleteLinks, Source: source, Targets: allPages()}, // with their labels
			{Source: source, Targets: []string{l.url(), l.url()}},
		} {
			l.must("links are known again", func(ctx context.Context) error {
				_, err := l.some().Update(ctx, []links.Change{c})
				return err
			})
			l.apply(c)
		}
		l.release([]string{source}, true, func() {})
	}
}

// relink links to all pages that ever had a UID: each still has the same one.
func (l *linkTorture) relink() {
	l.t.Helper()
	c := links.Change{Source: l.url(), Targets: allPages()}
	l.apply(c)
	if _, err := l.some().Update(l.t.Context(), []links.Change{c}); err != nil {
		l.t.Fatal(err)
	}
	for _, m := range l.up() {
		l.check(l.web.graphs[m])
	}
}

// anyGraph returns the graph of a host that runs.
func (l *linkTorture) anyGraph(random *rand.Rand) *linkgraph.Graph {
	for {
		if p := l.faults.anyProcess(random); p != nil {
			if g := p.links(); g != nil {
				return g
			}
		}
		time.Sleep(20 * time.Millisecond) // of virtual time
	}
}

// openGraph starts the graph of links of a process.
func (p *process) openGraph(n *cluster.Node) {
	t := p.host.torture
	g, err := linkgraph.OpenNode(n, linkgraph.Options{Dir: p.graphDir, Workers: 1, Logger: t.world.log.With("machine", p.host.name)})
	if err != nil {
		t.fail("%s: open the graph of links: %v", p.host.name, err)
		return
	}
	t.mu.Lock()
	if t.graphs == nil {
		t.graphs = map[*linkgraph.Graph]*process{}
	}
	t.graphs[g] = p
	t.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.graph = g
}

// isDead reports whether the process of a graph was killed: what it still answers reaches nobody.
func (t *torture) isDead(g *linkgraph.Graph) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.graphs[g].dead.Load()
}

// closeGraph ends the graph of links of a process, if it has one.
func (p *process) closeGraph() {
	p.mu.Lock()
	g := p.graph
	p.graph = nil
	p.mu.Unlock()
	if g == nil {
		return
	}
	if err := g.Close(); err != nil && !errors.Is(err, context.Canceled) {
		p.host.torture.fail("%s: close the graph of links: %v", p.host.name, err)
	}
}

// links returns the graph of links of a process; nil while it has none.
func (p *process) links() *linkgraph.Graph {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.graph
}
