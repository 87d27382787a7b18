// The answer to a query with the parameter explain.

package api

import "github.com/trefoildb/trefoil/sparql/explain"

// Explanation is the plan of a query. If the query ran, it has the figures of the run.
type Explanation struct {
	Form string        `json:"form"` // "SELECT", ...
	Ran  bool          `json:"ran"`
	Plan *explain.Plan `json:"plan"`
	// Figures of a run: the rows of the result, the rows read from the store, and the time.
	Rows        int64   `json:"rows"`
	RowsRead    int64   `json:"rowsRead"`
	Seconds     float64 `json:"seconds"`
	PlanSeconds float64 `json:"planSeconds"` // the part of Seconds for the text, the turn and the plan
	// Isolation is the isolation level of queries on the server: "snapshot" or "triple"; see
	// docs/GUARANTEES.md.
	Isolation string `json:"isolation"`
}
