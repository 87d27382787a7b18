// SPARQL: queries and updates.

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// Solution is one solution of a SELECT: its methods Term and Lookup return a term by the
// name of its variable, and All yields the bound variables. The caller owns it.
type Solution = results.Solution

// QueryOptions are the options of a query or update beside its text.
type QueryOptions struct {
	// Bind gives variables of the text values, by name without "?". They are put into the parsed
	// query, not into its text, because a value must stay a value whatever it contains. See
	// [ast.Query.Bind].
	Bind map[string]triple.Term
	// DefaultGraphs and NamedGraphs are the IRIs of a dataset. It replaces that of FROM and FROM
	// NAMED or, in an update, USING and USING NAMED.
	DefaultGraphs, NamedGraphs []string
	// Timeout shortens the node's own; 0 keeps it.
	Timeout time.Duration
}

// Query runs a SELECT and yields its solutions while they arrive. The node executes the query while
// they are read, and stops when the loop ends. An error ends the solutions. If there is none, they
// are complete.
//
// A request is sent again if it fails before the first solution. After that a broken connection is
// an error.
func (c *Client) Query(ctx context.Context, query string, o QueryOptions) iter.Seq2[Solution, error] {
	return func(yield func(Solution, error) bool) {
		answer, reader, err := c.results(ctx, query, o)
		if err != nil {
			yield(Solution{}, fmt.Errorf("query: %w", err))
			return
		}
		defer answer.Close()
		if _, boolean := reader.Boolean(); boolean {
			yield(Solution{}, fmt.Errorf("query: %w: it is an ASK: use Client.Ask", ErrNotAcceptable))
			return
		}
		header := results.NewHeader(reader.Vars())
		for reader.Next() {
			if !yield(header.Solution(reader.Row()), nil) {
				return
			}
		}
		if err := reader.Err(); err != nil {
			yield(Solution{}, fmt.Errorf("query: read the solutions: %w", brokenOff(err)))
		}
	}
}

// Ask runs an ASK.
func (c *Client) Ask(ctx context.Context, query string, o QueryOptions) (bool, error) {
	answer, reader, err := c.results(ctx, query, o)
	if err != nil {
		return false, fmt.Errorf("ask: %w", err)
	}
	defer answer.Close()
	value, ok := reader.Boolean()
	if !ok {
		return false, fmt.Errorf("ask: %w: it is a SELECT: use Client.Query", ErrNotAcceptable)
	}
	return value, nil
}

// Construct runs a CONSTRUCT or DESCRIBE and yields its triples while they arrive. Some may be
// repeated. For the rest see [Client.Query].
func (c *Client) Construct(ctx context.Context, query string, o QueryOptions) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		answer, err := c.query(ctx, query, o, url.Values{}, "application/n-triples")
		if errors.Is(err, ErrNotAcceptable) {
			err = fmt.Errorf("it is no CONSTRUCT or DESCRIBE: use Client.Query or Client.Ask: %w", err)
		}
		if err != nil {
			yield(triple.Triple{}, fmt.Errorf("construct: %w", err))
			return
		}
		defer answer.Body.Close()
		sc := triple.NewScanner(answer.Body, triple.ScanOptions{Source: "answer", MaxLine: maxPageBytes})
		for sc.Scan() {
			if !yield(sc.Triple().Clone(), nil) {
				return
			}
		}
		if err := sc.Err(); err != nil {
			yield(triple.Triple{}, fmt.Errorf("construct: read the triples: %w", brokenOff(err)))
		}
	}
}

// Explanation is the result of [Client.Explain].
type Explanation = api.Explanation

