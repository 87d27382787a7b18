//go:build unix

// The cost of clusters of many members in one process, at rest and in changes.

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// TestManyMembers forms a cluster of TREFOIL_MEMBERS machines with TREFOIL_TRIPLES
// triples, and measures it: at rest, and when a member is lost, joins or restarts. In its
// virtual time only the network has a delay. TREFOIL_CHANGES=0 ends it after the time at
// rest.
func TestManyMembers(t *testing.T) {
	seed.Long(t)
	members, triples := 16, int64(2_000)
	for name, value := range map[string]func(n int){
		"TREFOIL_MEMBERS": func(n int) { members = n }, "TREFOIL_TRIPLES": func(n int) { triples = int64(n) },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			value(n)
		}
	}
	seed := seedOf(t)
	bubble.Test(t, func(t *testing.T) {
		m := &many{world: newWorld(t, seed), traffic: newTraffic(), triples: triples}
		defer m.close()
		m.measure(members)
	})
}

// many is a world of many machines whose traffic is counted.
type many struct {
	*world
	traffic *traffic
	triples int64
	seen    time.Duration // processor time at the last call of begin
	began   time.Time     // time of the last call of begin
}

// Delays of the network: those between machines of one site.
const minDelay, maxDelay = 200 * time.Microsecond, 500 * time.Microsecond

func (m *many) measure(members int) {
	// 1. Start the members with small memory. One machine is kept for the join.
	m.net.Watch(m.traffic.sent)
	m.net.Delay(minDelay, maxDelay)
	m.adjust = func(o *store.Options, _ *replica.Options, c *cluster.Config) {
		o.MemTableBytes, o.CacheBytes, o.QueueBytes = 256<<10, 256<<10, 1<<20
		c.MaxSegmentBytes = 4 << 20
	}
	for range members + 1 {
		m.add()
	}
	last := m.machines[members]
	m.machines = m.machines[:members]

	// 2. Form the cluster, load, and measure it at rest.
	m.begin()
	m.grow()
	m.report("formed", 0)
	m.load()
	m.quiet()
	m.report("loaded", 0)
	m.balance()
	const rest = 10 * time.Second
	time.Sleep(rest)
	m.mustRest(m.report("at rest", rest))
	if os.Getenv("TREFOIL_CHANGES") == "0" {
		return
	}

	// 3. Lose a member. Close waits for its goroutines, while the others exclude it.
	lost := m.follower()
	m.net.Kill(lost.name)
	n, s := lost.node, lost.store
	lost.node, lost.store = nil, nil
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.Close()
		s.Close()
	}()
	m.settle()
	m.swept()
	m.report("a loss", 0)
	<-ended
	m.quiet()
	m.begin()

	// 4. Join a machine.
	m.machines = append(m.machines, last)
	last.run(m.machines[0])
	m.settle()
	m.swept()
	m.report("a join", 0)
	m.quiet()
	m.balance()

	// 5. Restart some members.
	for i := range min(members/8, 5) {
		m.begin()
		one := m.up()[i*members/6]
		one.stop()
		one.run()
		m.settle()
		m.swept()
		m.report("restart of "+one.name, 0)
	}
}

// grow starts the first machine, and then the others, some at a time.
func (m *many) grow() {
	m.machines[0].run()
	for some := range slices.Chunk(m.machines[1:], 64) {
		var group sync.WaitGroup
		for _, o := range some {
			group.Go(func() {
				if err := o.tryRun(m.t.Context(), m.machines[0]); err != nil {
					m.t.Errorf("start %s: %v", o.name, err)
				}
			})
		}
		group.Wait()
		if m.t.Failed() {
			m.t.FailNow()
		}
		m.t.Logf("%d members after %s, %s of processor time, %d MiB, %d goroutines",
			len(m.up()), time.Since(m.start).Round(time.Millisecond), processor().Round(time.Millisecond), heap()>>20, runtime.NumGoroutine())
	}
	m.settle()
}

// load loads the data through one machine.
func (m *many) load() {
	g, err := dataset.New("lubm", 1, m.triples)
	require.NoError(m.t, err)
	path := filepath.Join(m.t.TempDir(), "data.nt")
	f, err := os.Create(path)
	require.NoError(m.t, err)
	if _, err = g.Generate(context.Background(), f); err == nil {
		err = f.Close()
	}
	require.NoError(m.t, err)
	sources, _, err := input.List([]string{path}, input.RDF)
	require.NoError(m.t, err)
	if _, err := m.machines[0].load(m.t.Context(), sources[0], false); err != nil {
		m.t.Fatal(err)
	}
}

// quiet waits until the view has been idle and unchanged for some time.
func (m *many) quiet() {
	m.t.Helper()
	var epoch uint64
	since := time.Now()
	m.until("the view stays as it is", func() bool {
		m.settle()
		if v := m.up()[0].node.View(); v.Epoch != epoch {
			epoch, since = v.Epoch, time.Now()
		}
		time.Sleep(time.Second)
		return time.Since(since) > 20*time.Second
	})
	m.swept()
}

