// Ranking of pages: the interface, its requests and its results.

package links

import (
	"context"

	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Ranker ranks pages by their links.
type Ranker interface {
	// Rank ranks a result set by the links around it.
	Rank(ctx context.Context, r RankRequest) (Ranking, error)
	// StartPageRank starts a job. It returns ErrBusy while a job runs.
	StartPageRank(ctx context.Context, o PageRankOptions) error
	// PageRank returns the state of the last job. If there was none, the error is ErrNoJob.
	PageRank(ctx context.Context) (PageRankJob, error)
	// StopPageRank ends a running job.
	StopPageRank(ctx context.Context) error
}

// Algorithm is a way of ranking.
type Algorithm string

// The algorithms.
const (
	SALSA Algorithm = "salsa"
	HITS  Algorithm = "hits"
	// PageRank ranks by the scores of the last finished job.
	PageRank Algorithm = "pagerank"
)

// RankRequest is a request for the ranking of a result set.
type RankRequest struct {
	Algorithm Algorithm
	// Pages is the result set. Some of them may be unknown (0).
	Pages []uid.UID
	// In and Out are numbers for the neighbourhood: of sampled pages linking to each page, and of
	// sampled pages it links to. Mode and Class say which; Seed counts if Mode is random.
	In, Out int
	Mode    sample.Mode
	Class   sample.Class
	Seed    uint64
	// Weighted makes the weights of links count, of SALSA and HITS: a link counts as much as its
	// weight, and as 1 if it has none. A link whose weight is not positive does not count.
	Weighted bool
	// Top is the maximum number of returned pages, 0 for all. If All is set, pages around the
	// result set are ranked too.
	Top int
	All bool
}

// Ranking is the answer to a [RankRequest].
type Ranking struct {
	// Authorities are by score, highest first. Hubs are set by SALSA and HITS only.
	Authorities, Hubs []rank.Scored
	// Vertices and Edges are the size of the neighbourhood graph.
	Vertices, Edges int
	// Rounds and Converged describe the run of HITS, or the job of PageRank.
	Rounds    int
	Converged bool
}

// PageRankOptions are the options of a job. Zero values are the defaults of package rank.
type PageRankOptions struct {
	Damping   float64 `json:"damping,omitempty"`
	Tolerance float64 `json:"tolerance,omitempty"`
	MaxRounds int     `json:"maxRounds,omitempty"`
	// Weighted divides a page's score among its links by the weights of their labels. A link
	// without a label weighs 1. A weight that is not positive and finite counts as 0.
	Weighted bool `json:"weighted,omitempty"`
	// Store writes the scores as annotations on the triples of pages' UIDs, under the application
	// urn:trefoil:pagerank: decimal text.
	Store bool `json:"store,omitempty"`
}

// PageRankApplication is the application id of stored scores.
const PageRankApplication = "urn:trefoil:pagerank"

// PageRankJob is the state of a job.
type PageRankJob struct {
	State string `json:"state"` // running, storing, done, stopped, failed
	// Epoch is the epoch of the ranked graph. It is 0 if it is not known.
	Epoch     uint64  `json:"epoch"`
	Pages     int64   `json:"pages"`
	Links     int64   `json:"links"`
	Round     int     `json:"round"`
	Change    float64 `json:"change"` // of the last round, L1
	Converged bool    `json:"converged"`
	Seconds   float64 `json:"seconds"`
	Stored    int64   `json:"stored,omitempty"`
	Error     string  `json:"error,omitempty"`
}
