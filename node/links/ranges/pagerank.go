// PageRank as a job of one member, which reads all links once.

package ranges

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
)

// ranks is the job of PageRank that was begun on this member, and the scores of the last
// one that ended well.
type ranks struct {
	mu     sync.Mutex
	job    *links.PageRankJob
	begun  time.Time
	cancel context.CancelCauseFunc // of the job that runs, nil where none does
	scores *scores
}

// scores are those of pages, by UID.
type scores struct {
	uids          []uid.UID
	of            []float64
	result        rank.Round
	converged     bool
	maxOut, maxIn int
}

// get returns the score of a page, 0 for one that is not known.
func (s *scores) get(u uid.UID) float64 {
	if i, ok := slices.BinarySearch(s.uids, u); ok {
		return s.of[i]
	}
	return 0
}

// degrees returns the greatest degrees that the last job met; -1 where there was none.
func (r *ranks) degrees() (out, in int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scores == nil {
		return -1, -1
	}
	return r.scores.maxOut, r.scores.maxIn
}

func (r *ranks) rank(request links.RankRequest) (ranked links.Ranking, err error) {
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
func (g *Graph) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	options := rank.Options{Damping: o.Damping, Tolerance: o.Tolerance, MaxRounds: o.MaxRounds}
	if err := options.Validate(); err != nil {
		return fmt.Errorf("%w: %w", links.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil {
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
		r.end(g.runPageRank(running, options, o.Store))
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
	case errors.Is(err, errStopped) || errors.Is(err, errClosed):
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
		return links.PageRankJob{}, fmt.Errorf("%w of PageRank on this member", links.ErrNoJob)
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
	if r.job == nil {
		return fmt.Errorf("%w of PageRank on this member", links.ErrNoJob)
	}
	if r.cancel != nil {
		r.cancel(errStopped)
	}
	return ctx.Err()
}

func (r *ranks) note(do func(*links.PageRankJob)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(r.job)
}

func (g *Graph) runPageRank(ctx context.Context, o rank.Options, store bool) error {
	w, err := g.web(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	r := &g.ranks
	r.note(func(j *links.PageRankJob) { j.Pages, j.Links = int64(len(w.uids)), int64(len(w.sources)) })
	o.Progress = func(round rank.Round) {
		r.note(func(j *links.PageRankJob) { j.Round, j.Change = round.Number, round.Change })
	}
	result, err := rank.PageRank(ctx, []int{len(w.uids)}, map[int]rank.Partition{0: w}, o)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	s := &scores{uids: w.uids, of: result.Scores[0], result: result.Round, converged: result.Converged}
	s.maxOut, s.maxIn = w.maxDegrees()
	r.mu.Lock()
	r.scores = s
	r.job.Converged = result.Converged
	r.mu.Unlock()
	if !store {
		return nil
	}
	r.note(func(j *links.PageRankJob) { j.State = "storing" })
	return g.storeScores(ctx, w, s)
}

// storedAtOnce is how many scores are on their way at a time.
const storedAtOnce = 256

// storeScores notes the scores on the triples of UIDs.
func (g *Graph) storeScores(ctx context.Context, w *web, s *scores) error {
	return g.read(ctx, func(r *reader) error {
		const part = 1 << 12
		for from := 0; from < len(s.uids); from += part {
			pages := s.uids[from:min(from+part, len(s.uids))]
			urls, err := r.urls(ctx, pages)
			if err != nil {
				return err
			}
			err = atOnce(ctx, len(pages), storedAtOnce, func(ctx context.Context, i int) error {
				if urls[i] == "" {
					return nil // it was deleted meanwhile
				}
				score := strconv.AppendFloat(nil, s.of[from+i], 'g', -1, 64)
				err := g.store.Annotate(ctx, links.UIDTriple(urls[i], pages[i]), links.PageRankApplication, score)
				if errors.Is(err, node.ErrNotFound) {
					return nil // likewise
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("store scores: %w", err)
			}
			g.ranks.note(func(j *links.PageRankJob) { j.Stored += int64(len(pages)) })
		}
		return nil
	})
}

// web is all links, by their sources: one partition as rank.PageRank takes it.
type web struct {
	uids    []uid.UID // ascending
	starts  []int     // where the links of each page begin, and where all end
	sources []uint32  // by target while it is read
	targets []uint32  // by source
}

// Pages implements rank.Partition.
func (w *web) Pages() int { return len(w.uids) }

// Ghosts implements rank.Partition: there is one partition.
func (w *web) Ghosts() int { return 0 }

// Locate implements rank.Partition.
func (w *web) Locate(uint32) (rank.Address, bool) { return rank.Address{}, false }

// Scan implements rank.Partition.
func (w *web) Scan(yield func(page uint32, locals, ghosts []uint32) bool) error {
	for i := range w.uids {
		if list := w.targets[w.starts[i]:w.starts[i+1]]; len(list) > 0 && !yield(uint32(i), list, nil) {
			return nil
		}
	}
	return nil
}

func (w *web) maxDegrees() (out, in int) {
	of := make([]int, len(w.uids))
	for i := range w.uids {
		out = max(out, w.starts[i+1]-w.starts[i])
	}
	for _, t := range w.targets {
		of[t]++
		in = max(in, of[t])
	}
	return out, in
}

// errUnknown tells that links have ends without UIDs.
var errUnknown = errors.New("pages without UIDs")

// web reads all pages and all links. Pages without UIDs get some on the way.
// One that still has none then, as somebody has deleted it, is left out.
func (g *Graph) web(ctx context.Context) (w *web, err error) {
	tried := map[string]bool{}
	for {
		var unknown []string
		err := g.read(ctx, func(r *reader) (err error) {
			w, unknown, err = r.web(ctx, g.o.RankBytes, tried)
			return err
		})
		if !errors.Is(err, errUnknown) {
			return w, err
		}
		if _, err := g.name(ctx, unknown); err != nil {
			return nil, err
		}
		for _, url := range unknown {
			tried[url] = true
		}
	}
}

// unknownAtOnce is how many pages without UIDs are collected before they get some.
const unknownAtOnce = 1_000_000

// Bytes of memory for a page, and for a link, while a web is read.
const (
	pageBytes = 96
	linkBytes = 16
)

func (r *reader) web(ctx context.Context, most int64, tried map[string]bool) (*web, []string, error) {
	w := &web{}
	// Pages are found by 128 bits of hash: that two are alike will not happen.
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	hash := func(url []byte) [2]uint64 {
		return [2]uint64{maphash.Bytes(seeds[0], url), maphash.Bytes(seeds[1], url)}
	}
	places := map[[2]uint64]uint32{}
	err := r.pages(ctx, r.graph.pages, false, func(u uid.UID, url []byte) bool {
		if len(w.uids) == 0 || w.uids[len(w.uids)-1] != u {
			places[hash(url)] = uint32(len(w.uids))
			w.uids = append(w.uids, u)
		}
		return int64(len(w.uids))*pageBytes <= most
	})
	if err != nil {
		return nil, nil, err
	}
	unknown := map[string]struct{}{}
	find := func(url []byte) (uint32, bool) {
		at, ok := places[hash(url)]
		if !ok && !tried[string(url)] {
			unknown[string(url)] = struct{}{}
		}
		return at, ok
	}
	var targets []uint32
	var lastDst []byte
	last := uint32(0)
	full := false
	known := false
	err = r.links(ctx, r.graph.linked, func(src, dst []byte) bool {
		if lastDst == nil || string(dst) != string(lastDst) {
			last, known = find(dst)
			lastDst = append(lastDst[:0], dst...)
		}
		if from, ok := find(src); ok && known {
			w.sources, targets = append(w.sources, from), append(targets, last)
		}
		full = int64(len(w.uids))*pageBytes+int64(len(targets))*linkBytes > most
		return !full && len(unknown) < unknownAtOnce
	})
	switch {
	case err != nil:
		return nil, nil, err
	case full || int64(len(w.uids))*pageBytes > most:
		return nil, nil, fmt.Errorf("%w: more than %d pages and %d links take more than the %d bytes that a job of PageRank may have on one machine", links.ErrInvalid, len(w.uids), len(targets), most)
	case len(unknown) > 0:
		return nil, slices.Collect(maps.Keys(unknown)), errUnknown
	}
	w.order(targets)
	return w, nil, nil
}

// order sorts the links by their sources, counting.
func (w *web) order(targets []uint32) {
	w.starts = make([]int, len(w.uids)+1)
	for _, s := range w.sources {
		w.starts[s+1]++
	}
	for i := range w.uids {
		w.starts[i+1] += w.starts[i]
	}
	next := slices.Clone(w.starts)
	w.targets = make([]uint32, len(targets))
	for i, s := range w.sources {
		w.targets[next[s]] = targets[i]
		next[s]++
	}
}
