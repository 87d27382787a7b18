// Package pagerank runs PageRank as a job of one member, which reads all links once.
//
// StartPageRank reads all pages and links into the memory of this machine (web), and ranks them
// with package rank. The scores stay in memory for Rank. If the job requests it, they are
// stored as annotations of the UIDs' triples.
package pagerank

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// jobState is the PageRank job that was started on this member, and the scores of the last one
// that succeeded.
type jobState struct {
	mu     sync.Mutex
	job    *links.PageRankJob
	begun  time.Time
	cancel context.CancelCauseFunc // of the running job, nil if there is none
	scores *scores
}

// scores are the scores of pages, by UID.
type scores struct {
	uids          []uid.UID
	of            []float64
	result        rank.Round
	converged     bool
	maxOut, maxIn int
}

// get returns the score of a page, 0 if it is not known.
func (s *scores) get(u uid.UID) float64 {
	if i, ok := slices.BinarySearch(s.uids, u); ok {
		return s.of[i]
	}
	return 0
}

// Degrees returns the greatest degrees of the last job, -1 if there was none.
func (r *jobState) Degrees() (out, in int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scores == nil {
		return -1, -1
	}
	return r.scores.maxOut, r.scores.maxIn
}

// Rank returns the scores of the last job. It fails with links.ErrNoJob if there was none.
func (r *jobState) Rank(request links.RankRequest) (ranked links.Ranking, err error) {
	r.mu.Lock()
	s := r.scores
	r.mu.Unlock()
	if s == nil {
		return ranked, fmt.Errorf("%w of PageRank on this member that has ended: start one here first", links.ErrNoJob)
	}
	ranked.Rounds, ranked.Converged = s.result.Number, s.converged
	top := request.Top
	if top == 0 {
		top = math.MaxInt32
	}
	pages := s.uids
	values := s.of
	if !request.All {
		pages, values = request.Pages, make([]float64, len(request.Pages))
		for i, u := range pages {
			values[i] = s.get(u)
		}
	}
	ranked.Authorities = rank.Top(top, pages, values)
	return ranked, nil
}

var errStopped = errors.New("stopped")

// StartPageRank implements links.Graph.
func (g *Ranker) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	options := rank.Options{Damping: o.Damping, Tolerance: o.Tolerance, MaxRounds: o.MaxRounds}
	if err := options.Validate(); err != nil {
		return fmt.Errorf("%w: %w", links.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// Only one job may run. It ends with the graph, and not with ctx, because the call returns
	// at once.
	r := &g.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		return links.ErrBusy
	}
	running, cancel := context.WithCancelCause(g.Ctx)
	r.cancel, r.begun = cancel, time.Now()
	r.job = &links.PageRankJob{State: "running"}
	g.running.Go(func() {
		defer cancel(nil)
		r.end(g.runPageRank(running, options, o.Store))
	})
	return nil
}

// end records how the job ended.
func (r *jobState) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
	r.job.Seconds = time.Since(r.begun).Seconds()
	switch {
	case err == nil:
		r.job.State = "done"
	case errors.Is(err, errStopped) || errors.Is(err, rowreader.ErrClosed):
		r.job.State = "stopped"
	default:
		r.job.State, r.job.Error = "failed", err.Error()
	}
}

// PageRank implements links.Graph.
func (g *Ranker) PageRank(ctx context.Context) (links.PageRankJob, error) {
	r := &g.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job == nil {
		return links.PageRankJob{}, fmt.Errorf("%w of PageRank on this member", links.ErrNoJob)
	}
	job := *r.job
	if r.cancel != nil {
		job.Seconds = time.Since(r.begun).Seconds()
	}
	return job, ctx.Err()
}

// StopPageRank implements links.Graph.
func (g *Ranker) StopPageRank(ctx context.Context) error {
	r := &g.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job == nil {
		return fmt.Errorf("%w of PageRank on this member", links.ErrNoJob)
	}
	if r.cancel != nil {
		r.cancel(errStopped)
	}
	return ctx.Err()
}

func (r *jobState) update(do func(*links.PageRankJob)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(r.job)
}

// runPageRank reads the links, ranks the pages, and stores the scores if store is set.
func (g *Ranker) runPageRank(ctx context.Context, o rank.Options, store bool) error {
	// 1. Read all links.
	w, err := g.readWeb(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	r := &g.Ranks
	r.update(func(j *links.PageRankJob) { j.Pages, j.Links = int64(len(w.uids)), int64(len(w.sources)) })
	// 2. Rank. One partition has all pages.
	o.Progress = func(round rank.Round) {
		r.update(func(j *links.PageRankJob) { j.Round, j.Change = round.Number, round.Change })
	}
	result, err := rank.PageRank(ctx, []int{len(w.uids)}, map[int]rank.Partition{0: w}, o)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	// 3. Publish the scores before they are stored: Rank may use them at once.
	s := &scores{uids: w.uids, of: result.Scores[0], result: result.Round, converged: result.Converged}
	s.maxOut, s.maxIn = w.maxDegrees()
	r.mu.Lock()
	r.scores = s
	r.job.Converged = result.Converged
	r.mu.Unlock()
	if !store {
		return nil
	}
	r.update(func(j *links.PageRankJob) { j.State = "storing" })
	return g.storeScores(ctx, w, s)
}

// maxStoring is the number of scores that are written concurrently.
const maxStoring = 256

// storeScores writes the scores as annotations of the triples of UIDs.
func (g *Ranker) storeScores(ctx context.Context, w *web, s *scores) error {
	return g.Read(ctx, func(r *rowreader.Reader) error {
		// Parts bound the URLs that are held.
		const part = 1 << 12
		for from := 0; from < len(s.uids); from += part {
			pages := s.uids[from:min(from+part, len(s.uids))]
			urls, err := g.uids.LookUpURLs(ctx, r, pages)
			if err != nil {
				return err
			}
			// A page may be deleted meanwhile, so a missing triple is no error.
			err = ownership.Parallel(ctx, len(pages), maxStoring, func(ctx context.Context, i int) error {
				if urls[i] == "" {
					return nil // it was deleted meanwhile
				}
				score := strconv.AppendFloat(nil, s.of[from+i], 'g', -1, 64)
				err := g.Store.Annotate(ctx, links.UIDTriple(urls[i], pages[i]), links.PageRankApplication, score)
				if errors.Is(err, store.ErrNotFound) {
					return nil // likewise
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("store scores: %w", err)
			}
			g.Ranks.update(func(j *links.PageRankJob) { j.Stored += int64(len(pages)) })
		}
		return nil
	})
}

// Ranker runs PageRank jobs.
type Ranker struct {
	*rowreader.Readers
	uids      *assign.Assigner
	rankBytes int64 // Options.RankBytes
	running   *sync.WaitGroup
	Ranks     jobState
}

// New returns a Ranker. Jobs count in running, so the caller can wait for them.
func New(r *rowreader.Readers, uids *assign.Assigner, rankBytes int64, running *sync.WaitGroup) *Ranker {
	return &Ranker{Readers: r, uids: uids, rankBytes: rankBytes, running: running}
}
