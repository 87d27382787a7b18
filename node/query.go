// SPARQL on a store.

package node

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// Solution is one solution of a SELECT: its methods Term and Lookup return a term by the
// name of its variable, and All yields the bound variables. The caller owns it.
type Solution = results.Solution

// QueryOptions are the parameters of a query or update besides its text. The zero value
// is ready to use.
type QueryOptions struct {
	// Bind gives variables of the text values, by name without "?". The values enter the
	// parsed query and never its text, so no value can change the meaning of the query.
	// Each name must be a variable of the text, and each value an IRI or a literal.
	Bind map[string]triple.Term
	// DefaultGraphs and NamedGraphs are the IRIs of the dataset, instead of FROM and FROM
	// NAMED or, in an update, USING and USING NAMED.
	DefaultGraphs, NamedGraphs []string
	// Timeout shortens [Options].QueryTimeout; 0 does not.
	Timeout time.Duration
}

func (o QueryOptions) params() engine.Params {
	return engine.Params{Bind: o.Bind, DefaultGraphs: o.DefaultGraphs, NamedGraphs: o.NamedGraphs, Timeout: o.Timeout}
}

// UpdateResult is the result of an update.
type UpdateResult = api.UpdateResult

// Query runs a SELECT and yields its solutions as they are computed. The query sees the
// store as it is when the loop begins, and ends with the loop. An error ends the
// solutions.
func (s *Store) Query(ctx context.Context, query string, o QueryOptions) iter.Seq2[Solution, error] {
	return func(yield func(Solution, error) bool) {
		answer, err := s.run(ctx, query, o, ast.Select)
		if err != nil {
			yield(Solution{}, err)
			return
		}
		defer answer.Close()
		header := results.NewHeader(answer.Vars)
		for row, err := range answer.Rows() {
			if err != nil {
				yield(Solution{}, fmt.Errorf("query: %w", err))
				return
			}
			if !yield(header.Solution(row), nil) {
				return
			}
		}
	}
}

// Ask runs an ASK.
func (s *Store) Ask(ctx context.Context, query string, o QueryOptions) (bool, error) {
	answer, err := s.run(ctx, query, o, ast.Ask)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	return answer.Boolean()
}

// Construct runs a CONSTRUCT or DESCRIBE and yields its triples; see [Store.Query]. A
// triple of a large result may come more than once.
func (s *Store) Construct(ctx context.Context, query string, o QueryOptions) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		answer, err := s.run(ctx, query, o, ast.Construct, ast.Describe)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer answer.Close()
		for t, err := range answer.Triples() {
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// Update executes a SPARQL update as one durable change: all of it, or nothing if there
// is an error. Updates run one after the other.
func (s *Store) Update(ctx context.Context, update string, o QueryOptions) (UpdateResult, error) {
	r, err := s.engine.Update(ctx, update, o.params())
	return UpdateResult{Added: r.Added, Deleted: r.Deleted, Isolation: string(s.engine.Isolation())}, err
}

// run begins a query, which must have one of the forms.
func (s *Store) run(ctx context.Context, query string, o QueryOptions, forms ...ast.Form) (*engine.Answer, error) {
	prepared, err := s.engine.Prepare(ctx, query, o.params())
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	for _, form := range forms {
		if prepared.Form() == form {
			return prepared.Run(ctx)
		}
	}
	return nil, fmt.Errorf("query: it is of the form %s: SELECT is for Query, ASK for Ask, CONSTRUCT and DESCRIBE for Construct", prepared.Form())
}
