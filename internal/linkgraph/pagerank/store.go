// Storing the scores of a PageRank as annotations.

package pagerank

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// startStoring starts to write the scores as annotations, unless it runs.
func (c *Coordinator) startStoring() {
	r := &c.Ranker.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.storing != nil || r.record.Job.State != StateStoring || c.Context.Err() != nil || r.scores == nil || !r.scored.Begun.Equal(r.record.Begun) {
		return
	}
	if r.reopened {
		c.Log.Info("PageRank goes on storing its scores")
	}
	ctx, cancel := context.WithCancelCause(c.Context)
	r.storing, r.stored = cancel, 0
	record, s := r.record, r.scores
	c.Running.Go(func() {
		defer cancel(nil)
		// 1. The file has the number of stored scores before anybody sees that the job is done.
		err := c.storeScores(ctx, s)
		if err == nil {
			r.mu.Lock()
			done := r.scored
			done.Job.Stored = r.stored
			r.mu.Unlock()
			c.Ranker.writeScores(s, done)
		}
		// 2. If a machine is down, the coordinator starts it again.
		c.changeJob(&record, func(j *jobRecord) {
			switch {
			case err == nil:
				j.Job.State, j.Job.Stored, j.Scored.Job.Stored = StateDone, c.Ranker.Ranks.stored, c.Ranker.Ranks.stored
			case ctx.Err() == nil && !machine.MayPass(err):
				j.Job.State, j.Job.Error = StateFailed, err.Error()
			}
		})
		r.mu.Lock()
		r.storing = nil
		r.mu.Unlock()
		c.Ranker.Ranks.wake.Send()
	})
}

// storeScores writes the scores as annotations of the triples of UIDs.
func (c *Coordinator) storeScores(ctx context.Context, s *Scores) error {
	type scored struct {
		url   string
		uid   uid.UID
		score float64
	}
	// 1. Many goroutines write, because annotations that wait share a commit.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan scored)
	var group sync.WaitGroup
	for range labelsAtOnce {
		group.Go(func() {
			for p := range work {
				text := strconv.AppendFloat(nil, p.score, 'g', -1, 64)
				// After an error the workers drain the channel, so that the sender never
				// blocks.
				if err := store.Annotate(ctx, c.Node, links.UIDTriple(p.url, p.uid), links.PageRankApplication, text); err != nil {
					cancel(fmt.Errorf("note the score of %s: %w", p.url, err))
					continue
				}
				c.Ranker.Ranks.mu.Lock()
				c.Ranker.Ranks.stored++
				c.Ranker.Ranks.mu.Unlock()
			}
		})
	}
	// 2. Resolve the URLs in batches. After an error the rest is skipped.
	for some, scores := range s.Batches() {
		urls, err := c.urlsOf(ctx, some)
		if err != nil {
			cancel(err)
			break
		}
		for i, url := range urls {
			if url != "" && ctx.Err() == nil { // a page may be deleted already
				work <- scored{url, some[i], scores[i]}
			}
		}
	}
	close(work)
	group.Wait()
	return context.Cause(ctx)
}

// urlsOf returns the URLs of pages, when the graph is loaded.
func (c *Coordinator) urlsOf(ctx context.Context, pages []uid.UID) ([]string, error) {
	for {
		urls, err := c.Reader.URLs(ctx, pages)
		if !errors.Is(err, links.ErrLoading) {
			return urls, err
		}
		// The keeper runs this when it has made progress.
		if err := c.Keeper.InKeeper(ctx, func(*keep.Keeper) error { return nil }); err != nil {
			return nil, err
		}
	}
}

// labelsAtOnce is the number of scores that are written concurrently.
const labelsAtOnce = 256
