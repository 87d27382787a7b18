// The text index as operators use it.

package exec

import (
	"context"
	"errors"
)

// ErrText: a search has no text.
var ErrText = errors.New("invalid search")

// ErrChanged: an index does not have the changes of the update that it is used in.
var ErrChanged = errors.New("operations before it change triples")

// TextIndex is the index behind text:matches. An answer is complete, or there is an error.
type TextIndex interface {
	// Search begins a search. It sees every change that was acknowledged before the call.
	Search(ctx context.Context, r TextRequest) (TextSearch, error)
}

// LiteralIndex finds the literals of some predicates by parts of their texts. A filter stays, and tests what it finds.
type LiteralIndex interface {
	// Indexed reports whether there may be candidates for a predicate.
	Indexed(predicate string) bool
	// Candidates returns, ascending and in their key form, all literals that are objects of the predicate in the source
	// and meet the condition, and perhaps others. An error means that rows must be read.
	Candidates(ctx context.Context, r LiteralRequest) ([][]byte, error)
}

// LiteralRequest describes literals.
type LiteralRequest struct {
	Predicate string
	// Texts: a literal must contain one text of each list, in any case of its letters.
	Texts [][]string
	// Most is the greatest number of candidates. If there are more, it is an error.
	Most int
}

// TextRequest is what a search looks for.
type TextRequest struct {
	Query      string
	Language   *string // a range of language tags; nil is any
	Predicates []string
	Scan       bool // whether literals without an index may be read
}

// TextSearch is a search that has begun.
type TextSearch interface {
	// Next returns up to n further hits, the best first; none at the end.
	Next(ctx context.Context, n int) ([]TextHit, error)
	// Scores returns the hits among some different literals, in their order. The predicates of each are all that were
	// searched, which are the same for all of them; the literal has at least one.
	Scores(ctx context.Context, literals []string) ([]TextHit, error)
	// Restart returns the search from its first hit.
	Restart() TextSearch
	// Snippet returns the part of a hit's literal with the most words of the query.
	Snippet(h TextHit) string
	// Estimate returns about how many hits there are.
	Estimate() int64
	// ScannedBytes returns the memory of a search without an index; 0 if it uses the index.
	ScannedBytes() int64
}

// TextHit is a literal, as its binding, with its score.
type TextHit struct {
	Literal    string
	Score      float64
	Predicates []string // the IRIs of those among the searched ones that have it
}

// ErrNoText ends a query with a text search if there is no text index.
var ErrNoText = errors.New("there is no text index")
