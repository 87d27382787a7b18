// PageRank as a job.

package links

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// ranks is the job of PageRank, and the scores of the last one that ended well.
type ranks struct {
	mu     sync.Mutex
	job    *links.PageRankJob // nil: there was none
	begun  time.Time
	cancel context.CancelCauseFunc // of the job that runs, nil where none does
	scores *scores
}

func (r *ranks) init() {}

// scores are those of the pages of some cells.
type scores struct {
	cells  []*cell.Cell // by range
	of     [][]float64  // by cell and ordinal
	result rank.Round
	done   bool // converged
}

// get returns the score of a page; false for one that is not known.
func (s *scores) get(u uid.UID) (float64, bool) {
	i := sort.Search(len(s.cells)-1, func(i int) bool { return s.cells[i].Range().Last >= u })
	ord, ok := s.cells[i].Ordinal(u)
	if !ok {
		return 0, false
	}
	return s.of[i][ord], true
}

// rank ranks pages by their scores. Pages that are not known have none and come last.
func (r *ranks) rank(request links.RankRequest) (ranking links.Ranking, err error) {
	r.mu.Lock()
	s := r.scores
	r.mu.Unlock()
	if s == nil {
		return ranking, fmt.Errorf("%w of PageRank that has ended: start one first", links.ErrNoJob)
	}
	ranking.Rounds, ranking.Converged = s.result.Number, s.done
	if request.All {
		for _, top := range rank.TopPages(topOf(request.Top), s.of) {
			ranking.Authorities = append(ranking.Authorities, rank.Scored{UID: s.cells[top.Partition].UID(top.Page), Score: top.Score})
		}
		return ranking, nil
	}
	values := make([]float64, len(request.Pages))
	for i, u := range request.Pages {
		values[i], _ = s.get(u)
	}
	ranking.Authorities = rank.Top(topOf(request.Top), request.Pages, values)
	return ranking, nil
}

// topOf is how many are the top: all where that is 0.
func topOf(n int) int {
	if n == 0 {
		return math.MaxInt32
	}
	return n
}

// partition is a cell as rank.PageRank takes it.
type partition struct {
	cell   *cell.Cell
	cells  []*cell.Cell
	ghosts *cell.Ghosts
}

// Pages implements rank.Partition.
func (p *partition) Pages() int { return p.cell.Len() }

// Ghosts implements rank.Partition.
func (p *partition) Ghosts() int { return p.ghosts.Len() }

// Locate implements rank.Partition.
func (p *partition) Locate(ghost uint32) (rank.Address, bool) {
	u := p.ghosts.UID(ghost)
	i := sort.Search(len(p.cells)-1, func(i int) bool { return p.cells[i].Range().Last >= u })
	ord, ok := p.cells[i].Ordinal(u)
	return rank.Address{Partition: uint32(i), Page: ord}, ok
}

// Scan implements rank.Partition.
func (p *partition) Scan(yield func(page uint32, locals, ghosts []uint32) bool) error {
	scanner := p.cell.Lists(cell.Forward).Scan(0, uint32(p.cell.Len()))
	for scanner.Next() {
		if !yield(scanner.Key(), scanner.Locals(), scanner.Ghosts()) {
			return nil
		}
	}
	return scanner.Err()
}

// errStopped ends a job that is not wanted any more.
var errStopped = errors.New("stopped")

// StartPageRank implements links.Graph.
func (g *Graph) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	options := rank.Options{Damping: o.Damping, Tolerance: o.Tolerance, MaxRounds: o.MaxRounds, Workers: g.o.Workers}
	if err := options.Validate(); err != nil {
		return fmt.Errorf("%w: %w", links.ErrInvalid, err)
	}
	if _, err := g.now(ctx); err != nil {
		return err
	}
	r := &g.ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		return links.ErrBusy
	}
	running, cancel := context.WithCancelCause(g.ctx)
	r.cancel, r.begun = cancel, time.Now()
	r.job = &links.PageRankJob{State: "running"}
	g.running.Go(func() {
		defer cancel(nil)
		err := g.runPageRank(running, options, o.Store)
		r.end(err)
		if err != nil && g.ctx.Err() == nil {
			g.log.Error("PageRank ended", "error", err)
		}
	})
	return nil
}

