// The scores of a PageRank on all machines.

package pagerank

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/trie"
)

// gather collects the scores of the machines of a term.
func (c *Coordinator) gather(ctx context.Context, record *jobRecord, answers map[trie.MachineID]*jobAnswer) error {
	// 1. The figures are those of the whole job.
	c.changeJob(record, func(r *jobRecord) {
		r.takeProgress(answers)
		*record = *r
	})
	// 2. Copy the scores of all machines.
	all := &Scores{}
	for _, m := range slices.Compact(slices.Sorted(slices.Values(record.Machines))) {
		s, err := c.Ranker.termScores(ctx, m, record)
		if err != nil {
			return fmt.Errorf("get the scores of machine %s: %w", m, err)
		}
		all.merge(s)
	}
	if all.count() != record.Job.Pages {
		return fmt.Errorf("%d scores of %d pages", all.count(), record.Job.Pages)
	}
	c.Ranker.keepScores(scoredJob{record.Begun, record.Options, record.Job}, all)
	c.changeJob(record, func(r *jobRecord) { r.Gathered = true })
	return nil
}

// termScores returns the scores that a machine has computed in the term.
func (rk *Ranker) termScores(ctx context.Context, m trie.MachineID, record *jobRecord) (*Scores, error) {
	if m != rk.Node.MachineID() {
		return rk.fetchScores(ctx, m, record.Begun, record.Term)
	}
	rk.Ranks.mu.Lock()
	defer rk.Ranks.mu.Unlock()
	if t := rk.Ranks.term; t != nil && t.number == record.Term && t.result != nil {
		return t.result, nil
	}
	return nil, errStopped
}

// collect waits until all members have the scores. Then the job has ended, but for storing.
func (c *Coordinator) collect(record *jobRecord, have []trie.MachineID, answers map[trie.MachineID]*jobAnswer) (time.Duration, error) {
	switch self := c.Node.MachineID(); {
	case !slices.Contains(have, self):
		if !record.Gathered {
			c.changeJob(record, func(r *jobRecord) { r.Gathered = true })
		}
		return 0, nil // it copies them first
	case len(have) < len(answers):
		return jobInterval, nil
	}
	// The file is written before anybody sees that the job is done.
	done := scoredJob{record.Begun, record.Options, record.Job}
	done.Job.State, done.Job.Error = StateDone, ""
	c.Ranker.Ranks.mu.Lock()
	s := c.Ranker.Ranks.next
	c.Ranker.Ranks.mu.Unlock()
	if s != nil {
		c.Ranker.writeScores(s, done)
	}
	c.changeJob(record, func(r *jobRecord) {
		r.Scored, r.Job.State = done, StateDone
		if r.Options.Store {
			r.Job.State = StateStoring
		}
	})
	return 0, nil
}

// lacksScores reports whether this machine must copy scores.
func (rk *Ranker) lacksScores() bool {
	rk.Ranks.mu.Lock()
	defer rk.Ranks.mu.Unlock()
	return !rk.Ranks.missingJob().Begun.IsZero()
}

// missingJob returns the job whose scores must be copied, if there is one. The lock must be held.
func (r *ranks) missingJob() scoredJob {
	switch {
	case r.record.Job.State == stateRunning && r.record.Gathered && r.next == nil && !r.scored.Begun.Equal(r.record.Begun):
		return scoredJob{r.record.Begun, r.record.Options, r.record.Job}
	case r.scored.Begun.Before(r.record.Scored.Begun):
		return r.record.Scored
	}
	return scoredJob{}
}

// copyScores copies scores that this machine lacks from another one.
func (rk *Ranker) copyScores(ctx context.Context, members []trie.MachineID) error {
	rk.Ranks.mu.Lock()
	job := rk.Ranks.missingJob()
	rk.Ranks.mu.Unlock()
	err := errors.New("no other machine has the scores of PageRank")
	for _, m := range members {
		if m == rk.Node.MachineID() {
			continue
		}
		s, failed := rk.fetchScores(ctx, m, job.Begun, 0)
		if failed == nil {
			rk.keepScores(job, s)
			return nil
		}
		err = failed
	}
	return err
}

// keepScores takes the scores of a job that has computed them. Users see them when all members have
// them.
func (rk *Ranker) keepScores(job scoredJob, s *Scores) {
	s.result = rank.Round{Number: job.Job.Round, Change: job.Job.Change, Links: job.Job.Links}
	s.done = job.Job.Converged
	r := &rk.Ranks
	r.mu.Lock()
	switch {
	case r.record.Begun.Equal(job.Begun) && r.record.Job.State == stateRunning:
		r.next = s
	case r.record.Scored.Begun.Equal(job.Begun):
		r.scores, r.scored = s, r.record.Scored
	}
	r.mu.Unlock()
	rk.saveJob()
	rk.Ranks.wake.Send()
}
