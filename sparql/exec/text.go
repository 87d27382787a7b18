// The text index as operators use it.

package exec

import (
	"context"
	"errors"
)

// ErrText: nothing gives the query of a search its text.
var ErrText = errors.New("invalid search")

// TextIndex is the index behind text:matches. An answer is complete, or there is an error.
type TextIndex interface {
	// Search begins a search. It sees every change that was acknowledged before the call.
	Search(ctx context.Context, r TextRequest) (TextSearch, error)
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
	// Scores returns the score of each of some literals, 0 if it is no hit.
	Scores(ctx context.Context, literals []string) ([]float64, error)
	// Again returns the search from its first hit.
	Again() TextSearch
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
