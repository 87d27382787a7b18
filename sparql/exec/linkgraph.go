// The graph of hyperlinks as operators use it.

package exec

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// Errors of functions of hyperlinks; test with errors.Is.
var (
	// ErrLinks: nothing binds the page of a function, or a ranking has too many pages.
	ErrLinks = errors.New("invalid call")
	// ErrScores: scores changed while a query read them. The caller may try again.
	ErrScores = errors.New("a job of PageRank ended while the query read its scores")
)

// LinkGraph is the graph of hyperlinks behind the functions of links. It knows a page by a number; 0
// is no page. Its state is that of each call, and not the one of the query's source. An answer is
// complete, or there is an error.
type LinkGraph interface {
	// Pages returns the pages of URLs, 0 for each unknown one.
	Pages(ctx context.Context, urls []string) ([]uint64, error)
	// URLs returns the URLs of pages, "" for each that has gone.
	URLs(ctx context.Context, pages []uint64) ([]string, error)
	// Links returns the links of the first pages of a request, each list ascending.
	Links(ctx context.Context, r LinkRequest) ([][]uint64, error)
	// Degrees returns the number of links of each page.
	Degrees(ctx context.Context, pages []uint64, backward bool) ([]int, error)
	// Rank returns the scores of pages, highest first.
	Rank(ctx context.Context, r RankRequest) (Ranking, error)
}

// LinkRequest is a request for links of pages.
type LinkRequest struct {
	Pages    []uint64
	Backward bool
	// Sample is the size of a consistent sample of each list; 0 means the whole lists.
	Sample int
	// Most bounds the links of the answer, unless the first page alone has more; then there are no
	// lists. 0 is no bound.
	Most int
}

// RankRequest is a request for scores: by SALSA and HITS among the pages, by PageRank those of the last job.
type RankRequest struct {
	Function ast.LinkFunction
	Pages    []uint64
	// In and Out are the sampled links around each page, of SALSA and HITS.
	In, Out int
	// Top, if not 0, is the number of best pages of the whole graph, in place of Pages.
	Top int
}

// Ranking is the answer to a [RankRequest]. A page without a score is missing.
type Ranking struct {
	Pages []RankedPage
	// Total is about the number of pages of the graph, if the request has a Top.
	Total int
}

// RankedPage is a page with its score. Only functions with Hubs have a score as hub.
type RankedPage struct {
	Page       uint64
	Score, Hub float64
}

// ErrNoLinks ends a query with a function of hyperlinks if there is no graph of them.
var ErrNoLinks = errors.New("there is no graph of hyperlinks")
