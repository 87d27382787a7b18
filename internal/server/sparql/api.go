// The endpoint /sparql, and updates.

package sparql

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql/update"
)

// API answers queries and updates.
type API struct {
	*endpoint.Shared
	engine  *engine.Engine // nil if there is none
	Texts   *limits.Budget // of queries and updates until they are answered
	metrics *sparqlMetrics
	// CountTime bounds the counts of a description.
	CountTime time.Duration
	figures   figures
}

// New returns the endpoint of an engine, and registers its metrics. If there is no engine, it has
// the metrics only.
func New(s *endpoint.Shared, e *engine.Engine, registry *prometheus.Registry) (*API, error) {
	m, err := newSPARQLMetrics(registry, e)
	if err != nil {
		return nil, fmt.Errorf("register metrics of queries: %w", err)
	}
	return &API{Shared: s, engine: e, metrics: m, Texts: &limits.Budget{Max: max(s.Memory.Max/2, minTextsBytes)},
		CountTime: defaultCountTime, figures: figures{turn: make(chan struct{}, 1)}}, nil
}

// Path is the path of the endpoint.
const Path = "/sparql"

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	if a.engine == nil {
		return nil
	}
	path := &endpoint.Path{Methods: map[string]*endpoint.Method{
		http.MethodGet:       {Params: queryParams, OwnParams: true, Handle: a.getSPARQL, Shown: func(q url.Values) string { return q.Get("query") }},
		http.MethodPost:      {Params: slices.Concat(queryParams, updateParams), OwnParams: true, Body: true, Handle: a.postSPARQL},
		endpoint.MethodQuery: {Params: queryParams, OwnParams: true, Body: true, Queries: []string{TypeQuery, TypeForm}, Handle: a.postSPARQL},
	}}
	// The other two are the names of other stores, which clients know.
	return endpoint.Table{Path: path, "/query": path, "/update": path, VoIDPath: endpoint.Get(a.getVoID)}
}

func (a *API) getSPARQL(w http.ResponseWriter, r *request.Request) error {
	if r.URL.RawQuery == "" {
		return a.describeService(w, r)
	}
	op := &operation{}
	if err := op.addParams(r.URL.RawQuery, whereURL); err != nil {
		return err
	}
	return a.operate(w, r, op)
}

// postSPARQL answers POST and QUERY.
func (a *API) postSPARQL(w http.ResponseWriter, r *request.Request) error {
	account := limits.NewAccount(a.Texts, r.Request)
	defer account.Release()
	op, err := a.readOperation(r, account)
	if err != nil {
		return err
	}
	return a.operate(w, r, op)
}

// operate runs the operation of a request, and counts it.
func (a *API) operate(w http.ResponseWriter, r *request.Request, op *operation) error {
	start := time.Now()
	done := sparqlDone{form: "none"}
	err := op.check()
	op.params.Client = limits.ClientOf(r.Request)
	if a.Reads.Active() {
		caller := endpoint.ReadsAs(r)
		op.params.Observe = func(sn store.Reader) store.Reader { return a.Reads.Observe(sn, caller) }
	}
	switch {
	case err != nil:
	case op.isUpdate() && r.Method != http.MethodPost:
		err = problem.Errorf(problem.KindBadRequest, "update", "an update is sent by POST: %s changes no data", r.Method)
	case op.isUpdate():
		done.form = "update"
		err = a.Keys.RunOnce(w, r, func(w http.ResponseWriter, r *request.Request) error { return a.update(w, r, op) })
	default:
		done, err = a.query(w, r, op)
	}
	rows := int64(0)
	if q := r.Trace.Query; q != nil && done.form != "update" {
		rows = q.Rows.Load()
	}
	a.metrics.observe(done, rows, a.outcome(r, err), time.Since(start))
	return err
}

// query runs or explains a query.
func (a *API) query(w http.ResponseWriter, r *request.Request, op *operation) (done sparqlDone, err error) {
	done.form = "none"
	start := time.Now()
	op.params.Memory = &a.BeginQuery(r, "query", op.text).Memory
	q, err := a.engine.Prepare(r.Context(), op.text, op.params)
	if err != nil {
		return done, textError(err, "query")
	}
	done.form = formNames[q.Form()]
	if op.explain != explainNo {
		if graphrights.FromContext(r.Context()) != nil {
			return done, fmt.Errorf("a plan has estimates: %w", graphrights.ErrUnfiltered)
		}
		err = a.explain(w, r, op, q, start, &done)
	} else {
		err = a.answerQuery(w, r, op, q, &done)
	}
	return done, err
}

// update makes an update, which must not be explained.
func (a *API) update(w http.ResponseWriter, r *request.Request, op *operation) error {
	r.Trace.Right = access.Write
	if err := r.Caller.Permit(access.Rule{Right: access.Write, Graphs: true}); err != nil {
		return err
	}
	if err := a.Changes.Check(r.Request); err != nil {
		return err
	}
	if op.explain != explainNo {
		return problem.Errorf(problem.KindBadParameter, "explain", "an update is not explained; send its WHERE as a query")
	}
	running := a.BeginQuery(r, "update", op.text)
	op.params.Memory = &running.Memory
	result, err := a.engine.Update(r.Context(), op.text, op.params)
	if errors.Is(err, update.ErrLoad) && !a.engine.Features().Dereference {
		return problem.Errorf(problem.KindForbidden, "", "%v", err)
	}
	running.Rows.Store(result.Added + result.Deleted)
	a.CountWritten(r, result.Added, result.Deleted)
	if err != nil {
		return problem.PartialError(textError(err, "update"), result.Added+result.Deleted, 0, "changed")
	}
	return response.WriteJSON(w, api.UpdateResult{Added: result.Added, Deleted: result.Deleted, Isolation: string(a.engine.Isolation())})
}
