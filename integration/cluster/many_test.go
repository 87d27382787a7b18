//go:build unix

// Clusters of up to 1,000 members in one process: what they cost, at rest and in changes.

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

	"github.com/trefoildb/trefoil/integration/workload"
	"github.com/trefoildb/trefoil/internal/bubble"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/cluster"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// TestManyMembers forms a cluster of TREFOIL_MEMBERS machines with TREFOIL_TRIPLES
// triples, and measures it: at rest, and when a member is lost, joins or restarts. Time is
// virtual: the network has a delay, and all else takes none. TREFOIL_CHANGES=0 ends it
// after the time at rest.
func TestManyMembers(t *testing.T) {
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
	seen    time.Duration // processor time up to the last report
	began   time.Time     // of what the next report is about
}

// Delay between machines of one site.
const minDelay, maxDelay = 200 * time.Microsecond, 500 * time.Microsecond

func (m *many) measure(members int) {
	m.net.Watch(m.traffic.sent)
	m.net.Delay(minDelay, maxDelay)
	m.adjust = func(o *node.Options, c *cluster.Config) {
		o.MemTableBytes, o.CacheBytes, o.CountChanges, o.Journal, o.QueueBytes = 256<<10, 256<<10, false, nil, 1<<20
		c.MaxSegmentBytes = 4 << 20
	}
	for range members + 1 {
		m.add()
	}
	last := m.machines[members]
	m.machines = m.machines[:members]
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

	m.machines = append(m.machines, last)
	last.run(m.machines[0])
	m.settle()
	m.swept()
	m.report("a join", 0)
	m.quiet()
	m.balance()

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
	g, err := workload.New("lubm", 1, m.triples)
	if err != nil {
		m.t.Fatal(err)
	}
	path := filepath.Join(m.t.TempDir(), "data.nt")
	f, err := os.Create(path)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err = g.Generate(context.Background(), f); err == nil {
		err = f.Close()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	sources, err := rdfload.Files(path)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.machines[0].load(m.t.Context(), sources[0], false); err != nil {
		m.t.Fatal(err)
	}
}

// quiet waits until the view has been idle and the same for some time.
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

// swept waits until all members have only rows of their own.
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
	m.until("somebody leads", func() bool {
		id := m.up()[0].node.Status().Leader
		i := slices.IndexFunc(m.up(), func(o *machine) bool { return o.node.MachineID().String() == id })
		if i >= 0 {
			leader = m.up()[i]
		}
		return leader != nil
	})
	return leader
}

// balance logs how evenly rows are spread, and checks that all are there.
func (m *many) balance() {
	var rows []int
	total, most, versions := 0, 0, int64(0)
	for _, o := range m.up() {
		sn, err := o.store.Snapshot()
		if err != nil {
			m.t.Fatal(err)
		}
		n := 0
		for _, table := range []byte{node.TableStorage, node.TableReplica} {
			for row, err := range sn.Raw(m.t.Context(), table, triple.Range{}) {
				if err != nil {
					m.t.Fatal(err)
				}
				n++
				if table == node.TableStorage && triple.Order(row.Key[0]) == triple.SPO {
					versions++
				}
			}
		}
		sn.Close()
		rows = append(rows, n)
		total += n
		most = max(most, n)
	}
	slices.Sort(rows)
	v := m.up()[0].node.View()
	mean := float64(total) / float64(len(rows))
	m.t.Logf("%d rows on %d members, %d segments, %d partitions: %d at least, %d at most (%.2f of the mean)",
		total, len(rows), v.Base.Trie.Len(), v.Base.Placement.Partitions(), rows[0], most, float64(most)/mean)
	if versions != m.triples {
		m.t.Errorf("%d triples, %d are expected", versions, m.triples)
	}
}

// begin begins what the next report is about.
func (m *many) begin() {
	m.traffic.take(m.machines[0].name)
	m.seen, m.began = processor(), time.Now()
}

// report logs what was sent, and the time that it took, since the last one.
func (m *many) report(what string, over time.Duration) (all bill) {
	leader := m.lead()
	all, one := m.traffic.take(leader.name)
	defer m.begin()
	used, took := processor()-m.seen, time.Since(m.began)
	n := float64(len(m.up()))
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

// mustRest checks that what a member sends and receives a second while nothing happens does
// not grow with the members.
func (m *many) mustRest(all bill) {
	m.t.Helper()
	for purpose, most := range map[string]int64{
		"raft":           30_000, // 9 voters take most of it
		"cluster/report": 4_000,
		"cluster/status": 1_000,
		"packet":         2_000,
		"gossip":         3_000, // each member sends all that it knows, every minute if they are 1,000
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

// heap returns the bytes of live objects and of what is not collected yet.
func heap() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapInuse + s.StackInuse
}
