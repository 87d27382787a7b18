// The alert rules of a lone server, each made to fire by what it is for.

package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/alerts"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/tracing"
)

// monitored is a server in virtual time that a Prometheus scrapes.
type monitored struct {
	*alerts.Prometheus
	t      *testing.T
	disk   *vfs.MemFS
	fault  atomic.Pointer[func(errorfs.Op) error] // what happens at the operations of the disk; nil is nothing
	db     *store.Store
	api    *API            // nil while the server is down
	tracer *tracing.Tracer // may be nil
	random *rand.Rand
	wrote  int
}

// monitor serves a store in virtual time, and returns the alerts that fired.
func monitor(t *testing.T, f func(m *monitored)) []alerts.Alert {
	t.Helper()
	p := alerts.New("../..")
	bubble.Test(t, func(t *testing.T) {
		m := &monitored{Prometheus: p, t: t, disk: vfs.NewMem(), random: rand.New(rand.NewPCG(1, 2))}
		m.free(100 << 30)
		m.open(store.Options{})
		defer func() { m.fault.Store(nil); m.close() }()
		f(m)
	})
	if t.Failed() {
		t.FailNow()
	}
	return p.Alerts(t)
}

// open starts the server.
func (m *monitored) open(o store.Options) {
	m.t.Helper()
	o.FS = errorfs.Wrap(m.disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f := m.fault.Load(); f != nil {
			return (*f)(op)
		}
		return nil
	}))
	o.CacheBytes, o.MemTableBytes = 1<<20, 1<<20
	var err error
	if m.db, err = store.Open("data", o); err != nil {
		m.t.Fatal(err)
	}
	if m.api, err = New(m.db, Options{Registry: prometheus.NewRegistry(), Tracer: m.tracer, Collectors: []prometheus.Collector{m.tracer}}); err != nil {
		m.t.Fatal(err)
	}
}

// close ends the server.
func (m *monitored) close() {
	m.t.Helper()
	if err := m.db.Close(); err != nil {
		m.t.Error(err)
	}
	m.api = nil
}

// breakDisk has f called at the operations of the disk.
func (m *monitored) breakDisk(f func(errorfs.Op) error) { m.fault.Store(&f) }

func syncs(op errorfs.Op) bool {
	return op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo
}

func (m *monitored) free(bytes uint64) {
	m.disk.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: bytes, TotalBytes: 200 << 30})
}

func (m *monitored) watch(d time.Duration) {
	m.t.Helper()
	m.Watch(m.t, d, func() map[string]http.Handler {
		if m.api == nil {
			return map[string]http.Handler{"alone": nil}
		}
		return map[string]http.Handler{"alone": m.api}
	})
}

// ask returns the status of the answer to a request.
func (m *monitored) ask(method, target string, body io.Reader) int {
	m.t.Helper()
	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(m.t.Context(), method, "http://127.0.0.1"+target, body)
	r.Header.Set("Content-Type", "application/n-triples")
	m.api.ServeHTTP(answer, r)
	return answer.Code
}

// add adds so many other triples.
func (m *monitored) add(n int) error {
	var text strings.Builder
	for range n {
		m.wrote++
		fmt.Fprintf(&text, "<x:s%d> <x:p> \"%016x%016x\" .\n", m.wrote, m.random.Uint64(), m.random.Uint64())
	}
	if status := m.ask(http.MethodPost, "/triples", strings.NewReader(text.String())); status != http.StatusOK {
		return fmt.Errorf("status %d", status)
	}
	return nil
}

func (m *monitored) mustAdd(n int) {
	m.t.Helper()
	if err := m.add(n); err != nil {
		m.t.Fatal(err)
	}
}

// scan reads all rows, and returns the status.
func (m *monitored) scan() int { return m.ask(http.MethodGet, "/count", nil) }