// swept waits until no member has rows that belong to others.
func (m *many) swept() {
	m.t.Helper()
	m.until("all have swept", func() bool {
		return !slices.ContainsFunc(m.up(), func(o *machine) bool { return !o.node.Swept() })
	})
}

// follower returns a machine that does not lead.
func (m *many) follower() *machine {
	leader := m.lead()
	for {
		if o := m.any(); o != leader && o != m.machines[0] {
			return o
		}
	}
}

func (m *many) lead() (leader *machine) {
	m.until("a machine leads", func() bool {
		id := m.up()[0].node.Status().Leader
		i := slices.IndexFunc(m.up(), func(o *machine) bool { return o.node.MachineID().String() == id })
		if i >= 0 {
			leader = m.up()[i]
		}
		return leader != nil
	})
	return leader
}

// balance logs how evenly rows are spread, and fails the test if the number of triples is
// wrong.
func (m *many) balance() {
	// 1. Count the rows of each member. Each triple has one version in SPO.
	var rows []int
	total, most, versions := 0, 0, int64(0)
	for _, o := range m.up() {
		sn, err := o.store.Snapshot()
		require.NoError(m.t, err)
		n := 0
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			for row, err := range sn.Raw(m.t.Context(), table, triple.Range{}) {
				require.NoError(m.t, err)
				n++
				if table == store.TableStorage && triple.Order(row.Key[0]) == triple.SPO {
					versions++
				}
			}
		}
		sn.Close()
		rows = append(rows, n)
		total += n
		most = max(most, n)
	}
	// 2. Compare.
	slices.Sort(rows)
	v := m.up()[0].node.View()
	mean := float64(total) / float64(len(rows))
	m.t.Logf("%d rows on %d members, %d segments, %d partitions: %d at least, %d at most (%.2f of the mean)",
		total, len(rows), v.Base.Trie.Len(), v.Base.Placement.Partitions(), rows[0], most, float64(most)/mean)
	if versions != m.triples {
		m.t.Errorf("%d triples, %d are expected", versions, m.triples)
	}
}

// begin resets the counters for the next report.
func (m *many) begin() {
	m.traffic.take(m.machines[0].name)
	m.seen, m.began = processor(), time.Now()
}

// report logs the traffic and the time since the last call of begin, and resets them. It
// returns the traffic of all members, a second if over is not 0.
func (m *many) report(what string, over time.Duration) (all bill) {
	leader := m.lead()
	all, one := m.traffic.take(leader.name)
	defer m.begin()
	used, took := processor()-m.seen, time.Since(m.began)
	n := float64(len(m.up()))
	// 1. Turn sums into rates.
	unit := "B"
	if over > 0 {
		unit = "B/s"
		for _, b := range []bill{all, one} {
			for p := range b.bytes {
				b.bytes[p] = int64(float64(b.bytes[p]) / over.Seconds())
				b.writes[p] = int64(float64(b.writes[p]) / over.Seconds())
			}
		}
	}
	v := m.up()[0].node.View()
	m.t.Logf("%s: %d members, epoch %d %s, %s of virtual time, %s of processor time, heap %d MiB, %d goroutines, %d connections",
		what, len(m.up()), v.Epoch, v.Phase, took.Round(time.Millisecond), used.Round(time.Millisecond), heap()>>20, runtime.NumGoroutine(), m.net.Connections())
	// 2. Log what took most bytes.
	var purposes []string
	for p := range all.bytes {
		purposes = append(purposes, p)
	}
	slices.SortFunc(purposes, func(a, b string) int { return int(all.bytes[b] - all.bytes[a]) })
	var line strings.Builder
	for _, p := range purposes[:min(len(purposes), 9)] {
		fmt.Fprintf(&line, "\n\t%-20s %13d %s of all, %11.0f of each, %12d at the leader; %9d writes, %8d at the leader",
			p, all.bytes[p], unit, 2*float64(all.bytes[p])/n, one.bytes[p], all.writes[p], one.writes[p])
	}
	m.t.Log(line.String())
	return all
}

// mustRest fails the test if a member sends and receives more at rest than bounds that do
// not depend on the number of members.
func (m *many) mustRest(all bill) {
	m.t.Helper()
	for purpose, most := range map[string]int64{
		"raft":           30_000, // mostly between the 9 voters
		"cluster/report": 4_000,
		"cluster/status": 1_000,
		"packet":         2_000,
		"gossip":         3_000, // of 1,000 members each sends its whole table every minute
	} {
		if each := 2 * all.bytes[purpose] / int64(len(m.up())); each > most {
			m.t.Errorf("%s: a member sends and receives %d bytes a second at rest, %d at most are expected", purpose, each, most)
		}
	}
}

// processor returns the processor time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap returns the bytes of the heap and the stacks, with objects not collected yet.
func heap() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse + s.StackInuse
}