// Explain returns the plan of a query. If run is set, the node first runs the query to its end, and
// drops the result.
func (c *Client) Explain(ctx context.Context, query string, run bool, o QueryOptions) (x Explanation, err error) {
	mode := "true"
	if run {
		mode = "run"
	}
	answer, err := c.query(ctx, query, o, url.Values{"explain": {mode}}, "application/json")
	if err == nil {
		defer answer.Body.Close()
		var text []byte
		if text, err = readAll(answer, maxJSONBytes); err == nil {
			err = decodeJSON(text, &x)
		}
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("explain: %w", unwrapPermanent(err))
	}
	return x, nil
}

// brokenOff adds the possible causes to the error of an answer that ends too early.
func brokenOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the answer broke off before its end: the node ended it, at its time limit (--query-timeout) or by an error that its log tells, or the connection broke: %w", err)
	}
	return err
}

// results sends a SELECT or ASK and begins to read its result. The caller must close it.
func (c *Client) results(ctx context.Context, query string, o QueryOptions) (io.Closer, *results.Reader, error) {
	answer, err := c.query(ctx, query, o, url.Values{}, results.JSON.MediaType())
	if err != nil {
		return nil, nil, err
	}
	reader, err := results.NewReader(answer.Body, results.JSON)
	if err != nil {
		return nil, nil, errors.Join(err, answer.Body.Close())
	}
	return answer.Body, reader, nil
}

// query sends a query, and retries it if that may help. The caller must close the answer.
func (c *Client) query(ctx context.Context, query string, o QueryOptions, params url.Values, accept string) (*http.Response, error) {
	if len(o.Bind) > 0 {
		tree, err := parser.ParseQuery(query, parser.Options{})
		if err != nil {
			return nil, err
		}
		if err := tree.Bind(o.Bind); err != nil {
			return nil, err
		}
		query = tree.String()
	}
	setOperation(params, "default-graph-uri", o.DefaultGraphs, "named-graph-uri", o.NamedGraphs, o.Timeout)
	what := call{method: http.MethodPost, target: c.endpoint("/sparql", params),
		header: http.Header{"Content-Type": {"application/sparql-query"}, "Accept": {accept}}}
	var answer *http.Response
	err := c.retry(ctx, func() (err error) {
		answer, err = c.try(ctx, what, strings.NewReader(query))
		return err
	})
	return answer, err
}

// setOperation sets the parameters of a query or update.
func setOperation(params url.Values, nameDefault string, defaults []string, nameNamed string, named []string, timeout time.Duration) {
	params[nameDefault], params[nameNamed] = defaults, named
	if timeout > 0 {
		params.Set("timeout", timeout.String())
	}
}

// UpdateResult is the result of an update.
type UpdateResult = api.UpdateResult

// Update makes a SPARQL update, durably when it returns. On a lone node it is done as a whole or
// not at all. The same holds in a cluster, with the limits in docs/GUARANTEES.md ("Atomic changes in a
// cluster"). It is sent again if the node was too busy to begin, or if its answer was
// lost; see the package on retries.
func (c *Client) Update(ctx context.Context, update string, o QueryOptions) (UpdateResult, error) {
	result, err := c.update(ctx, update, o)
	if err != nil {
		return result, fmt.Errorf("update: %w", err)
	}
	return result, nil
}

func (c *Client) update(ctx context.Context, update string, o QueryOptions) (result UpdateResult, err error) {
	if len(o.Bind) > 0 {
		tree, err := parser.ParseUpdate(update, parser.Options{})
		if err != nil {
			return result, err
		}
		if err := tree.Bind(o.Bind); err != nil {
			return result, err
		}
		update = tree.String()
	}
	params := url.Values{}
	setOperation(params, "using-graph-uri", o.DefaultGraphs, "using-named-graph-uri", o.NamedGraphs, o.Timeout)
	what := call{method: http.MethodPost, target: c.endpoint("/sparql", params),
		header: http.Header{"Content-Type": {"application/sparql-update"}, "Accept": {"application/json"}}}
	what.body = []byte(update)
	text, err := c.change(ctx, what, false)
	if err == nil {
		err = decodeJSON(text, &result)
	}
	return result, err
}
