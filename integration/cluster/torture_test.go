// The torture: random faults on a cluster with clients.

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// torture is a world whose clients go on while machines and the network fail.
type torture struct {
	t         *testing.T
	world     *world
	random    *rand.Rand // of what fails, and when
	hosts     []*host
	left      []*host    // have left the cluster for good
	corpses   []*process // were killed; what they still do reaches nobody
	universe  *universe
	history   *history
	excluded  atomic.Int64
	patterns  atomic.Int64 // acknowledged deletes of a pattern
	moveRate  int64        // bytes a second, of planned moves
	moves     atomic.Int64
	copies    int // of each triple that may be counted on: the lesser one while it changes
	loaded    atomic.Int64
	links     bool        // the processes have graphs of links
	functions atomic.Bool // the processes run update functions, and deliver to webhooks
	webhooks  *webhooks
	epochs    uint64 // in the end
	graphs    map[*linkgraph.Graph]*process

	mu       sync.Mutex
	targets  []*host // that clients use
	failures int
	errors   map[string]int // that clients got
	struck   int            // faults, without their repairs
	acked    [2]time.Time   // the last read and the last write that was answered
	gaps     [2]time.Duration
	lasted   time.Duration // in virtual time
	slowest  time.Duration // from the end of all faults until each member answered
	faults   []string
}

// TestTorture runs clusters through random faults.
func TestTorture(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	tortureSeeds(t, func(t *testing.T, seed uint64) { tortureRun(t, seed, rounds) })
}

// tortureSeeds calls run with one seed after the other. TREFOIL_TORTURE is for how
// long, in real time; TREFOIL_SEED the first seed, and the next ones count up from
// there. Without the first there is one run.
func tortureSeeds(t *testing.T, run func(t *testing.T, seed uint64)) {
	t.Helper()
	seed, until := seedOf(t), time.Time{}
	if s := os.Getenv("TREFOIL_TORTURE"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatalf("TREFOIL_TORTURE: %v", err)
		}
		until = time.Now().Add(d)
	}
	for n := 0; n == 0 || time.Now().Before(until); n++ {
		name := strconv.FormatUint(seed, 10)
		if !t.Run(name, func(t *testing.T) { run(t, seed) }) {
			t.Logf("TREFOIL_SEED=%d fails", seed)
		}
		seed++
	}
}

// tortureRun is one cluster, through so many rounds of faults.
func tortureRun(t *testing.T, seed uint64, rounds int) {
	h := &history{events: map[int][]porcupine.Operation{}, unknown: map[int]int{}}
	began := time.Now()
	var of *torture
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, seed)
		r := rand.New(rand.NewPCG(seed, 2))
		moving := 30 + r.IntN(60)
		to := &torture{t: t, world: w, random: r, universe: newUniverse(moving, moving+200+r.IntN(200), 1+r.IntN(4)), history: h, errors: map[string]int{}}
		h.log = w.events
		to.moveRate = 1 << (14 + r.IntN(12))
		to.copies = recovery.MinCopies + r.IntN(recovery.MaxCopies-recovery.MinCopies+1)
		to.note("%d copies of each triple", to.copies)
		of = to
		defer func() {
			if t.Failed() {
				t.Logf("faults: %q", to.faults)
			}
		}()
		defer to.close()
		to.begin()
		ctx, cancel := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		defer clients.Wait()
		defer cancel()
		for i := range 3 + r.IntN(4) {
			c := &client{to, fmt.Sprintf("client %d", i), rand.New(rand.NewPCG(seed, uint64(100+i)))}
			clients.Go(func() { c.run(ctx) })
		}
		loader := newLoader(to, rand.New(rand.NewPCG(seed, 90)))
		clients.Go(func() { loader.run(ctx) })
		clients.Go(func() { to.move(ctx, rand.New(rand.NewPCG(seed, 91))) })
		clients.Go(func() { to.watchLeases(ctx) })
		watcher := newWatcher(to, rand.New(rand.NewPCG(seed, 92)))
		clients.Go(func() { watcher.run(ctx) })
		for range rounds {
			to.round()
			to.whole()
		}
		time.Sleep(2 * time.Second) // of virtual time
		to.mustBeAvailable()
		cancel()
		clients.Wait()
		to.rest()
		watcher.end()
		to.end()
		to.lasted = time.Since(w.start)
	})
	if !t.Failed() {
		h.judge(t, of.universe)
		if h.acknowledged > 1000 && of.patterns.Load() == 0 {
			t.Errorf("none of %d acknowledged writes is a delete of a pattern", h.acknowledged)
		}
	}
	t.Logf("totals: clusters=1 acknowledged-writes=%d answers=%d reads-of-triples=%d faults=%d epochs=%d exclusions=%d virtual-seconds=%d answers-again-ms=%d",
		h.acknowledged, h.answers, h.reads, of.struck, of.epochs, of.excluded.Load(), of.lasted/time.Second, of.slowest.Milliseconds())
	t.Logf("seed %d: %d hosts, %d writes, %d answers, %d reads of triples, %d patterns deleted, %d notes, %d looks at them, %d of %d loads, %d moves, %d epochs, %d exclusions, %s; no read for %s, no write for %s; faults: %q; errors: %v",
		seed, len(of.hosts), h.writes, h.answers, h.reads, of.patterns.Load(), h.notes, h.looks, of.loaded.Load(), of.universe.loads, of.moves.Load(), of.epochs, of.excluded.Load(), time.Since(began).Round(time.Millisecond), of.gaps[aRead], of.gaps[aWrite], of.faults, of.errors)
}

