// Text search of a server, and its indexed predicates.

package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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

// SearchHit is a literal that a search found.
type SearchHit struct {
	Score      float64  `json:"score"`
	Text       string   `json:"text"`
	Lang       string   `json:"lang,omitempty"`
	Datatype   string   `json:"datatype,omitempty"`
	Predicates []string `json:"predicates"`
	// Snippet is a part of the text. The found words stand between U+27E6 and U+27E7.
	Snippet  string   `json:"snippet"`
	Subjects []string `json:"subjects,omitempty"`
}

// SearchResult is the answer to a search, the best hits first.
type SearchResult struct {
	Hits []SearchHit `json:"hits"`
	More bool        `json:"more"`
}

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

// TextPredicate is the state of an indexed predicate on the server that answers. A user with some graphs only gets no
// counts: they are 0.
type TextPredicate struct {
	Predicate string `json:"predicate"`
	Documents int    `json:"documents"`
	Words     uint64 `json:"words"`
	Bytes     int64  `json:"bytes"`
	Segments  int    `json:"segments"`
	// Trigrams is set if filters of queries use the index, too. TrigramBytes is about the part of Bytes for them.
	Trigrams     bool  `json:"trigrams"`
	TrigramBytes int64 `json:"trigramBytes,omitempty"`
	Complete     bool  `json:"complete"`
}

// TextStatus is the state of the text index on the server that answers.
type TextStatus struct {
	Predicates []TextPredicate `json:"predicates"`
	Problem    string          `json:"problem,omitempty"`
}

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
