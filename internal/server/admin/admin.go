// The endpoints of one machine: /status, /segments, /metrics, /queries, /debug/pprof, /healthz, /readyz, /backup, /restore and /check.

package admin

import (
	"maps"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// API answers requests of operators.
type API struct {
	*endpoint.Shared
	cluster  Cluster // nil if there is no cluster
	registry *prometheus.Registry
	opened   time.Time
	metrics  http.Handler
	Backups  chan struct{} // holds an element for each running backup
	Checks   chan struct{} // holds an element for each running check
	// Profiles holds an element for the profile that runs.
	Profiles chan struct{}

	restoring chan struct{} // holds an element while a restore runs
}

// New returns the endpoints for operators. At most maxBackups backups run at a time. It registers answers to the other
// members of the cluster, so a cluster has one API.
func New(s *endpoint.Shared, cluster Cluster, registry *prometheus.Registry, maxBackups int) *API {
	a := &API{Shared: s, cluster: cluster, registry: registry, opened: time.Now(), metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}),
		Backups: make(chan struct{}, maxBackups), Checks: make(chan struct{}, 1), Profiles: make(chan struct{}, 1), restoring: make(chan struct{}, 1)}
	a.answerMembers()
	return a
}

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	healthz, readyz := endpoint.Get(a.getHealth), endpoint.Get(a.getReady)
	healthz.Health, readyz.Health = true, true
	all := endpoint.Table{
		"/backup": endpoint.Get(a.getBackup, "since"),
		"/restore": {Methods: map[string]*endpoint.Method{
			http.MethodPost: {Params: []string{"until"}, Writes: true, Body: true, Handle: a.postRestore}}},
		"/check":     endpoint.Get(a.getCheck),
		"/status":    endpoint.Get(a.getStatus),
		"/segments":  endpoint.Get(a.getSegments, "offset", "limit"),
		"/metrics":   endpoint.Get(a.getMetrics),
		QueriesPath:  a.queriesPath(),
		ProfilesPath: a.profilesPath(),
		"/healthz":   healthz,
		"/readyz":    readyz,
	}
	maps.Copy(all, a.clusterTable())
	return all
}

func (a *API) getStatus(w http.ResponseWriter, r *request.Request) error {
	status := a.Store.Status()
	// A lone store has no address, so it is the local end of this connection.
	if here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && len(status.Members) == 1 && status.Cluster == "" {
		status.Members[0].Address = here.String()
	}
	return response.WriteJSON(w, status)
}

func (a *API) getMetrics(w http.ResponseWriter, r *request.Request) error {
	a.metrics.ServeHTTP(w, r.Request)
	return nil
}

// getHealth answers if the process runs.
func (a *API) getHealth(w http.ResponseWriter, _ *request.Request) error {
	return response.WriteWhole(w, "text/plain; charset=utf-8", []byte("ok\n"))
}

// getReady answers 200 if the node can work, and an error otherwise.
func (a *API) getReady(w http.ResponseWriter, _ *request.Request) error {
	notReady := func(message string) error {
		e := problem.Errorf(problem.KindUnavailable, "", "%s", message)
		e.RetryAfter = 1
		return e
	}
	if a.Draining.Load() {
		return notReady("the node is shutting down")
	}
	if err := a.Store.Err(); err != nil {
		return notReady(err.Error())
	}
	sn, err := a.Store.Reader()
	if err != nil {
		return notReady(err.Error())
	}
	if err := sn.Close(); err != nil {
		return notReady(err.Error())
	}
	return response.WriteWhole(w, "text/plain; charset=utf-8", []byte("ok\n"))
}

// getCheck verifies the whole store or cluster and answers with its problems. It takes as long as
// reading all data.
func (a *API) getCheck(w http.ResponseWriter, r *request.Request) error {
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/json")
		return nil
	}
	select {
	case a.Checks <- struct{}{}:
		defer func() { <-a.Checks }()
	default:
		return problem.Busyf("a check runs already; try again when it has ended")
	}
	report, err := a.Store.Check(r.Context())
	if err != nil {
		return err
	}
	return response.WriteJSON(w, report)
}
