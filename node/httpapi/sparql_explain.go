// EXPLAIN: the plan of a query, with what was expected and what a run did.

package httpapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// explanation is the answer to a query that is to be explained.
type explanation struct {
	Form string     `json:"form"`
	Ran  bool       `json:"ran"`
	Plan *exec.Plan `json:"plan"`
	// Of a run; 0 without.
	Rows    int64   `json:"rows"`     // of the result: solutions, triples, 1 for ASK
	Read    int64   `json:"rowsRead"` // of the store
	Seconds float64 `json:"seconds"`
	// Isolation is what the query has: see docs/API.md, "What holds".
	Isolation node.Isolation `json:"isolation"`
}

// explain sends the plan of a query. With explain=run the query runs to its end
// before, and its result is counted and thrown away.
func (a *API) explain(w http.ResponseWriter, r *request, op *operation, q *engine.Query, done *sparqlDone) error {
	w.Header().Add("Vary", "Accept")
	f, err := chooseFormat(r.Request, op.formats, explainFormats)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", f.contentType)
		return nil
	}
	e := explanation{Form: q.Form().String(), Ran: op.explain == explainRun, Isolation: a.options.Engine.Isolation()}
	if e.Ran {
		start := time.Now()
		answer, err := q.Run(r.Context())
		if err != nil {
			return err
		}
		defer answer.Close()
		readsFrom(w, answer)
		err = drain(answer, &e.Rows)
		e.Plan = answer.Plan()
		e.Read, e.Seconds = readsOf(e.Plan), time.Since(start).Seconds()
		done.rows, done.read = e.Rows, e.Read
		if err != nil {
			return err
		}
	} else if e.Plan, err = q.Explain(r.Context()); err != nil {
		return err
	}
	if f.mediaType == typeJSON {
		return writeJSON(w, e)
	}
	text := "nothing to do\n"
	if e.Plan != nil {
		text = e.Plan.Text(e.Ran)
	}
	if e.Ran {
		text += fmt.Sprintf("%d rows, %d read, %.3f ms\n", e.Rows, e.Read, e.Seconds*1e3)
	}
	text += fmt.Sprintf("isolation %s: %s\n", e.Isolation, e.Isolation.Explain())
	return writeWhole(w, f.contentType, []byte(text))
}

// drain runs a query to its end.
func drain(answer *engine.Answer, rows *int64) error {
	switch answer.Form {
	case ast.Ask:
		*rows = 1
		_, err := answer.Boolean()
		return err
	case ast.Select:
		for _, err := range answer.Rows() {
			if err != nil {
				return err
			}
			*rows++
		}
	default:
		for _, err := range answer.Triples() {
			if err != nil {
				return err
			}
			*rows++
		}
	}
	return nil
}
