// What can be asked of a graph of links, and what can be changed in it.

package links

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// Direction is that of a page's links.
type Direction = cell.Direction

// The directions.
const (
	Forward  = cell.Forward  // from the page to others
	Backward = cell.Backward // from others to the page
)

// Label is what is noted on a link.
type Label = cell.Label

// Lists are lists of UIDs, ascending each, one after the other.
type Lists = rank.Lists[uid.UID]

// Errors of a [Graph]; test with errors.Is.
var (
	// ErrLoading says that the cells are not in memory yet; try again.
	ErrLoading = errors.New("the link graph is being built")
	// ErrInvalid says that a request is wrong and why.
	ErrInvalid = errors.New("invalid")
	// ErrEpoch says that the graph is not any more, or not yet, of the epoch that
	// was asked for.
	ErrEpoch = errors.New("another epoch")
	// ErrNoJob says that there is no such job.
	ErrNoJob = errors.New("no such job")
	// ErrBusy says that a job runs already.
	ErrBusy = errors.New("a job runs already")
)

// Graph is a graph of links, of one machine or of a cluster: what the clerk is in
// Najork, The Scalable Hyperlink Store (HT 2009, section 3). All of it is for many at
// once and takes thousands of pages a call. Pages that are not known have no
// links, URL "" and UID 0. What a call returns is the caller's. An answer is
// complete, or there is an error.
type Graph interface {
	// UIDs returns the UIDs of pages.
	UIDs(ctx context.Context, urls []string) ([]uid.UID, error)
	// URLs returns the URLs of pages.
	URLs(ctx context.Context, pages []uid.UID) ([]string, error)
	// Links returns the links of pages.
	Links(ctx context.Context, d Direction, pages []uid.UID) (Lists, error)
	// Labels returns the labels of the forward links of pages, in the order of
	// Links; cell.NoLabel for a link that has none.
	Labels(ctx context.Context, pages []uid.UID) (rank.Lists[Label], error)
	// SampleLinks returns samples of the links of pages.
	SampleLinks(ctx context.Context, d Direction, pages []uid.UID, s sample.Spec) (Lists, error)
	// Degrees returns how many links pages have.
	Degrees(ctx context.Context, d Direction, pages []uid.UID) ([]int, error)
	// Pages returns the pages with the next n UIDs after a UID, fewer at the end.
	Pages(ctx context.Context, after uid.UID, n int) ([]uid.UID, error)
	// Stats returns what there is.
	Stats(ctx context.Context) (Stats, error)

	// Update makes changes, durable when it returns and seen by all reads from
	// then on. Pages that are new get UIDs. Many changes are not one transaction:
	// beside an error, the result says what is known to be done.
	Update(ctx context.Context, changes []Change) (UpdateResult, error)

	// Rank ranks pages by the links around them.
	Rank(ctx context.Context, r RankRequest) (Ranking, error)
	// StartPageRank begins a job, ErrBusy while there is one that runs.
	StartPageRank(ctx context.Context, o PageRankOptions) error
	// PageRank returns how the last job stands: ErrNoJob where there was none.
	PageRank(ctx context.Context) (PageRankJob, error)
	// StopPageRank ends a job that runs.
	StopPageRank(ctx context.Context) error

	// Request loads what is not in memory, and returns when it is; Relinquish says
	// that the caller does not need it for now. Both are hints: a read waits for what it
	// needs.
	Request(ctx context.Context) error
	Relinquish(ctx context.Context) error
}

// MinClusterEpoch is the least epoch of a cluster; those of nodes alone are less.
const MinClusterEpoch = 1 << 52

// Stats is what there is in a graph.
type Stats struct {
	ServerStats // of all servers together; MinUID and MaxUID too
	// Epoch names what the graph was when the call began: it is another number after every
	// change of the graph. That of a node alone grows; that of a cluster is any number from
	// MinClusterEpoch on and less than twice as great, and may change where the graph does
	// not. 0 is not told.
	Epoch   uint64        `json:"epoch"`
	Servers []ServerStats `json:"servers"`
	// Loading says that cells are being built or read, Pending how many changes of
	// triples are not in the graph yet.
	Loading bool   `json:"loading"`
	Pending uint64 `json:"pending"`
	// Progress tells how far Loading is, in words.
	Progress string `json:"progress,omitempty"`
}