// flipBit flips a bit of a row in the largest table.
func (m *monitored) flipBit() {
	m.t.Helper()
	// 1. The table.
	dir := m.disk.PathJoin("data", "store")
	names, err := m.disk.List(dir)
	if err != nil {
		m.t.Fatal(err)
	}
	size := func(name string) int64 {
		info, err := m.disk.Stat(m.disk.PathJoin(dir, name))
		if err != nil || !strings.HasSuffix(name, ".sst") {
			return 0
		}
		return info.Size()
	}
	path := m.disk.PathJoin(dir, slices.MaxFunc(names, func(a, b string) int { return cmp.Compare(size(a), size(b)) }))
	// 2. The bit, in the half that rows are in.
	f, err := m.disk.Open(path)
	if err != nil {
		m.t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		m.t.Fatal(err)
	}
	data[len(data)/4] ^= 1
	if f, err = m.disk.Create(path, vfs.WriteCategoryUnspecified); err != nil {
		m.t.Fatal(err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		m.t.Fatal(err)
	}
}

// mustAlert returns the one alert of the first name. What fired must have one of the names.
func mustAlert(t *testing.T, fired []alerts.Alert, names ...string) alerts.Alert {
	t.Helper()
	all := alerts.Expect(t, fired, names...)
	if len(all) != 1 {
		t.Fatalf("%s fired %d times", names[0], len(all))
	}
	return all[0]
}

// TestAlertsQuiet: a server that is read and written, fails its readiness on purpose, is restarted, loads at times, is
// then opened to be read only, and whose disk does not tell how much is free.
func TestAlertsQuiet(t *testing.T) {
	seed.Slow(t)
	alerts.Expect(t, monitor(t, func(m *monitored) {
		for range 3 {
			m.mustAdd(100)
			m.watch(10 * time.Minute)
			if status := m.ask(http.MethodGet, "/readyz?follower=none", nil); status < 400 {
				m.t.Errorf("a follower that is not there is ready: %d", status)
			}
		}
		m.close()
		m.watch(time.Minute)
		m.open(store.Options{ReadOnly: true})
		m.watch(20 * time.Minute)
	}))
}

// TestAlertsDown: a server that ends.
func TestAlertsDown(t *testing.T) {
	seed.Slow(t)
	var ended, back time.Duration
	down := mustAlert(t, monitor(t, func(m *monitored) {
		m.watch(3 * time.Minute)
		m.close()
		ended = m.Passed()
		m.watch(20 * time.Minute)
		m.open(store.Options{})
		back = m.Passed()
		m.watch(3 * time.Minute)
	}), "TrefoilDown")
	down.MustSpan(t, ended, back, 3*time.Minute)
}

// TestAlertsWritesRefused: the disk has less room than is kept free; or a table finds none, where nothing is kept free.
func TestAlertsWritesRefused(t *testing.T) {
	seed.Slow(t)
	for name, full := range map[string]struct {
		minFree   int64
		fill, end func(m *monitored)
	}{
		"mark": {64 << 20, func(m *monitored) { m.free(10 << 20) }, func(m *monitored) { m.free(100 << 30) }},
		"tables": {-1, func(m *monitored) {
			m.breakDisk(func(op errorfs.Op) error {
				if op.Kind == errorfs.OpFileWrite && strings.HasSuffix(op.Path, ".sst") {
					return syscall.ENOSPC
				}
				return nil
			})
		}, func(m *monitored) { m.fault.Store(nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			var filled, freed time.Duration
			refused := mustAlert(t, monitor(t, func(m *monitored) {
				m.close()
				m.open(store.Options{MinFreeBytes: full.minFree})
				m.mustAdd(100)
				m.watch(3 * time.Minute)
				full.fill(m)
				filled = m.Passed()
				for m.add(1000) == nil {
					time.Sleep(time.Second) // of virtual time
				}
				m.watch(10 * time.Minute)
				full.end(m)
				freed = m.Passed()
				m.watch(5 * time.Minute)
				m.mustAdd(1)
			}), "TrefoilWritesRefused")
			refused.MustSpan(t, filled, freed, 3*time.Minute)
		})
	}
}

// TestAlertsCorruption: a bit of a table has flipped, and a read meets it.
func TestAlertsCorruption(t *testing.T) {
	seed.Slow(t)
	var met time.Duration
	damaged := mustAlert(t, monitor(t, func(m *monitored) {
		m.mustAdd(1000)
		m.close()
		m.open(store.Options{}) // which writes the rows of the log to tables
		m.watch(5 * time.Minute)
		m.close()
		m.flipBit()
		m.open(store.Options{})
		m.watch(time.Minute)
		met = m.Passed()
		if status := m.scan(); status < 500 {
			m.t.Errorf("the damage is not met: %d", status)
		}
		m.watch(5 * time.Minute)
	}), "TrefoilCorruption")
	damaged.MustSpan(t, met, 0, time.Minute)
}

// TestAlertsDiskFills: a disk that will be full within a day; but a load that is over is no trend.
func TestAlertsDiskFills(t *testing.T) {
	seed.Slow(t)
	var began, ended time.Duration
	fills := mustAlert(t, monitor(t, func(m *monitored) {
		left := uint64(100 << 30)
		lose := func(d time.Duration, bytes uint64) {
			for range int(d / (10 * time.Minute)) {
				left -= bytes
				m.free(left)
				m.watch(10 * time.Minute)
			}
		}
		lose(6*time.Hour, 0)
		lose(20*time.Minute, 5<<30) // a load
		lose(3*time.Hour, 0)
		began = m.Passed()
		lose(3*time.Hour, 2<<30)
		ended = m.Passed()
		lose(2*time.Hour, 0)
	}), "TrefoilDiskFills")
	// It must be a trend of hours before somebody is called, and nothing for an hour when it is over.
	fills.MustSpan(t, began+30*time.Minute, ended, 100*time.Minute)
	if !strings.Contains(fills.Description, "GiB. Adds are refused") {
		t.Errorf("it says %q", fills.Description)
	}
}

// TestAlertsDiskTooSlow: tables take so long to be written that writes wait for them.
func TestAlertsDiskTooSlow(t *testing.T) {
	seed.Slow(t)
	var began, ended time.Duration
	slow := mustAlert(t, monitor(t, func(m *monitored) {
		m.close()
		m.open(store.Options{WriteTimeout: time.Hour}) // so that no write fails
		m.mustAdd(100)
		m.watch(5 * time.Minute)
		m.breakDisk(func(op errorfs.Op) error {
			if syncs(op) && strings.HasSuffix(op.Path, ".sst") {
				time.Sleep(2 * time.Minute) // of virtual time
			}
			return nil
		})
		began = m.Passed()
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Second):
					if err := m.add(300); err != nil {
						m.t.Error(err)
					}
				}
			}
		}()
		m.watch(30 * time.Minute)
		close(stop)
		<-done
		m.fault.Store(nil)
		ended = m.Passed()
		m.watch(20 * time.Minute)
	}), "TrefoilDiskTooSlow", "TrefoilSlowCommits") // because a commit waits, too
	slow.MustSpan(t, began+10*time.Minute, ended, 12*time.Minute)
}

