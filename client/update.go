// SPARQL: updates.

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/sparql/parser"
)

// UpdateResult is the result of an update.
type UpdateResult = api.UpdateResult

// Update makes a SPARQL update, durably when it returns. On a lone node it is done as a whole or
// not at all. In a cluster an update is not atomic (see UpdateResult.Isolation), and a part of it
// may be done if it fails. It is sent again if the node was too busy to begin, or if its answer was
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
