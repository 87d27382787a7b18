// PageRank as a job of one machine.

package linkgraph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// ranks is the PageRank job, and the scores of the last one that succeeded.
type ranks struct {
	opened sync.Once // the files of the last process were read
	mu     sync.Mutex
	job    *links.PageRankJob      // nil if there was none
	begun  time.Time               // now minus its running time, restarts left out
	cancel context.CancelCauseFunc // of the running job, nil if there is none
	scores *scores

	// Both are for tests. The job calls afterRound after each round.
	afterRound func(rank.Round)
	everyRound bool // writes a checkpoint
}

// The states of a job.
const (
	stateRunning = "running"
	stateStoring = "storing"
	stateDone    = "done"
	stateStopped = "stopped"
	stateFailed  = "failed"
)

// rank ranks pages by their scores. If a page is not known, it has no score and comes last.
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
			ranking.Authorities = append(ranking.Authorities, rank.Scored{UID: uid.UID(s.uids[top.Partition].At(int(top.Page))), Score: top.Score})
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

// topOf returns the number of pages of a top list: all if n is 0.
func topOf(n int) int {
	if n == 0 {
		return math.MaxInt32
	}
	return n
}

// partition is a cell as a partition of rank.PageRank.
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

// errStopped ends a job that was stopped.
var errStopped = errors.New("stopped")

const (
	// checkpointEvery is the interval at which the state of a job is written. Writing takes at
	// most one part in checkpointShare of its time.
	checkpointEvery = 10 * time.Second
	checkpointShare = 20
)

// pageRankRun is a running job. It outlives a restart: see pagerank_checkpoint.go.
type pageRankRun struct {
	g       *Graph
	options links.PageRankOptions
	begun   time.Time     // identifies the job
	resume  []*rank.State // the states from which it continues, if any
	scores  *scores       // to store; nil if they must be computed first
	next    time.Time     // the time of the next checkpoint

	ctx    context.Context
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	rounds bool // the job is in its rounds, and has done one
}

// StartPageRank implements links.Graph.
func (g *Graph) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	run := &pageRankRun{g: g, options: o, begun: time.Now()}
	if err := run.rankOptions().Validate(); err != nil {
		return fmt.Errorf("%w: %w", links.ErrInvalid, err)
	}
	if _, err := g.current(ctx); err != nil {
		return err
	}
	g.openRanks()
	g.ranks.mu.Lock()
	defer g.ranks.mu.Unlock()
	if g.ranks.cancel != nil {
		return links.ErrBusy
	}
	run.start(links.PageRankJob{State: stateRunning})
	return nil
}

func (r *pageRankRun) rankOptions() rank.Options {
	return rank.Options{Damping: r.options.Damping, Tolerance: r.options.Tolerance, MaxRounds: r.options.MaxRounds, Workers: r.g.o.Workers, CopyBytes: r.g.o.BuildBytes}
}

func (r *pageRankRun) damping() float64 {
	if r.options.Damping == 0 {
		return rank.DefaultDamping
	}
	return r.options.Damping
}

// start starts the goroutine of a job. The caller must hold the lock of ranks.
func (r *pageRankRun) start(job links.PageRankJob) {
	// If the graph is closed, the job must not end in the middle of a round.
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(r.g.ctx))
	r.g.ranks.job, r.g.ranks.cancel = &job, r.cancel
	r.g.ranks.begun = time.Now().Add(-time.Duration(job.Seconds * float64(time.Second)))
	r.g.running.Go(func() {
		defer r.cancel(nil)
		defer context.AfterFunc(r.g.ctx, r.close)()
		err := r.run()
		if errors.Is(err, errStopped) || !errors.Is(err, errClosed) {
			r.g.removeSaved(jobFile)
		}
		r.g.ranks.end(err)
		if err != nil && r.g.ctx.Err() == nil {
			r.g.log.Error("PageRank ended", "error", err)
		}
	})
}

// close ends the job because the graph is being closed: after the current round, when the state
// is written, or at once if there is no such state.
func (r *pageRankRun) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.rounds {
		r.cancel(errClosed)
	}
}

// atRounds records whether the job is in its rounds, and reports whether the graph is being
// closed.
func (r *pageRankRun) atRounds(are bool) (closing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rounds = are
	return r.g.ctx.Err() != nil
}

