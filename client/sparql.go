// SPARQL: plans of queries, patterns, descriptions and documents.

package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// SPARQL has plans, documents and the rarer forms of queries. The others are methods of [Client].
type SPARQL struct{ client *Client }

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
func (c *SPARQL) Explain(ctx context.Context, query string, run bool, o QueryOptions) (Explanation, error) {
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
	answer, err := c.client.query(ctx, query, o, url.Values{"explain": {mode}}, "application/json")
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

// Select yields the solutions of triple patterns only, in the syntax of [parser.ParsePattern]:
//
//	c.SPARQL.Select(ctx, `?s <http://example.org/knows> ?o . ?o a <http://example.org/Person>`, client.QueryOptions{})
func (c *SPARQL) Select(ctx context.Context, pattern string, o QueryOptions) iter.Seq2[Solution, error] {
	group, err := parser.ParsePattern(pattern, parser.Options{})
	if err != nil {
		return func(yield func(Solution, error) bool) {
			yield(Solution{}, fmt.Errorf("pattern: %w: %w", ErrSyntax, err))
		}
	}
	q := &ast.Query{Form: ast.Select, Star: true, Where: group, Limit: ast.NoLimit}
	return c.client.Query(ctx, q.String(), o)
}

// Describe yields the triples that describe a resource: those of DESCRIBE. See [Client.Construct].
func (c *SPARQL) Describe(ctx context.Context, resource triple.Term) iter.Seq2[triple.Triple, error] {
	if resource.Kind() != triple.IRI {
		return func(yield func(triple.Triple, error) bool) {
			yield(triple.Triple{}, fmt.Errorf("describe: %s is no IRI", resource))
		}
	}
	return c.client.Construct(ctx, "DESCRIBE "+resource.String(), QueryOptions{})
}

// Document runs a query of any form and returns its result as the node sends it, in a format that
// mediaType names, such as "text/csv" or "text/turtle". A document is complete only if reading it ends
// with io.EOF. The caller must close it, which also stops the query. See [Client.Query].
func (c *SPARQL) Document(ctx context.Context, query, mediaType string, o QueryOptions) (io.ReadCloser, error) {
	answer, err := c.client.query(ctx, query, o, url.Values{}, mediaType)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return answer.Body, nil
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
