// The door /sparql: the SPARQL 1.1 Protocol
// (https://www.w3.org/TR/sparql11-protocol/).

package httpapi

import (
	"errors"
	"net/http"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/sparql/update"
)

// sparqlDoors are the doors that need the engine.
func (a *API) sparqlDoors() map[string]*door {
	return map[string]*door{
		"/sparql": {methods: map[string]*method{
			http.MethodGet:  {ownParams: true, handle: a.getSPARQL},
			http.MethodPost: {ownParams: true, body: true, handle: a.postSPARQL},
		}},
	}
}

func (a *API) getSPARQL(w http.ResponseWriter, r *request) error {
	if r.URL.RawQuery == "" {
		return a.describeService(w, r)
	}
	op := &operation{}
	if err := op.addParams(r.URL.RawQuery, whereURL); err != nil {
		return err
	}
	if op.has("update") {
		return errorf(KindBadRequest, "update", "an update is sent by POST: GET changes no data")
	}
	return a.operate(w, r, op)
}

func (a *API) postSPARQL(w http.ResponseWriter, r *request) error {
	account := &account{budget: &a.texts, client: clientOf(r.Request)}
	defer account.release()
	op, err := a.readOperation(r, account)
	if err != nil {
		return err
	}
	return a.operate(w, r, op)
}

// operate does what a request asks for, and counts it.
func (a *API) operate(w http.ResponseWriter, r *request, op *operation) error {
	start := time.Now()
	done := sparqlDone{form: "none"}
	err := op.check()
	op.params.Client = clientOf(r.Request)
	switch {
	case err != nil:
	case op.isUpdate():
		done.form = "update"
		err = a.once(w, r, func(w http.ResponseWriter, r *request) error { return a.update(w, r, op) })
	default:
		done, err = a.query(w, r, op)
	}
	a.metrics.sparql.observe(done, a.outcome(r, err), time.Since(start))
	return err
}

// query runs a query, or explains it.
func (a *API) query(w http.ResponseWriter, r *request, op *operation) (done sparqlDone, err error) {
	done.form = "none"
	q, err := a.options.Engine.Prepare(r.Context(), op.text, op.params)
	if err != nil {
		return done, textError(err, "query")
	}
	done.form = formNames[q.Form()]
	if op.explain != explainNo {
		err = a.explain(w, r, op, q, &done)
	} else {
		err = a.answerQuery(w, r, op, q, &done)
	}
	return done, err
}

// update carries out an update request.
func (a *API) update(w http.ResponseWriter, r *request, op *operation) error {
	if err := a.mayWrite(r.Request); err != nil {
		return err
	}
	if r.Method != http.MethodPost {
		return errorf(KindBadRequest, "update", "an update is sent by POST: %s changes no data", r.Method)
	}
	if op.explain != explainNo {
		return errorf(KindBadParameter, "explain", "an update is not explained; send its WHERE as a query")
	}
	result, err := a.options.Engine.Update(r.Context(), op.text, op.params)
	if errors.Is(err, update.ErrLoad) && !a.options.Engine.Features().Dereference {
		return errorf(KindForbidden, "", "%v", err)
	}
	a.metrics.rowsWritten.WithLabelValues("added").Add(float64(result.Added))
	a.metrics.rowsWritten.WithLabelValues("deleted").Add(float64(result.Deleted))
	if err != nil {
		return partly(textError(err, "update"), result.Added+result.Deleted, 0, "changed")
	}
	return writeJSON(w, updated{result.Added, result.Deleted, a.options.Engine.Isolation()})
}

// updated is the answer to an update.
type updated struct {
	Added   int64 `json:"added"`
	Deleted int64 `json:"deleted"`
	// Isolation is what the update had.
	Isolation node.Isolation `json:"isolation"`
}
