// SPARQL: plans of queries.

package client

import (
	"context"
	"fmt"
	"net/url"

	"github.com/trefoildb/trefoil/sparql/explain"
)

// Explanation is the plan of a query. If the query ran, it has the figures of the run.
type Explanation struct {
	Form string        `json:"form"` // "SELECT", ...
	Ran  bool          `json:"ran"`
	Plan *explain.Plan `json:"plan"` // nil if the query has no pattern
	// Figures of a run: the rows of the result, the rows read from the store, and the time.
	Rows        int64   `json:"rows"`
	RowsRead    int64   `json:"rowsRead"`
	Seconds     float64 `json:"seconds"`
	PlanSeconds float64 `json:"planSeconds"` // the part of Seconds for the text, the turn and the plan
	// Isolation is the isolation level of queries on the server: "snapshot" or "triple"; see
	// docs/GUARANTEES.md.
	Isolation string `json:"isolation"`
}

// Explain returns the plan of a query. If run is set, the node first runs the query to its end, and
// drops the result.
func (c *Client) Explain(ctx context.Context, query string, run bool, o QueryOptions) (Explanation, error) {
	mode := "true"
	if run {
		mode = "run"
	}
	var wire struct {
		Form           string
		Ran            bool
		Plan           *wirePlan
		Rows, RowsRead int64
		Seconds        float64
		PlanSeconds    float64
		Isolation      string
	}
	answer, err := c.query(ctx, query, o, url.Values{"explain": {mode}}, "application/json")
	if err == nil {
		defer answer.Body.Close()
		var text []byte
		if text, err = readAll(answer, maxJSONBytes); err == nil {
			err = decodeJSON(text, &wire)
		}
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("explain: %w", unwrapPermanent(err))
	}
	return Explanation{Form: wire.Form, Plan: wire.Plan.plan(), Ran: wire.Ran, Rows: wire.Rows, RowsRead: wire.RowsRead, Seconds: wire.Seconds, PlanSeconds: wire.PlanSeconds, Isolation: wire.Isolation}, nil
}

// wirePlan is a plan as JSON.
type wirePlan struct {
	Operator, Detail   string
	Estimate           *float64 // null if it is unknown
	Rows, Reads, Nanos int64
	Memory, Spilled    int64
	Warning            string
	Inputs             []*wirePlan
}

func (w *wirePlan) plan() *explain.Plan {
	if w == nil {
		return nil
	}
	p := &explain.Plan{Operator: w.Operator, Detail: func() string { return w.Detail }, Estimate: -1, Rows: w.Rows, Reads: w.Reads, Nanos: w.Nanos,
		Memory: w.Memory, Spilled: w.Spilled, Warning: w.Warning}
	if w.Estimate != nil {
		p.Estimate = *w.Estimate
	}
	for _, in := range w.Inputs {
		p.Inputs = append(p.Inputs, in.plan())
	}
	return p
}
