// SPARQL: patterns, descriptions and documents.

package client

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/triple"
)

// SPARQL has documents and the rarer forms of queries. The others are methods of [Client].
type SPARQL struct{ client *Client }

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
