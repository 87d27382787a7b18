// This file holds PageRank over the partitions of a graph.

package rank

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/processors"
)

// What can be wrong with a job. Test with errors.Is.
var (
	// ErrGraph is wrapped where partitions do not fit together.
	ErrGraph = errors.New("not a graph")
	// ErrExchange is wrapped where the machines of a job do not fit together, or
	// one of them is lost: the job has no result, and can be resumed.
	ErrExchange = errors.New("the machines of a job have lost each other")
	// ErrState is wrapped where a job cannot be resumed from what it is given.
	ErrState = errors.New("not the state of this job")
)

// The defaults of [Options].
const (
	DefaultDamping   = 0.85
	DefaultTolerance = 1e-8
	DefaultMaxRounds = 200
)

// Options of a PageRank. The zero value is ready for use.
type Options struct {
	// Damping is the probability to follow a link, in (0,1); 0 means 0.85.
	Damping float64
	// Tolerance ends the job: when a round changes the scores by no more, as the
	// sum of all pages' changes. The distance from the limit is then at most
	// Damping/(1-Damping) times as much. 0 means 1e-8.
	Tolerance float64
	// MaxRounds ends the job without convergence. 0 means 200: with the
	// defaults of the others each job converges before.
	MaxRounds int
	// Workers is how many partitions are worked on at once. 0 means as many as
	// there are processors. Scores do not depend on it.
	Workers int
	// CopyBytes is how much memory copies of decoded links may take, some 5 bytes
	// a link, during the job. Partitions whose copies have room are read once;
	// then a round goes through arrays, which is some twice as fast as to decode
	// lists again. 0 means no copies. Scores do not depend on it.
	CopyBytes int64
	// Graph names the graph, such as by its epoch, in states: a job is not
	// resumed on another.
	Graph uint64
	// Progress is called after each round, if it is set.
	Progress func(Round)
	// Checkpoint is called after each CheckpointRounds rounds (0 means 10), if it
	// is set, with the states of the own partitions, which it may read and
	// not keep. An error of it ends the job.
	Checkpoint       func([]State) error
	CheckpointRounds int
	// Resume is the states of the own partitions to go on from, all of one
	// round, see [LatestCommon]. Empty means to begin.
	Resume []*State
	// Exchange reaches the partitions that are worked on by other machines. It
	// may be nil if there are none.
	Exchange Exchange
}

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case !(o.Damping >= 0 && o.Damping < 1):
		return fmt.Errorf("damping is %v: it must be between 0 and 1", o.Damping)
	case !(o.Tolerance >= 0):
		return fmt.Errorf("tolerance is %v: it must be above 0", o.Tolerance)
	case o.MaxRounds < 0 || o.CheckpointRounds < 0 || o.Workers < 0 || o.CopyBytes < 0:
		return fmt.Errorf("%d rounds, %d rounds between checkpoints, %d workers or %d bytes: none may be negative", o.MaxRounds, o.CheckpointRounds, o.Workers, o.CopyBytes)
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
	if o.CheckpointRounds == 0 {
		o.CheckpointRounds = 10
	}
	if o.Workers == 0 {
		o.Workers = processors.Count()
	}
	return o
}

// Round is what is known after a round.
type Round struct {
	Number int     // from 1 on
	Change float64 // of the scores of all partitions, L1
	Links  int64   // of the own partitions
}

// Result is the scores when a job has ended.
type Result struct {
	Round
	Converged bool
	// Scores are by own partition in ascending order, and by page. Those of
	// all partitions sum up to 1.
	Scores [][]float64
}

// PageRank computes the scores of the pages of a graph in partitions (Brin and
// Page 1998): the limit of
//
//	score(p) = (1-d)/n + d * (lost/n + sum over links q->p of score(q)/links(q))
//
// where n is the number of pages and lost the scores of pages without links,
// and what goes to ghosts that are no page. Links count as the lists have them,
// those from a page to itself too.
//
// pages is the number of pages of each partition, own the partitions that
// this call works on, by their numbers. Without an exchange these must be all.
// Scores are the same bits however partitions are shared out to machines and
// workers. The goroutines of the call have ended when it returns.
func PageRank(ctx context.Context, pages []int, own map[int]Partition, o Options) (*Result, error) {
	j, err := newJob(ctx, pages, own, o)
	if err != nil {
		return nil, fmt.Errorf("rank: PageRank: %w", err)
	}
	if err := j.run(); err != nil {
		return nil, fmt.Errorf("rank: PageRank: round %d: %w", j.round.Number+1, err)
	}
	return &Result{Round: j.round, Converged: j.converged(), Scores: j.scores()}, nil
}
