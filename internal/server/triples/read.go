// The endpoints of this package, and the reads /range, /triples, /count and /where.

package triples

import (
	"net/http"
	"slices"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// API answers requests for single triples and for files of them.
type API struct {
	*endpoint.Shared
	loadMemoryBytes int64         // of one bulk load
	maxLoadBytes    int64         // 0 for no limit
	Loads           chan struct{} // holds an element for each running load
}

// New returns the endpoints of triples. loadMemoryBytes bounds the memory of a load; 0 is the
// loader's default. maxLoadBytes bounds its document; 0 is no limit.
func New(s *endpoint.Shared, loadMemoryBytes, maxLoadBytes int64) *API {
	return &API{Shared: s, loadMemoryBytes: loadMemoryBytes, maxLoadBytes: maxLoadBytes, Loads: make(chan struct{}, 1)}
}

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	triples := endpoint.Get(a.getTriples, triplesParams...)
	triples.Methods[http.MethodPost] = &endpoint.Method{Params: addParams, Writes: true, Body: true, Handle: a.postTriples}
	triples.Methods[http.MethodDelete] = &endpoint.Method{Params: deleteParams, Writes: true, Body: true, Handle: a.deleteTriples}
	return endpoint.Table{
		"/range":   endpoint.Get(a.getRange, rangeParams...),
		"/triples": triples,
		"/count":   endpoint.Get(a.getCount, countParams...),
		"/where":   endpoint.Get(a.getWhere, request.PatternParams...),
		"/load": {Methods: map[string]*endpoint.Method{
			http.MethodPost: {Params: loadParams, Writes: true, Body: true, Handle: a.postLoad}}},
		FragmentsPath: {Methods: map[string]*endpoint.Method{http.MethodGet: {Params: fragmentsParams, OwnParams: true, Handle: a.getFragment}}},
	}
}

var countParams = slices.Concat(request.PatternParams, []string{"estimate"})

func (a *API) getRange(w http.ResponseWriter, r *request.Request) error {
	q, err := rangeQuery(r.Params)
	if err != nil {
		return err
	}
	return a.answer(w, r, q)
}

func (a *API) getTriples(w http.ResponseWriter, r *request.Request) error {
	q, err := triplesQuery(r.Params)
	if err != nil {
		return err
	}
	return a.answer(w, r, q)
}

func (a *API) answer(w http.ResponseWriter, r *request.Request, q *query) error {
	f, err := formatFor(r.Request, q)
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	q.caller = r.Caller
	if q.limit > 0 {
		return a.answerPage(w, r, q, f)
	}
	return a.answerStream(w, r, q, f)
}

// count is the answer of /count.
type count struct {
	Count int64 `json:"count"`
	Exact bool  `json:"exact"`
}

func (a *API) getCount(w http.ResponseWriter, r *request.Request) error {
	// 1. Check everything before a reader is opened.
	pattern, err := r.Params.Pattern()
	if err != nil {
		return err
	}
	estimate, err := r.Params.Flag("estimate")
	if err != nil {
		return err
	}
	if response.Negotiate(r.Header.Values("Accept"), []string{response.JSON}) < 0 {
		return response.NotAcceptable([]string{response.JSON})
	}
	// 2. Count. An estimate is cheap; an exact count may read all matches.
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	c := count{Exact: true}
	if estimate {
		c.Count, c.Exact, err = sn.Estimate(r.Context(), pattern)
	} else {
		c.Count, err = sn.Count(r.Context(), pattern)
	}
	if err != nil {
		return err
	}
	return response.WriteJSON(w, c)
}

// getWhere answers which machines have the versions of a triple.
func (a *API) getWhere(w http.ResponseWriter, r *request.Request) error {
	t, err := r.Params.Triple()
	if err != nil {
		return err
	}
	where, err := a.Store.Where(r.Context(), t)
	if err != nil {
		return err
	}
	return response.WriteJSON(w, where)
}
