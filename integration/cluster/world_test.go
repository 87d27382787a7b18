// The world of the tests: machines, network and virtual time.

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/memnet"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
)

// world is a cluster in one process: machines on a network in memory.
type world struct {
	t        *testing.T
	seed     uint64
	random   *rand.Rand
	net      *memnet.Net
	machines []*machine
	start    time.Time
	look     time.Duration // that a look at the clock takes: work does not, in virtual time
	looks    atomic.Int64
	slept    atomic.Int64 // for how long all machines were suspended, in ns
	held     held         // holds requests between machines back
	log      *slog.Logger
	events   *events
	unfit    string // why this seed is not a test; "" if it is one
	// adjust changes the options and the configuration of each machine that starts; may be nil.
	adjust func(*store.Options, *replica.Options, *cluster.Config)
}

// machine is one host with a disk, and the node that runs on it, if one does.
type machine struct {
	world *world
	name  string // its IP address
	disk  *memdisk.FS
	loads string // where the runs of bulk loads are, which a crash leaves as they are
	store *replica.Store
	node  *cluster.Node // nil while it is down
	spare bool
	// noLinks: it keeps no graph of links.
	noLinks bool
	links   string           // the directory of its graph of links, which a crash leaves as it is; "" if it opens none
	graph   *linkgraph.Graph // nil while it is down, or opens none
	closed  bool
	// advertise is where it says that others reach it; "" is its address.
	advertise string
	cluster   string        // its name; "" is the default
	lease     time.Duration // 0 is the default
	copies    int           // of each triple, if it forms the cluster; 0 is the default
	kept      int64         // bytes that it keeps free on its disk; 0 is no watermark
	refused   error         // why its last start failed
	stopped   chan struct{} // closed when the process that was killed last is gone
}

const dataDir = "data"

// seedOf returns the seed of a test, and says it.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64N(1 << 32)
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("TREFOIL_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("TREFOIL_SEED=%d repeats this", seed)
	return seed
}

// mostTries is the maximum of seeds that a test may try. In the least likely situation
// half of the seeds are not a test, so none is expected to reach the maximum.
const mostTries = 40

// simulate runs f in virtual time, with a world of so many machines that nothing
// runs on yet. What runs at the end is closed. If f calls notATest, the next seed
// is tried; a test that never becomes one fails.
func simulate(t *testing.T, machines int, f func(t *testing.T, w *world)) {
	t.Helper()
	seed := seedOf(t)
	var why string
	for range mostTries {
		if why = simulateSeed(t, seed, machines, f); why == "" || t.Failed() {
			return
		}
		t.Logf("TREFOIL_SEED=%d is not a test: %s", seed, why)
		seed++
	}
	t.Errorf("%d seeds are not a test, the last one because %s", mostTries, why)
}

// simulateSeed runs f in a world of one seed, and returns why it was not a test.
func simulateSeed(t *testing.T, seed uint64, machines int, f func(t *testing.T, w *world)) (unfit string) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, seed)
		for range machines {
			w.add()
		}
		defer func() { unfit = w.unfit }()
		defer w.close()
		f(t, w)
	})
	return unfit
}