// ServerStats is what one server has.
type ServerStats struct {
	// ID is the machine's, Address where it is; both are "" in a sum.
	ID      string `json:"id,omitempty"`
	Address string `json:"address,omitempty"`
	// Pages is the number of URLs, Links of links from these pages, Linked of links to
	// them.
	Pages  int64 `json:"pages"`
	Links  int64 `json:"links"`
	Linked int64 `json:"linked"`
	// MaxOut and MaxIn are bounds of degrees: the greatest ones, unless links of
	// just these pages were deleted a moment ago; -1 where they are not known. In a
	// cluster only the sum has them, and a machine's links are those that it reads by
	// their targets.
	MaxOut int `json:"maxOut"`
	MaxIn  int `json:"maxIn"`
	// MinUID and MaxUID are 0 where there is no page.
	MinUID uid.UID `json:"minUid,string"`
	MaxUID uid.UID `json:"maxUid,string"`
	Cells  int     `json:"cells"`
	// Bytes of memory: all of the cells, and what of it is for URLs, forward lists
	// and backward lists with their ghosts; and that of changes since.
	Bytes         int64 `json:"bytes"`
	URLBytes      int64 `json:"urlBytes"`
	ForwardBytes  int64 `json:"forwardBytes"`
	BackwardBytes int64 `json:"backwardBytes"`
	DeltaBytes    int64 `json:"deltaBytes"`
}

// ChangeKind says what a [Change] does.
type ChangeKind uint8

const (
	// AddLinks adds links to a page.
	AddLinks ChangeKind = iota
	// DeleteLinks removes links of a page.
	DeleteLinks
	// ReplaceLinks gives a page a whole list: it has no other links then.
	ReplaceLinks
)

// Change changes the links of one page.
type Change struct {
	Kind   ChangeKind
	Source string // URL
	// Targets are URLs. Labels are nil, or as many; an added link keeps the label that
	// it had where its own is cell.NoLabel.
	Targets []string
	Labels  []Label
}

// UpdateResult says what an update did.
type UpdateResult struct {
	Added   int64  `json:"added"`   // links
	Deleted int64  `json:"deleted"` // links
	Pages   int64  `json:"pages"`   // that got UIDs
	Epoch   uint64 `json:"epoch"`   // of a graph that has it all; 0 is not told
}

// Algorithm is one of ranking.
type Algorithm string

// The algorithms.
const (
	SALSA Algorithm = "salsa"
	HITS  Algorithm = "hits"
	// PageRank ranks by the scores of the last finished job.
	PageRank Algorithm = "pagerank"
)

// RankRequest asks for a ranking of a result set.
type RankRequest struct {
	Algorithm Algorithm
	// Pages is the result set; more than one of them may be unknown (0).
	Pages []uid.UID
	// In and Out are how many pages that link to each page, and that it links to,
	// are drawn into its neighbourhood, consistently unless Mode says otherwise.
	In, Out int
	Mode    sample.Mode
	Class   sample.Class
	Seed    uint64
	// Top is how many are returned, 0 all. All says that pages around the result
	// set are ranked too.
	Top int
	All bool
}

// Ranking is the answer to a [RankRequest].
type Ranking struct {
	// Authorities are by score, highest first. Hubs are those of SALSA and HITS.
	Authorities, Hubs []rank.Scored
	// Vertices and Edges are the size of the neighbourhood graph.
	Vertices, Edges int
	// Rounds and Converged are those of HITS, or of the job of PageRank.
	Rounds    int
	Converged bool
}

// PageRankOptions are those of a job; zero values are the defaults of package rank.
type PageRankOptions struct {
	Damping   float64 `json:"damping,omitempty"`
	Tolerance float64 `json:"tolerance,omitempty"`
	MaxRounds int     `json:"maxRounds,omitempty"`
	// Store notes the scores on the triples of pages' UIDs, as annotations of the
	// application urn:trefoil:pagerank: decimal text.
	Store bool `json:"store,omitempty"`
}

// PageRankApplication is the application id of stored scores.
const PageRankApplication = "urn:trefoil:pagerank"

// PageRankJob is how a job stands.
type PageRankJob struct {
	State string `json:"state"` // running, storing, done, stopped, failed
	// Epoch is that of the graph which the scores are of; 0 is not told, as in a cluster.
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