// begin forms a cluster and gives it what is there throughout.
func (t *torture) begin() {
	t.form(2)
	var static []triple.Triple
	for i := t.universe.moving; i < t.universe.all; i++ {
		static = append(static, fact(i))
	}
	if r, err := store.Add(t.t.Context(), t.hosts[0].member(), static); err != nil || r.Added != int64(len(static)) {
		t.t.Fatalf("%+v, %v", r, err)
	}
}

// form forms a cluster of at least so many machines, and at most five, with or without a spare.
func (t *torture) form(least int) {
	for range max(least, 2+t.random.IntN(4)) {
		t.addHost(false)
	}
	if t.random.IntN(3) == 0 {
		t.addHost(true)
	}
	t.hosts[0].start()
	t.world.until("the first machine runs", func() bool { return t.hosts[0].member() != nil })
	for _, h := range t.hosts[1:] {
		h.start(t.hosts[0].name + ":7000")
	}
	t.whole()
}

func (t *torture) addHost(spare bool) *host {
	m := t.world.add()
	h := &host{torture: t, name: m.name, disk: m.disk, spare: spare, clock: &clock{start: t.world.start, rate: 0.98 + 0.04*t.random.Float64()}}
	t.hosts = append(t.hosts, h)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.targets = append(t.targets, h)
	return h
}

func (t *torture) anyProcess(r *rand.Rand) *process {
	t.mu.Lock()
	h := t.targets[r.IntN(len(t.targets))]
	t.mu.Unlock()
	return h.up()
}

func (t *torture) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failures++; t.failures <= 10 {
		t.t.Errorf("at %s: %s", time.Since(t.world.start).Round(time.Millisecond), fmt.Sprintf(format, args...))
	}
}

// longestOutage is the longest virtual time in which no client may succeed to read,
// or to write, on any machine: all the faults together, a power loss of all
// machines among them, and what the cluster needs to make them good.
const longestOutage = 2 * time.Minute

const (
	aRead = iota
	aWrite
)

// answered records whether a request of a client was answered.
func (t *torture) answered(kind int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if ok || t.acked[kind].IsZero() {
		t.acked[kind] = now
	}
	t.gaps[kind] = max(t.gaps[kind], now.Sub(t.acked[kind]))
}

// mustBeAvailable fails the test if no read or no write was answered for longestOutage.
func (t *torture) mustBeAvailable() {
	t.mu.Lock()
	gaps := t.gaps
	t.mu.Unlock()
	for kind, what := range []string{"reads", "writes"} {
		if gaps[kind] > longestOutage {
			t.fail("no answers to %s for %s; faults: %q", what, gaps[kind], t.soFar())
		}
	}
}

func (t *torture) saw(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors[kindOf(err)]++
}

// wanted are the hosts that are to be members.
func (t *torture) wanted() (all []*host) {
	for _, h := range t.hosts {
		if !slices.Contains(t.left, h) {
			all = append(all, h)
		}
	}
	return all
}

// isWhole reports whether all hosts that should be are members of one idle view and
// hold leases. If not, why has the reason.
func (t *torture) isWhole() (ok bool, why string) {
	hosts := t.wanted()
	epoch := uint64(0)
	for _, h := range hosts {
		n := h.member()
		if n == nil {
			return false, h.name + " is no member"
		}
		v := n.View()
		switch {
		case v == nil:
			return false, h.name + " has no view"
		case v.Phase != recovery.Idle || len(v.Members) != len(hosts):
			return false, fmt.Sprintf("%s is in epoch %d, %s, of %d members", h.name, v.Epoch, v.Phase, len(v.Members))
		case n.Lease() != nil:
			return false, h.name + " has no lease"
		case epoch != 0 && v.Epoch != epoch:
			return false, "they are in different epochs"
		}
		epoch = v.Epoch
	}
	return true, ""
}