// newWorld returns a world without machines. It belongs to the bubble of its caller.
func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), net: memnet.New(seed), start: time.Now(), log: slog.New(slog.DiscardHandler)}
	if os.Getenv("TREFOIL_LOG") != "" {
		w.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if w.events = newEvents(t); w.events != nil {
		w.log = slog.New(slog.NewTextHandler(w.events, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w.net.Watch(w.events.sent)
		w.events.add("seed %d", seed)
	}
	return w
}

// notATest ends the run of this seed, because the situation that the test is about
// did not come about. It must be called by the test's own goroutine.
func (w *world) notATest(format string, args ...any) {
	w.unfit = fmt.Sprintf(format, args...)
	w.t.SkipNow() // ends the goroutine; simulate decides what it means
}

// add makes another machine, with an empty disk.
func (w *world) add() *machine {
	m := &machine{world: w, name: fmt.Sprintf("10.0.%d.%d", (len(w.machines)+1)>>8, (len(w.machines)+1)&255), disk: memdisk.New(), loads: w.t.TempDir()}
	w.machines = append(w.machines, m)
	return m
}

func (w *world) close() {
	for _, m := range w.machines {
		if m.node != nil {
			m.stop()
		}
		if m.stopped != nil {
			<-m.stopped
		}
	}
	time.Sleep(time.Minute) // of virtual time: memberlist does not wait for its last probes
	w.events.close()
}

// Now makes the world the clock of its machines.
func (w *world) Now() time.Duration {
	return time.Since(w.start) + time.Duration(w.slept.Load()) + w.look*time.Duration(w.looks.Add(1))
}

func (m *machine) address() string { return m.name + ":7000" }

// run starts the machine's process. Where others are named, it joins them.
func (m *machine) run(others ...*machine) {
	w := m.world
	w.t.Helper()
	if err := m.tryRun(w.t.Context(), others...); err != nil {
		w.t.Fatalf("start %s: %v", m.name, err)
	}
}

func (m *machine) tryRun(ctx context.Context, others ...*machine) (err error) {
	w := m.world
	options := store.Options{
		FS: w.events.disk(m.name, m.disk), Member: true, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: cmp.Or(m.kept, -1), MaxSegmentBytes: 1 << 20, Logger: w.log.With("machine", m.name),
	}
	replicas := replica.Options{}
	cfg := cluster.Config{
		Listen: m.address(), Advertise: m.advertise, Spare: m.spare, NoLinks: m.noLinks, Closed: m.closed, Name: m.cluster, Lease: m.lease, Copies: m.copies, Network: w.held.network(w.net.Host(m.name)), FS: w.events.disk(m.name, m.disk), Clock: w,
		MinSegmentBytes: 8 << 10, MaxSegmentBytes: 64 << 10, LoadDir: m.loads, Logger: w.log.With("machine", m.name),
	}
	if w.adjust != nil {
		w.adjust(&options, &replicas, &cfg)
	}
	if m.store, err = replica.Open(dataDir, options, replicas); err != nil {
		return err
	}
	cfg.Store = m.store
	for _, o := range others {
		cfg.Join = append(cfg.Join, o.address())
	}
	if m.node, err = cluster.Start(ctx, cfg); err != nil {
		m.store.Close()
		m.node = nil
		return err
	}
	n := m.node
	if err := m.openGraph(); err != nil {
		return err
	}
	if err = n.AwaitJoined(ctx); err != nil && m.node == n { // it was not killed meanwhile
		err = errors.Join(err, m.closeGraph(), n.Close(), m.store.Close())
		m.node, m.store = nil, nil
	}
	return err
}

// openGraph opens the graph of links if the machine keeps one.
func (m *machine) openGraph() (err error) {
	if m.links != "" {
		m.graph, err = linkgraph.OpenNode(m.node, linkgraph.Options{Copies: linkgraph.CopiesOfView, Dir: m.links, Workers: 1, Logger: m.world.log.With("machine", m.name)})
	}
	return err
}

// closeGraph closes the graph of links, if it is open.
func (m *machine) closeGraph() (err error) {
	if m.graph != nil {
		err = m.graph.Close()
		m.graph = nil
	}
	return err
}

// stop ends the machine's process in order.
func (m *machine) stop() {
	if err := m.closeGraph(); err != nil {
		m.world.t.Errorf("close the graph of links of %s: %v", m.name, err)
	}
	n, s := m.node, m.store
	m.node, m.store = nil, nil
	if err := n.Close(); err != nil {
		m.world.t.Errorf("close %s: %v", m.name, err)
	}
	if err := s.Close(); err != nil {
		m.world.t.Errorf("close the store of %s: %v", m.name, err)
	}
}

// kill ends the machine's process as a power cut does: its disk keeps what was
// synced, and of the rest what chance says.
func (m *machine) kill() {
	m.disk = m.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: m.world.random.IntN(101), RNG: m.world.random})
	m.world.net.Kill(m.name)
	g, n, s, before := m.graph, m.node, m.store, m.stopped
	m.graph, m.node, m.store = nil, nil, nil
	stopped := make(chan struct{})
	m.stopped = stopped
	go func() { // what it still does reaches neither the network nor the disk
		defer close(stopped)
		if before != nil {
			<-before
		}
		if g != nil {
			g.Close()
		}
		n.Close()
		s.Close()
	}()
}

