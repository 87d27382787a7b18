// EXPLAIN: the plan of a query, with its estimates and the figures of a run.

package sparql

import (
	"fmt"
	"net/http"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// explain sends the plan of a query. If explain=run, the query first runs to its end; its result is
// counted and dropped. start is when its text came.
func (a *API) explain(w http.ResponseWriter, r *request.Request, op *operation, q *engine.Query, start time.Time, done *sparqlDone) error {
	w.Header().Add("Vary", "Accept")
	f, err := chooseFormat(r.Request, op.formats, explainFormats)
	if err != nil {
		return err
	}
	// HEAD must not run a query.
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", f.contentType)
		return nil
	}
	// 1. Make the plan, with a run if the client wants one.
	isolation := a.engine.Isolation()
	e := api.Explanation{Form: q.Form().String(), Ran: op.explain == explainRun, Isolation: string(isolation)}
	if e.Ran {
		answer, err := q.Run(r.Context())
		if err != nil {
			return err
		}
		e.PlanSeconds = time.Since(start).Seconds()
		defer answer.Close()
		response.SetSource(w, answer)
		// The error comes after the figures, because the metrics count a failed run, too.
		err = answer.Drain(&r.Trace.Query.Rows)
		e.Rows = r.Trace.Query.Rows.Load()
		e.Plan = answer.Plan()
		e.RowsRead, e.Seconds = e.Plan.TotalReads(), time.Since(start).Seconds()
		done.read = e.RowsRead
		if err != nil {
			return err
		}
	} else if e.Plan, err = q.Explain(r.Context()); err != nil {
		return err
	}
	// 2. Send it as JSON, or as text for people.
	if f.mediaType == response.JSON {
		return response.WriteJSON(w, e)
	}
	text := e.Plan.Text(e.Ran)
	if e.Ran {
		text += fmt.Sprintf("%d rows, %d read, %.3f ms, of them %.3f to plan\n", e.Rows, e.RowsRead, e.Seconds*1e3, e.PlanSeconds*1e3)
	}
	text += fmt.Sprintf("isolation %s: %s\n", isolation, isolation.Explain())
	return response.WriteWhole(w, f.contentType, []byte(text))
}
