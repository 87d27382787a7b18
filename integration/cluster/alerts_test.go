// The shipped alert rules, each made to fire by what it is for, and silent on a healthy cluster.

package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/alerts"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// monitored is a world whose machines have endpoints that a Prometheus scrapes.
type monitored struct {
	*world
	prometheus *alerts.Prometheus
	endpoints  map[*cluster.Node]*server.API
	graphs     map[*machine]*linkgraph.Graph // may be nil
}

// monitor simulates a world of machines, and returns the alerts that fired.
func monitor(t *testing.T, machines int, f func(m *monitored)) []alerts.Alert {
	t.Helper()
	var p *alerts.Prometheus
	simulate(t, machines, func(t *testing.T, w *world) {
		p = alerts.New("../..")
		f(&monitored{world: w, prometheus: p, endpoints: map[*cluster.Node]*server.API{}})
	})
	if t.Failed() {
		t.FailNow()
	}
	return p.Alerts(t)
}

// api returns the endpoints of a machine that runs.
func (m *monitored) api(of *machine) *server.API {
	m.t.Helper()
	if api := m.endpoints[of.node]; api != nil {
		return api
	}
	o := server.Options{Cluster: of.node, Registry: prometheus.NewRegistry()}
	if g := m.graphs[of]; g != nil {
		o.Links = g
	}
	api, err := server.New(of.node, o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.endpoints[of.node] = api
	return api
}

// get returns the status of a machine's answer.
func (m *monitored) get(of *machine, path string) int {
	m.t.Helper()
	answer := httptest.NewRecorder()
	m.api(of).ServeHTTP(answer, httptest.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil))
	return answer.Code
}

// mustBeReady reports an error unless the readiness of a machine is as it must be.
func (m *monitored) mustBeReady(of *machine, ready bool) {
	m.t.Helper()
	if got := m.get(of, "/readyz"); (got == http.StatusOK) != ready {
		m.t.Errorf("/readyz of %s: %d", of.name, got)
	}
}

// watch scrapes all machines for a time.
func (m *monitored) watch(d time.Duration) {
	m.t.Helper()
	m.prometheus.Watch(m.t, d, func() map[string]http.Handler {
		all := map[string]http.Handler{}
		for _, of := range m.machines {
			if all[of.name] = nil; of.node != nil {
				all[of.name] = m.api(of)
			}
		}
		return all
	})
}

// passed returns the time since the first scrape, as alerts have it.
func (m *monitored) passed() time.Duration { return m.prometheus.Passed() }

// exclude waits until a machine is excluded that does not run or is not heard of.
func (m *monitored) exclude(of *machine, id trie.MachineID) {
	m.t.Helper()
	m.until("it is excluded", func() bool { return m.excluded(of, id) })
}

// TestAlertsHealthy: an hour of a cluster with links that is read and changed, and of which a machine is restarted.
func TestAlertsHealthy(t *testing.T) {
	fired := monitor(t, 3, func(m *monitored) {
		web := newWeb(m.world)
		m.form()
		web.open()
		m.graphs = web.graphs
		m.mustAdd(m.any(), numbered(0, 100)...)
		web.change()
		for round := range 6 {
			m.mustDelete(m.any(), numbered(round, round+1)...)
			m.get(m.any(), "/range?order=spo")
			m.watch(10 * time.Minute)
			if round == 3 {
				of := m.any()
				web.end(of)
				of.stop()
				of.run()
				m.settle()
				web.open()
			}
		}
		web.end()
	})
	alerts.Expect(t, fired)
}

// TestAlertsMemberDown: a machine that is killed is missed until it is back, although the cluster goes on without it after
// some seconds. One that an operator dismisses is not missed any more.
func TestAlertsMemberDown(t *testing.T) {
	var killed, back, again, dismissed time.Duration
	fired := monitor(t, 4, func(m *monitored) {
		m.form()
		m.mustAdd(m.any(), numbered(0, 100)...)
		m.watch(3 * time.Minute)
		// 1. It comes back.
		first := m.machines[3]
		id := first.node.MachineID()
		first.kill()
		killed = m.passed()
		m.exclude(first, id)
		m.watch(10 * time.Minute)
		first.run()
		first.mustBeExcluded()
		first.rejoin()
		m.settle()
		back = m.passed()
		m.watch(10 * time.Minute)
		// 2. It is dismissed.
		id = first.node.MachineID()
		first.kill()
		again = m.passed()
		m.exclude(first, id)
		m.watch(10 * time.Minute)
		m.must("dismiss it", func(ctx context.Context) error { return m.any().node.Remove(ctx, id) })
		m.machines = m.machines[:3]
		dismissed = m.passed()
		m.watch(10 * time.Minute)
		m.machines = m.machines[:4]
	})
	down := alerts.Expect(t, fired, "TrefoilMemberDown")
	if len(down) != 2 {
		t.Fatalf("%d alerts", len(down))
	}
	down[0].MustSpan(t, killed, back, 3*time.Minute)
	down[1].MustSpan(t, again, dismissed, 3*time.Minute)
}