// recover begins a new generation on a machine that is down, which keeps others that
// are; these follow it.
func (w *world) recover(first *machine, noneNewer bool, keep ...*machine) *view.View {
	w.t.Helper()
	r := generation.Recovery{FS: first.disk, Dir: dataDir, NoneNewer: noneNewer, Network: w.net.Host(first.name), Logger: w.log}
	for _, m := range keep {
		r.Keep = append(r.Keep, w.position(m))
	}
	v, err := generation.Recover(w.t.Context(), r)
	require.NoError(w.t, err)
	for _, m := range keep {
		f := generation.Following{FS: m.disk, Dir: dataDir, Addresses: []string{first.address()}, Ticket: generation.TicketOf(v), Logger: w.log}
		require.NoError(w.t, generation.Follow(f))
	}
	return v
}

// position returns how far a machine is that is down.
func (w *world) position(m *machine) generation.Position {
	w.t.Helper()
	s, err := generation.Inspect(m.disk, dataDir, w.log)
	require.NoError(w.t, err)
	return s.Position
}

// giveUp sets the data of a machine aside that runs, as an operator does, and has it
// join those that others are.
func (m *machine) giveUp(others ...*machine) {
	m.world.t.Helper()
	m.stop()
	var addresses []string
	for _, o := range others {
		addresses = append(addresses, o.address())
	}
	if _, err := directory.SetAside(m.disk, dataDir, addresses); err != nil {
		m.world.t.Fatalf("set aside %s: %v", m.name, err)
	}
	m.run()
}

// rejoin starts a machine that was excluded as a new one.
func (m *machine) rejoin() {
	m.world.t.Helper()
	addresses := m.node.Members()
	m.stop()
	if _, err := directory.SetAside(m.disk, dataDir, addresses); err != nil {
		m.world.t.Fatalf("set aside %s: %v", m.name, err)
	}
	m.run()
}

// runAgain starts a machine that the cluster may have excluded. If it learns so while it starts, it joins as a
// new one; it may also learn so later. joins reports which.
func (m *machine) runAgain(others ...*machine) (joins bool) {
	w := m.world
	w.t.Helper()
	err := m.tryRun(w.t.Context(), others...)
	if errors.Is(err, cluster.ErrExcluded) {
		if _, err := directory.SetAside(m.disk, dataDir, []string{w.up()[0].address()}); err != nil {
			w.t.Fatalf("set aside %s: %v", m.name, err)
		}
		m.run()
		return true
	}
	if err != nil {
		w.t.Fatalf("start %s: %v", m.name, err)
	}
	return false
}

// form starts all machines; the first is the one that the others join.
func (w *world) form() {
	w.t.Helper()
	w.machines[0].run()
	for _, m := range w.machines[1:] {
		m.run(w.machines[0])
	}
	w.settle()
}

// up returns the machines that run.
func (w *world) up() (up []*machine) {
	for _, m := range w.machines {
		if m.node != nil {
			up = append(up, m)
		}
	}
	return up
}

// waitLimit is how long, in virtual time, a world waits for what must come.
const waitLimit = 5 * time.Minute

// until waits until a condition holds.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(waitLimit)
	for !condition() {
		if time.Now().After(deadline) {
			for _, m := range w.up() {
				w.t.Logf("%s: %+v", m.name, m.node.Status())
			}
			w.t.Fatalf("waited %s for this: %s", waitLimit, what)
		}
		time.Sleep(20 * time.Millisecond) // of virtual time
	}
}

// settle waits until the machines that run are the members of one idle view, and
// hold leases.
func (w *world) settle() {
	w.t.Helper()
	up := w.up()
	w.until(fmt.Sprintf("%d machines agree on an idle view", len(up)), func() bool { return settled(up) })
}

// settled reports whether these machines are the members of one idle view, and hold
// leases.
func settled(up []*machine) bool {
	for _, m := range up {
		v := m.node.View()
		if v == nil || v.Phase != recovery.Idle || len(v.Members) != len(up) || m.node.Lease() != nil {
			return false
		}
		if v.Epoch != up[0].node.View().Epoch {
			return false
		}
	}
	return true
}

// any returns one of the machines that run.
func (w *world) any() *machine {
	up := w.up()
	return up[w.random.IntN(len(up))]
}
