// The shipped alert rules, each made to fire by what it is for, and silent on a healthy cluster.

package cluster

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/alerts"
	"github.com/trefoildb/trefoil/trie"
)

// scrapeInterval is the time between two scrapes of a machine.
const scrapeInterval = 30 * time.Second

// monitored is a world whose machines have endpoints that a Prometheus scrapes.
type monitored struct {
	*world
	prometheus *alerts.Prometheus
	start      time.Time // of the first scrape; zero before it
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

// mustSpan reports an error unless an alert fired within delay of its cause, and not before it, and ended within delay of
// its end; an end of 0 means that it fires to the last scrape.
func mustSpan(t *testing.T, a alerts.Alert, cause, end, delay time.Duration) {
	t.Helper()
	if a.Fired < cause || a.Fired > cause+delay {
		t.Errorf("%s, but its cause was at %s", a, cause)
	}
	if (a.Resolved == 0) != (end == 0) || end != 0 && (a.Resolved < end || a.Resolved > end+delay) {
		t.Errorf("%s, but its cause ended at %s", a, end)
	}
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

// get returns what a machine answers at a path.
func (m *monitored) get(of *machine, path string) (status int, body string) {
	m.t.Helper()
	answer := httptest.NewRecorder()
	m.api(of).ServeHTTP(answer, httptest.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil))
	return answer.Code, answer.Body.String()
}

// watch scrapes all machines for a time.
func (m *monitored) watch(d time.Duration) {
	m.t.Helper()
	if m.start.IsZero() {
		m.start = time.Now()
	}
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(scrapeInterval) { // of virtual time
		at := time.Now()
		for _, of := range m.machines {
			if of.node == nil {
				m.prometheus.Unreachable(of.name, at)
				continue
			}
			status, text := m.get(of, "/metrics")
			if status != http.StatusOK {
				m.t.Fatalf("/metrics of %s: %d %s", of.name, status, text)
			}
			m.prometheus.Scrape(of.name, at, text)
		}
	}
}

// passed returns the time since the first scrape, as alerts have it.
func (m *monitored) passed() time.Duration { return time.Since(m.start) }

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
			m.mustDelete(m.any(), numbered(round, 1)...)
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
	mustSpan(t, down[0], killed, back, 3*time.Minute)
	mustSpan(t, down[1], again, dismissed, 3*time.Minute)
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
		m.net.Heal()
		lonely.mustBeExcluded()
		lonely.rejoin()
		m.settle()
		healed = m.passed()
		m.watch(10 * time.Minute)
	})
	alone := alerts.Expect(t, fired, "TrefoilCutOff", "TrefoilMemberDown")
	if len(alone) != 1 || alone[0].Labels["instance"] != lonely.name {
		t.Fatalf("%v", alone)
	}
	mustSpan(t, alone[0], cut, healed, 3*time.Minute)
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
	mustSpan(t, lost[0], killed, accepted, 3*time.Minute)
}

// TestAlertsRebuildHangs: what was lost with a machine is not copied, because messages that end the copying do not arrive.
func TestAlertsRebuildHangs(t *testing.T) {
	var killed, released time.Duration
	fired := monitor(t, 4, func(m *monitored) {
		m.form()
		m.spread()
		m.watch(2 * time.Minute)
		release := m.fills.begin()
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
	mustSpan(t, hangs[0], killed+2*time.Hour, released, 3*time.Minute)
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
	mustSpan(t, missing[0], 29*time.Minute, 0, 3*time.Minute)
}