// TestAlertsSlowCommits: a sync of the log takes a fifth of a second.
func TestAlertsSlowCommits(t *testing.T) {
	seed.Slow(t)
	var began, ended time.Duration
	slow := mustAlert(t, monitor(t, func(m *monitored) {
		write := func(d time.Duration) {
			for range int(d / time.Minute) {
				m.mustAdd(1)
				m.watch(time.Minute)
			}
		}
		write(5 * time.Minute)
		m.breakDisk(func(op errorfs.Op) error {
			if syncs(op) && strings.HasSuffix(op.Path, ".log") {
				time.Sleep(200 * time.Millisecond) // of virtual time
			}
			return nil
		})
		began = m.Passed()
		write(20 * time.Minute)
		m.fault.Store(nil)
		ended = m.Passed()
		write(15 * time.Minute)
	}), "TrefoilSlowCommits")
	slow.MustSpan(t, began+10*time.Minute, ended, 6*time.Minute)
	if !strings.Contains(slow.Summary, "takes 2") || !strings.Contains(slow.Summary, "ms") {
		t.Errorf("it says %q", slow.Summary)
	}
}

// TestAlertsSpansLost: nothing listens where spans are sent to.
func TestAlertsSpansLost(t *testing.T) {
	seed.Slow(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var began, ended time.Duration
	lost := mustAlert(t, monitor(t, func(m *monitored) {
		m.watch(5 * time.Minute)
		m.close()
		var err error
		if m.tracer, err = tracing.New(tracing.Options{Endpoint: "http://" + l.Addr().String(), Ratio: 1}); err != nil {
			m.t.Fatal(err)
		}
		defer func() {
			if err := m.tracer.Shutdown(m.t.Context()); err != nil {
				m.t.Error(err)
			}
		}()
		m.open(store.Options{})
		began = m.Passed()
		for range 30 {
			m.scan()
			m.watch(time.Minute)
		}
		ended = m.Passed()
		m.watch(20 * time.Minute)
	}), "TrefoilSpansLost")
	lost.MustSpan(t, began+10*time.Minute, ended, 11*time.Minute)
	if lost.Labels["outcome"] != "failed" {
		t.Errorf("%v", lost)
	}
}

// TestAlertsErrors: one request in ten fails.
func TestAlertsErrors(t *testing.T) {
	seed.Slow(t)
	var began, ended time.Duration
	failures := mustAlert(t, monitor(t, func(m *monitored) {
		ask := func(d time.Duration, bad bool) {
			for range int(d / time.Minute) {
				for range 9 {
					m.ask(http.MethodGet, "/range?order=spo&limit=1", nil)
				}
				if bad {
					m.breakDisk(func(op errorfs.Op) error {
						if op.Kind == errorfs.OpFileReadAt {
							return syscall.EIO
						}
						return nil
					})
					if status := m.scan(); status < 500 {
						m.t.Fatalf("status %d on a disk that cannot be read", status)
					}
					m.fault.Store(nil)
				}
				m.watch(time.Minute)
			}
		}
		m.mustAdd(20_000)
		m.close()
		m.open(store.Options{})
		ask(5*time.Minute, false)
		began = m.Passed()
		ask(15*time.Minute, true)
		ended = m.Passed()
		ask(10*time.Minute, false)
	}), "TrefoilErrors")
	failures.MustSpan(t, began+5*time.Minute, ended, 6*time.Minute)
}