// end records how the job ended.
func (r *ranks) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
	r.job.Seconds = time.Since(r.begun).Seconds()
	switch {
	case err == nil:
		r.job.State = stateDone
	case errors.Is(err, errStopped), errors.Is(err, errClosed):
		r.job.State = stateStopped
	default:
		r.job.State, r.job.Error = stateFailed, err.Error()
	}
}

// PageRank implements links.Graph.
func (g *Graph) PageRank(ctx context.Context) (links.PageRankJob, error) {
	g.openRanks()
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
	g.openRanks()
	r := &g.ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel == nil {
		return links.ErrNoJob
	}
	r.cancel(errStopped)
	return ctx.Err()
}

// run computes the scores of the present graph, from cells that have taken in all changes. It
// stores them if the options request it.
func (r *pageRankRun) run() error {
	// 1. A job that was storing continues there.
	if r.scores != nil {
		r.g.log.Info("PageRank goes on storing its scores")
		return r.storeScores()
	}
	// 2. Get cells without changes.
	cells, epoch, err := r.g.allCells(r.ctx)
	if err != nil {
		return err
	}
	// 3. Continue from saved states only if the graph is still the same.
	graph := r.g.fingerprint(cells, epoch)
	if len(r.resume) > 0 && r.resume[0].Graph == graph {
		r.g.log.Info("PageRank goes on", "round", r.resume[0].Round)
	} else {
		r.begin(cells, epoch)
	}
	result, err := r.compute(cells, graph)
	// If the states do not fit, start again without them.
	if errors.Is(err, rank.ErrState) {
		r.begin(cells, epoch)
		result, err = r.compute(cells, graph)
	}
	if err != nil {
		return errors.Join(context.Cause(r.ctx), err)
	}
	// 4. Publish and store the scores.
	if r.scores, err = scoresOf(cells, result, graph); err != nil {
		return err
	}
	return r.finish()
}

// allCells returns the cells of all partitions, with all changes. This machine builds those that it
// holds, and copies the others for the time of the job.
func (g *Graph) allCells(ctx context.Context) (cells []*cell.Cell, epoch uint64, err error) {
	// 1. Let the keeper build cells without changes.
	s, err := g.caughtUp(ctx)
	if err != nil {
		return nil, 0, err
	}
	var held partitionSet
	err = g.inKeeper(ctx, func(k *keeper) (err error) {
		cells, err = k.settle()
		epoch = k.epochOf(&state{at: k.at, changes: k.changes})
		for _, c := range cells {
			held = held.with(partitionOf(c.Range().First))
		}
		return err
	})
	if err != nil || held == allPartitions {
		return cells, epoch, err
	}
	// 2. Copy the rest.
	for i := range (allPartitions &^ held).all() {
		parts, err := g.copyAny(ctx, i, s.at)
		if err != nil {
			return nil, 0, err
		}
		for _, p := range parts {
			c := p.delta.View().Cell()
			if len(p.delta.View().Rows()) > 0 {
				data, _, err := p.delta.View().Build(g.cellOptions(p.Range, 1))
				if err == nil {
					c, err = cell.Open(data)
				}
				if err != nil {
					return nil, 0, err
				}
			}
			cells = append(cells, c)
		}
	}
	slices.SortFunc(cells, func(a, b *cell.Cell) int { return cmp.Compare(a.Range().First, b.Range().First) })
	return cells, epoch, nil
}

// copyAny copies a partition from any machine that has it.
func (g *Graph) copyAny(ctx context.Context, partition int, since feed.Position) ([]*part, error) {
	for tries := 1; ; tries++ {
		v := g.node.View()
		if v == nil {
			return nil, store.ErrUnavailable
		}
		err := error(store.ErrUnavailable)
		if m := g.directory.answererOf(g.placementOf(v), partition); m != 0 && m != g.node.MachineID() {
			var parts []*part
			if parts, _, err = g.fetch(ctx, m, partition, since); err == nil || !mayPass(err) {
				return parts, err
			}
		}
		if err := g.waitRetry(ctx, tries, err); err != nil {
			return nil, err
		}
	}
}