// end notes how the job ended.
func (r *ranks) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
	r.job.Seconds = time.Since(r.begun).Seconds()
	switch {
	case err == nil:
		r.job.State = "done"
	case errors.Is(err, errStopped):
		r.job.State = "stopped"
	default:
		r.job.State, r.job.Error = "failed", err.Error()
	}
}

// PageRank implements links.Graph.
func (g *Graph) PageRank(ctx context.Context) (links.PageRankJob, error) {
	r := &g.ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job == nil {
		return links.PageRankJob{}, links.ErrNoJob
	}
	job := *r.job
	if r.cancel != nil {
		job.Seconds = time.Since(r.begun).Seconds()
	}
	return job, ctx.Err()
}

// StopPageRank implements links.Graph.
func (g *Graph) StopPageRank(ctx context.Context) error {
	r := &g.ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil {
		return links.ErrNoJob
	}
	r.cancel(errStopped)
	return ctx.Err()
}

// runPageRank computes the scores of the graph as it is now, from cells that have
// taken in all changes.
func (g *Graph) runPageRank(ctx context.Context, o rank.Options, store bool) error {
	var cells []*cell.Cell
	var epoch uint64
	err := g.ask(ctx, func(k *keeper) (err error) {
		cells, err = k.settle()
		epoch = k.feed
		return err
	})
	if err != nil {
		return err
	}
	r := &g.ranks
	pages := make([]int, len(cells))
	own := map[int]rank.Partition{}
	r.mu.Lock()
	r.job.Epoch = epoch
	for i, c := range cells {
		pages[i] = c.Len()
		own[i] = &partition{c, cells, c.Ghosts(cell.Forward)}
		r.job.Pages += int64(c.Len())
		r.job.Links += c.NumLinks(cell.Forward)
	}
	r.mu.Unlock()
	o.Progress = func(round rank.Round) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.job.Round, r.job.Change = round.Number, round.Change
	}
	result, err := rank.PageRank(ctx, pages, own, o)
	if err != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	found := &scores{cells: cells, of: result.Scores, result: result.Round, done: result.Converged}
	r.mu.Lock()
	r.job.Round, r.job.Change, r.job.Converged = result.Number, result.Change, result.Converged
	r.scores = found
	if store {
		r.job.State = "storing"
	}
	r.mu.Unlock()
	if !store {
		return nil
	}
	return g.storeScores(ctx, found)
}

// storeScores notes the scores on the triples of UIDs.
func (g *Graph) storeScores(ctx context.Context, s *scores) error {
	type scored struct {
		url   string
		uid   uid.UID
		score float64
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan scored)
	var group sync.WaitGroup
	for range labelsAtOnce {
		group.Go(func() {
			for p := range work {
				text := strconv.AppendFloat(nil, p.score, 'g', -1, 64)
				if err := g.store.Annotate(ctx, links.UIDTriple(p.url, p.uid), links.PageRankApplication, text); err != nil {
					cancel(fmt.Errorf("note the score of %s: %w", p.url, err))
					continue
				}
				g.ranks.mu.Lock()
				g.ranks.job.Stored++
				g.ranks.mu.Unlock()
			}
		})
	}
	var url []byte
	for i, c := range s.cells {
		for ord := range uint32(c.Len()) {
			if ctx.Err() != nil {
				break
			}
			url = c.AppendURL(url[:0], ord)
			work <- scored{string(url), c.UID(ord), s.of[i][ord]}
		}
	}
	close(work)
	group.Wait()
	return context.Cause(ctx)
}
