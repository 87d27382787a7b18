// Text search of a server, and its indexed predicates.

package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/trefoildb/trefoil/internal/api"
)

// Text searches literals, and changes the predicates whose literals have an index.
type Text struct{ *transport }

// SearchRequest is what [Text.Search] looks for.
type SearchRequest struct {
	// Query has words, "phrases", prefixes*, fuzzy~ words, AND, OR, NOT and parentheses.
	Query string
	// Predicate is the IRI of a predicate; "" is all indexed ones.
	Predicate string
	// Language, if set, is a range of language tags; "" has literals without a tag only.
	Language *string
	// Limit is the most hits; 0 is 10.
	Limit int
	// Subjects is how many subjects of each hit are returned.
	Subjects int
	// Scan allows a search of a predicate without an index.
	Scan bool
}

// SearchResult is the result of [Text.Search].
type (
	SearchResult = api.SearchResult
	SearchHit    = api.SearchHit
)

// Search returns the best literals for a query. It sees every change that was acknowledged before.
func (c *Text) Search(ctx context.Context, r SearchRequest) (s SearchResult, err error) {
	values := url.Values{"q": {r.Query}}
	if r.Predicate != "" {
		values.Set("p", "<"+r.Predicate+">")
	}
	if r.Language != nil {
		values.Set("lang", cmp.Or(*r.Language, "none"))
	}
	if r.Limit > 0 {
		values.Set("limit", strconv.Itoa(r.Limit))
	}
	if r.Subjects > 0 {
		values.Set("subjects", strconv.Itoa(r.Subjects))
	}
	if r.Scan {
		values.Set("scan", "true")
	}
	if err := c.get(ctx, c.endpoint("/search", values), &s); err != nil {
		return s, fmt.Errorf("search: %w", unwrapPermanent(err))
	}
	return s, nil
}

// TextStatus is the state of the text index on the server that answers.
type (
	TextStatus    = api.TextStatus
	TextPredicate = api.TextPredicate
)

// Predicates returns the indexed predicates.
func (c *Text) Predicates(ctx context.Context) (s TextStatus, err error) {
	if err := c.get(ctx, c.endpoint("/text", nil), &s); err != nil {
		return s, fmt.Errorf("list the indexed predicates: %w", unwrapPermanent(err))
	}
	return s, nil
}

// AddPredicate makes the literals of a predicate be indexed, without trigrams. If it has trigrams, they end.
func (c *Text) AddPredicate(ctx context.Context, predicate string) error {
	return c.write(ctx, http.MethodPut, "index", predicate, false)
}

// AddTrigrams makes the literals of a predicate be indexed with trigrams, for filters of queries such as CONTAINS and
// REGEX.
func (c *Text) AddTrigrams(ctx context.Context, predicate string) error {
	return c.write(ctx, http.MethodPut, "index", predicate, true)
}

// RemovePredicate ends the index of a predicate.
func (c *Text) RemovePredicate(ctx context.Context, predicate string) error {
	return c.write(ctx, http.MethodDelete, "end the index of", predicate, false)
}

func (c *Text) write(ctx context.Context, method, what, predicate string, trigrams bool) error {
	values := url.Values{"p": {"<" + predicate + ">"}}
	if trigrams {
		values.Set("trigrams", "true")
	}
	_, err := c.change(ctx, call{method: method, target: c.endpoint("/text", values)}, true)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, predicate, unwrapPermanent(err))
	}
	return nil
}