// TestAlertsCutOff: a machine that hears none of the others says so, and they miss it.
func TestAlertsCutOff(t *testing.T) {
	var cut, healed time.Duration
	var lonely *machine
	fired := monitor(t, 3, func(m *monitored) {
		m.form()
		m.watch(3 * time.Minute)
		lonely = m.any()
		m.net.Isolate(lonely.name)
		cut = m.passed()
		m.watch(10 * time.Minute)
		for _, of := range m.machines {
			m.mustBeReady(of, of != lonely)
		}
		m.net.Heal()
		lonely.mustBeExcluded()
		lonely.rejoin()
		m.settle()
		healed = m.passed()
		m.mustBeReady(lonely, true)
		m.watch(10 * time.Minute)
	})
	alone := alerts.Expect(t, fired, "TrefoilCutOff", "TrefoilMemberDown")
	if len(alone) != 1 || alone[0].Labels["instance"] != lonely.name {
		t.Fatalf("%v", alone)
	}
	alone[0].MustSpan(t, cut, healed, 3*time.Minute)
}

// TestReadyAlone: one of two machines stays ready without the other, because it answers reads.
func TestReadyAlone(t *testing.T) {
	simulate(t, 2, func(t *testing.T, w *world) {
		m := &monitored{world: w, endpoints: map[*cluster.Node]*server.API{}}
		m.form()
		m.machines[0].kill()
		left := m.machines[1]
		m.until("it reads alone", func() bool { return left.node.NoMajority() })
		m.mustBeReady(left, true)
	})
}

// TestAlertsRowsLost: more machines die at once than there are copies of a triple.
func TestAlertsRowsLost(t *testing.T) {
	var killed, accepted time.Duration
	fired := monitor(t, 5, func(m *monitored) {
		for _, of := range m.machines {
			of.copies = 2
		}
		m.form()
		m.spread()
		m.watch(2 * time.Minute)
		gone := m.others(m.leader())[:2]
		for _, of := range gone {
			of.kill()
		}
		killed = m.passed()
		m.until("ranges are lost", func() bool { return m.leader() != nil && m.leader().node.Status().Lost > 0 })
		m.watch(10 * time.Minute)
		m.acceptLoss(m.any())
		accepted = m.passed()
		m.watch(5 * time.Minute)
	})
	lost := alerts.Expect(t, fired, "TrefoilRowsLost", "TrefoilMemberDown")
	if len(lost) != 1 {
		t.Fatalf("%v", lost)
	}
	lost[0].MustSpan(t, killed, accepted, 3*time.Minute)
}

// TestAlertsRebuildHangs: what was lost with a machine is not copied, because messages that end the copying do not arrive.
func TestAlertsRebuildHangs(t *testing.T) {
	var killed, released time.Duration
	fired := monitor(t, 4, func(m *monitored) {
		m.form()
		m.spread()
		m.watch(2 * time.Minute)
		release := m.held.begin(heldRequests["sync"], 0)
		defer release()
		m.machines[3].kill()
		killed = m.passed()
		m.watch(2*time.Hour + 10*time.Minute)
		release()
		released = m.passed()
		m.settle()
		m.watch(5 * time.Minute)
	})
	hangs := alerts.Expect(t, fired, "TrefoilRebuildHangs", "TrefoilMemberDown")
	if len(hangs) != 1 {
		t.Fatalf("%v", hangs)
	}
	hangs[0].MustSpan(t, killed+2*time.Hour, released, 3*time.Minute)
}

// TestAlertsLinksMissing: a member has too little memory for its part of the graph of links.
func TestAlertsLinksMissing(t *testing.T) {
	var poor *machine
	fired := monitor(t, 3, func(m *monitored) {
		web := newWeb(m.world)
		m.form()
		poor = m.machines[0]
		web.memoryBytes = map[*machine]int64{poor: 64}
		web.open()
		m.graphs = web.graphs
		web.change()
		m.watch(45 * time.Minute)
		web.end()
	})
	missing := alerts.Expect(t, fired, "TrefoilLinksMissing")
	if len(missing) != 1 || missing[0].Labels["instance"] != poor.name {
		t.Fatalf("%v", missing)
	}
	missing[0].MustSpan(t, 29*time.Minute, 0, 3*time.Minute)
}

// TestAlertsCopiesDiffer: a row makes no sense, and a scrub cannot repair it; when it is gone, the next scrub, which another
// member leads, finds nothing.
func TestAlertsCopiesDiffer(t *testing.T) {
	var found, gone time.Duration
	fired := monitor(t, 3, func(m *monitored) {
		m.form()
		m.mustAdd(m.any(), numbered(0, 60)...)
		key, _ := triple.AppendKey([]byte{store.TableStorage}, triple.POS, numbered(1000, 1001)[0])
		owner, _ := m.any().node.View().Joint().Reader(key[1:])
		of := m.machines[slices.IndexFunc(m.machines, func(of *machine) bool { return of.node.MachineID() == owner })]
		scrub := func(by *machine, left bool) {
			m.eventually("scrub", func(ctx context.Context) error {
				r, err := by.node.Upkeep().Scrub(ctx)
				if err == nil && (r.Left+r.Foreign+r.Unreadable > 0) != left {
					return fmt.Errorf("the scrub finds %+v", r)
				}
				return err
			})
		}
		others := m.others(of)
		of.edit(func(db *pebble.DB) error { return db.Set(key, []byte{0}, pebble.Sync) })
		m.settle()
		m.watch(3 * time.Minute)
		scrub(others[0], true)
		found = m.passed()
		m.watch(10 * time.Minute)
		of.edit(func(db *pebble.DB) error { return db.Delete(key, pebble.Sync) })
		m.settle()
		scrub(others[1], false)
		gone = m.passed()
		m.watch(5 * time.Minute)
	})
	differ := alerts.Expect(t, fired, "TrefoilCopiesDiffer")
	if len(differ) != 1 {
		t.Fatalf("%v", differ)
	}
	differ[0].MustSpan(t, found, gone, time.Minute)
}
