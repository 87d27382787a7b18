// PageRank over the partitions of a graph.

package rank

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/processors"
)

// The errors of a job. Test with errors.Is.
var (
	// ErrGraph is wrapped if partitions do not fit together.
	ErrGraph = errors.New("not a graph")
	// ErrExchange is wrapped if the machines of a job do not fit together, or one of them is
	// lost. The job has no result then, and must begin again.
	ErrExchange = errors.New("the machines of a job have lost each other")
)

// The defaults of [Options].
const (
	DefaultDamping   = 0.85
	DefaultTolerance = 1e-8
	DefaultMaxRounds = 200
)

// Options of a PageRank. The zero value is ready for use.
type Options struct {
	// Damping is the probability to follow a link, in (0,1). 0 means 0.85.
	Damping float64
	// Tolerance ends the job when a round changes the scores by no more. The change is the sum
	// over all pages. The distance from the limit is then at most Damping/(1-Damping) times the
	// tolerance. 0 means 1e-8.
	Tolerance float64
	// MaxRounds ends the job if it does not converge. 0 means 200. With the other defaults each
	// job converges before.
	MaxRounds int
	// Workers is the number of partitions processed at once. 0 means one for each processor.
	// Scores do not depend on it.
	Workers int
	// CopyBytes limits the memory for copies of decoded links during the job, in bytes. A link
	// takes some 5 bytes. If a copy fits, its partition is read once, and each round reads
	// arrays. This is some twice as fast as decoding the lists again. 0 means no copies. Scores
	// do not depend on it.
	CopyBytes int64
	// Weighted divides a page's score among its links by their weights. Otherwise each link gets
	// the same. A weight that is not positive and finite counts as 0. If all weights of a page are
	// 0, the page counts as one without links. A link of a page with weights takes 8 bytes.
	Weighted bool
	// Progress is called after each round, if it is set.
	Progress func(Round)
	// Exchange reaches other machines. It may be nil if there are none.
	Exchange Exchange
}

// Validate returns an error if an option is out of range.
func (o Options) Validate() error {
	switch {
	case !(o.Damping >= 0 && o.Damping < 1):
		return fmt.Errorf("damping is %v: it must be between 0 and 1", o.Damping)
	case !(o.Tolerance >= 0):
		return fmt.Errorf("tolerance is %v: it must be above 0", o.Tolerance)
	case o.MaxRounds < 0 || o.Workers < 0 || o.CopyBytes < 0:
		return fmt.Errorf("%d rounds, %d workers or %d bytes: none may be negative", o.MaxRounds, o.Workers, o.CopyBytes)
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.Damping == 0 {
		o.Damping = DefaultDamping
	}
	if o.Tolerance == 0 {
		o.Tolerance = DefaultTolerance
	}
	if o.MaxRounds == 0 {
		o.MaxRounds = DefaultMaxRounds
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	return o
}

// Round describes a finished round.
type Round struct {
	Number int     // from 1 on
	Change float64 // of the scores of all machines, L1
	Links  int64   // of all machines
}

// Result is the scores when a job has ended.
type Result struct {
	Round
	Converged bool
	// Scores are by local partition and by page. The scores of all machines sum up to 1.
	Scores [][]float64
}

// PageRank computes the scores of the pages of a graph in partitions (Brin and
// Page 1998): the limit of
//
//	score(p) = (1-d)/n + d * (lost/n + sum over links q->p of score(q)/links(q))
//
// n is the number of pages. lost is the scores of pages without links, and the shares of ghosts
// if they are no page. Links count as the lists have them, those from a page to itself too.
//
// parts is the partitions of this machine, by ascending ranges; the others are behind the exchange.
// Scores are the same bits for any number of workers. On other numbers of machines they may differ
// by rounding. When the call returns, its goroutines have ended.
func PageRank(ctx context.Context, parts []Partition, o Options) (*Result, error) {
	j, err := newJob(ctx, parts, o)
	if err != nil {
		return nil, fmt.Errorf("rank: PageRank: %w", err)
	}
	if err = j.run(); err != nil {
		return nil, fmt.Errorf("rank: PageRank: round %d: %w", j.round.Number+1, err)
	}
	scores := make([][]float64, len(j.parts))
	for i, p := range j.parts {
		scores[i] = p.scores
	}
	return &Result{Round: j.round, Converged: j.converged(), Scores: scores}, nil
}