// begin starts a job without saved rounds.
func (r *pageRankRun) begin(cells []*cell.Cell, epoch uint64) {
	if len(r.resume) > 0 {
		r.g.log.Info("PageRank begins anew, as links have changed", "round", r.resume[0].Round, "epoch", epoch)
		r.resume = nil
	}
	job := links.PageRankJob{State: stateRunning, Epoch: epoch}
	for _, c := range cells {
		job.Pages += int64(c.Len())
		job.Links += c.NumLinks(cell.Forward)
	}
	r.g.ranks.mu.Lock()
	*r.g.ranks.job = job
	r.g.ranks.mu.Unlock()
	r.writeJob(stateRunning, nil)
}

// compute runs the rounds.
func (r *pageRankRun) compute(cells []*cell.Cell, graph uint64) (*rank.Result, error) {
	// 1. Each cell is a partition.
	pages := make([]int, len(cells))
	own := map[int]rank.Partition{}
	for i, c := range cells {
		pages[i] = c.Len()
		own[i] = &partition{c, cells, c.Ghosts(cell.Forward)}
	}
	o := r.rankOptions()
	o.Graph, o.Resume, o.CheckpointRounds = graph, r.resume, 1
	// 2. After each round, publish the progress.
	o.Progress = func(round rank.Round) {
		r.g.ranks.mu.Lock()
		r.g.ranks.job.Round, r.g.ranks.job.Change = round.Number, round.Change
		r.g.ranks.mu.Unlock()
		if r.g.ranks.afterRound != nil {
			r.g.ranks.afterRound(round)
		}
	}
	// 3. A checkpoint is written in intervals, and before the graph is closed.
	o.Checkpoint = func(states []rank.State) error {
		closing := r.atRounds(true)
		if closing || r.g.ranks.everyRound || !time.Now().Before(r.next) {
			r.writeJob(stateRunning, states)
		}
		if closing {
			return errClosed
		}
		return nil
	}
	result, err := rank.PageRank(r.ctx, pages, own, o)
	if r.atRounds(false) {
		r.cancel(errClosed)
	}
	return result, err
}

// finish publishes the scores, and stores them if the options request it.
func (r *pageRankRun) finish() error {
	r.g.ranks.mu.Lock()
	job := r.g.ranks.job
	job.Round, job.Change, job.Converged = r.scores.result.Number, r.scores.result.Change, r.scores.done
	r.g.ranks.scores = r.scores
	if r.options.Store {
		job.State = stateStoring
	}
	r.g.ranks.mu.Unlock()
	r.writeScores()
	if !r.options.Store {
		return nil
	}
	r.writeJob(stateStoring, nil)
	return r.storeScores()
}

// urls returns the URLs of pages, when the graph is loaded.
func (r *pageRankRun) urls(ctx context.Context, pages []uid.UID) ([]string, error) {
	for {
		urls, err := r.g.URLs(ctx, pages)
		if !errors.Is(err, links.ErrLoading) {
			return urls, err
		}
		// The keeper runs this when it has made progress.
		if err := r.g.inKeeper(ctx, func(*keeper) error { return nil }); err != nil {
			return nil, err
		}
	}
}

// storeScores writes the scores as annotations of the triples of UIDs.
func (r *pageRankRun) storeScores() error {
	type scored struct {
		url   string
		uid   uid.UID
		score float64
	}
	// 1. Many goroutines write, because annotations that wait share a commit.
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	work := make(chan scored)
	var group sync.WaitGroup
	for range labelsAtOnce {
		group.Go(func() {
			for p := range work {
				text := strconv.AppendFloat(nil, p.score, 'g', -1, 64)
				// After an error the workers drain the channel, so that the sender never
				// blocks.
				if err := r.g.node.Annotate(ctx, links.UIDTriple(p.url, p.uid), links.PageRankApplication, text); err != nil {
					cancel(fmt.Errorf("note the score of %s: %w", p.url, err))
					continue
				}
				r.g.ranks.mu.Lock()
				r.g.ranks.job.Stored++
				r.g.ranks.mu.Unlock()
			}
		})
	}
	// 2. Resolve the URLs in batches. After an error the rest is skipped.
	for some, scores := range r.scores.batches() {
		urls, err := r.urls(ctx, some)
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
	if ctx.Err() == nil {
		r.writeScores() // with the number of stored scores
	}
	return context.Cause(ctx)
}