// whole waits until all is well again.
func (t *torture) whole() {
	t.t.Helper()
	deadline := time.Now().Add(waitLimit)
	for {
		ok, why := t.isWhole()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			for _, h := range t.hosts {
				if n := h.member(); n != nil {
					t.t.Logf("%s: %s: %+v", h.name, n.MachineID(), n.Status())
				}
			}
			if os.Getenv("TREFOIL_STACKS") != "" {
				b := make([]byte, 64<<20)
				os.WriteFile(os.Getenv("TREFOIL_STACKS"), b[:runtime.Stack(b, true)], 0o644)
			}
			t.t.Fatalf("not whole again in %s: %s; faults: %q", waitLimit, why, t.faults)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// machines makes the processes that run the machines of the world, for its checks.
func (t *torture) machines() {
	t.world.machines = nil
	for _, h := range t.wanted() {
		p := h.up()
		m := &machine{world: t.world, name: h.name}
		m.node, m.store = p.running()
		t.world.machines = append(t.world.machines, m)
	}
}

// settled waits until no machine has writes that are not settled.
func (t *torture) settled() {
	t.t.Helper()
	t.world.until("nothing is unsettled", func() bool {
		for _, m := range t.world.machines {
			if len(m.store.InFlightBatches()) > 0 {
				return false
			}
		}
		return true
	})
}

// end checks what is left when all is over.
func (t *torture) end() {
	t.machines()
	c := &client{t, "end", t.random}
	for _, h := range t.wanted() {
		n, p := h.member(), h.up()
		for _, o := range triple.Orders {
			call := t.history.tick()
			sn, err := n.Reader()
			if err != nil {
				t.t.Fatal(err)
			}
			a := c.read(sn.Range(t.t.Context(), triple.Bounds{Order: o}, store.ReadOptions{}), call, p)
			sn.Close()
			if a.err != nil {
				t.t.Fatalf("through %s, %s: %v", h.name, o, a.err)
			}
			c.observe(p, a, o, call, "all of "+o.String(), func(i int) bool { return o != triple.GSPO || !fact(i).Graph.IsZero() })
		}
	}
	t.settled()
	t.world.checkDisks()
	t.world.checkNotes()
	t.epochs = t.world.machines[0].node.View().Epoch
}

func (t *torture) close() {
	t.world.net.Heal()
	t.world.net.Delay(0, 0)
	for _, h := range t.hosts {
		h.stop()
	}
	for _, p := range t.corpses {
		<-p.gone
	}
	t.world.machines = nil
	time.Sleep(time.Minute) // of virtual time: memberlist does not wait for its last probes
	t.world.events.close()
}

// owns reports whether a machine has keys in a view. One that has none can do nothing
// with a lease, and is removed without regard to it.
func owns(v *view.View, id trie.MachineID) bool {
	return v.Base.Placement.Machines().Contains(id) || v.Target.Placement.Machines().Contains(id)
}

// watchLeases verifies that those who own keys and hold leases at one moment are
// in two adjacent epochs at most, until ctx ends.
func (t *torture) watchLeases(ctx context.Context) {
	type holding struct {
		epoch uint64
		ok    bool
	}
	look := func() map[*process]holding {
		all := map[*process]holding{}
		t.mu.Lock()
		hosts := slices.Clone(t.targets)
		t.mu.Unlock()
		for _, h := range hosts {
			p := h.up()
			if p == nil {
				continue
			}
			n, _ := p.running()
			if n == nil || n.View() == nil {
				continue
			}
			v := n.View()
			held := n.Lease() == nil
			all[p] = holding{v.Epoch, held && n.View() == v && owns(v, n.MachineID())}
		}
		return all
	}
	for ctx.Err() == nil {
		first, second := look(), look()
		least, most := uint64(0), uint64(0)
		for p, h := range first {
			if h.ok && second[p] == h {
				if least == 0 || h.epoch < least {
					least = h.epoch
				}
				most = max(most, h.epoch)
			}
		}
		if least+1 < most {
			t.fail("leases of epochs %d and %d at one moment", least, most)
		}
		time.Sleep(30 * time.Millisecond)
	}
}
