// The endpoints of one machine: /status, /segments, /metrics, /queries, /debug/pprof, /healthz, /readyz, /backup, /restore and /check.

package admin

import (
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
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
	stalled  func() []*feed.StalledError
	opened   time.Time
	metrics  http.Handler
	Backups  chan struct{} // holds an element for each running backup
	Checks   chan struct{} // holds an element for each running check
	// Profiles holds an element for the profile that runs.
	Profiles chan struct{}

	restoring chan struct{} // holds an element while a restore runs
}

// New returns the endpoints for operators. At most maxBackups backups run at a time. It registers answers to the other
// members of the cluster, so a cluster has one API. stalled returns the followers of the change feed that stand still;
// it may be nil.
func New(s *endpoint.Shared, cluster Cluster, registry *prometheus.Registry, maxBackups int, stalled func() []*feed.StalledError) *API {
	if stalled == nil {
		stalled = func() []*feed.StalledError { return nil }
	}
	a := &API{Shared: s, cluster: cluster, registry: registry, stalled: stalled, opened: time.Now(), metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true}),
		Backups: make(chan struct{}, maxBackups), Checks: make(chan struct{}, 1), Profiles: make(chan struct{}, 1), restoring: make(chan struct{}, 1)}
	a.answerMembers()
	return a
}

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	healthz, readyz := endpoint.Get(a.getHealth), endpoint.Get(a.getReady, "follower")
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
	for _, s := range a.stalled() {
		one := api.StalledFollower{Follower: s.Follower, Since: s.Since.UTC()}
		if s.Cause != nil {
			one.Error = s.Cause.Error()
		}
		status.Stalled = append(status.Stalled, one)
	}
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

// getReady answers 200 if the node can work, and an error otherwise. A follower of the change feed that stands still
// counts only if the request names it, because the other endpoints work.
func (a *API) getReady(w http.ResponseWriter, r *request.Request) error {
	notReady := func(message string) error {
		e := problem.Errorf(problem.KindUnavailable, "", "%s", message)
		e.RetryAfter = 1
		return e
	}
	// 1. The process, the disk and the way to the cluster must allow answers.
	if a.Draining.Load() {
		return notReady("the node is shutting down")
	}
	if err := a.Store.Err(); err != nil {
		return notReady(err.Error())
	}
	if a.cluster != nil {
		if err := a.cluster.CutOff(); err != nil {
			return notReady(err.Error())
		}
	}
	// 2. A read must begin, because the store may be closed or hang.
	sn, err := a.Store.Reader()
	if err != nil {
		return notReady(err.Error())
	}
	if err := sn.Close(); err != nil {
		return notReady(err.Error())
	}
	if err := a.followerReady(r.Params["follower"]); err != nil {
		return err
	}
	return response.WriteWhole(w, "text/plain; charset=utf-8", []byte("ok\n"))
}

// followers are the names of the followers that a probe may ask for. Functions count together, because a probe has no
// token and must not learn their names.
var followers = []string{"text", "links", "columns", "subscriptions", "functions"}

// followerReady returns an error if the followers of a name stand still. It has no cause, because a probe has no token.
func (a *API) followerReady(name string) error {
	if name == "" {
		return nil
	}
	if !slices.Contains(followers, name) {
		return problem.Errorf(problem.KindBadParameter, "follower", "must be one of %s", strings.Join(followers, ", "))
	}
	for _, s := range a.stalled() {
		if s.Follower == name || name == "functions" && strings.HasPrefix(s.Follower, "function ") {
			e := problem.Errorf(problem.KindUnavailable, "follower", "it has not advanced in the change feed since %s; /status has the reason", s.Since.UTC().Format(time.RFC3339))
			e.RetryAfter = 1
			return e
		}
	}
	return nil
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
