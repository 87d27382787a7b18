// The rankings of a plain graph.

package linkstest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// source is the rank.Source of a plain graph.
type source struct{ *Graph }

func (s source) SampleLinks(ctx context.Context, d rank.Direction, pages []uid.UID, spec sample.Spec) (links.Lists, error) {
	return s.Graph.SampleLinks(ctx, links.Direction(d), pages, spec)
}

func (s source) LinksWithin(ctx context.Context, set *rank.Set, c sample.Class) (rank.Lists[uint32], error) {
	return eachList(ctx, s.Graph, set.UIDs(), func(page uid.UID) (within []uint32) {
		for _, to := range s.list(links.Forward, page) {
			if n, ok := set.Find(to); ok && sample.Class(weburl.Class(s.urls[page], s.urls[to])) >= c {
				within = append(within, n)
			}
		}
		return within
	})
}

func (s source) WeightsWithin(ctx context.Context, set *rank.Set, c sample.Class) (rank.Lists[rank.WeightedLink], error) {
	return eachList(ctx, s.Graph, set.UIDs(), func(page uid.UID) (within []rank.WeightedLink) {
		for _, to := range s.list(links.Forward, page) {
			if n, ok := set.Find(to); ok && sample.Class(weburl.Class(s.urls[page], s.urls[to])) >= c {
				within = append(within, rank.WeightedLink{To: n, Weight: s.out[page][to].Weight})
			}
		}
		return within
	})
}

// Rank ranks pages by the links around them.
func (g *Graph) Rank(ctx context.Context, r links.RankRequest) (links.Ranking, error) {
	// 1. Check the request. PageRank needs no neighbourhood.
	if r.Algorithm == links.PageRank {
		return g.byJob(ctx, r)
	}
	if r.Algorithm != links.SALSA && r.Algorithm != links.HITS || r.In < 0 || r.Out < 0 {
		return links.Ranking{}, fmt.Errorf("%w: a ranking by %q with %d in-links and %d out-links", links.ErrInvalid, r.Algorithm, r.In, r.Out)
	}
	n, err := rank.NewNeighbourhood(ctx, source{g}, r.Pages, rank.NeighbourhoodOptions{In: r.In, Out: r.Out, Mode: r.Mode, Class: r.Class, Seed: r.Seed, Weighted: r.Weighted})
	if err != nil {
		return links.Ranking{}, err
	}
	// 2. Score all vertices of the neighbourhood graph.
	answer := links.Ranking{Vertices: n.Graph.Len(), Edges: n.Graph.NumEdges(), Converged: true}
	scores := rank.Scores{}
	if r.Algorithm == links.SALSA {
		scores = rank.SALSA(n.Graph)
	} else {
		hits, err := rank.HITS(ctx, n.Graph, rank.HITSOptions{})
		if err != nil {
			return links.Ranking{}, err
		}
		scores, answer.Rounds, answer.Converged = hits.Scores, hits.Rounds, hits.Converged
	}
	// 3. Return the best: roots only, unless the request wants all vertices. Top 0 means no
	// limit.
	top := n.TopRoots
	if r.All {
		top = n.Top
	}
	k := r.Top
	if k == 0 {
		k = n.Set.Len()
	}
	answer.Authorities, answer.Hubs = top(k, scores.Authority), top(k, scores.Hub)
	return answer, nil
}

// byJob ranks by the scores of the last finished PageRank.
func (g *Graph) byJob(ctx context.Context, r links.RankRequest) (answer links.Ranking, err error) {
	err = g.do(ctx, func() error {
		if g.scores == nil {
			return links.ErrNoJob
		}
		var set rank.Set
		scores := []float64{}
		for _, u := range r.Pages {
			before := set.Len()
			if set.Add(u); set.Len() > before {
				scores = append(scores, g.scores[u])
			}
		}
		k := r.Top
		if k == 0 {
			k = set.Len()
		}
		answer.Authorities, answer.Vertices, answer.Converged = rank.Top(k, set.UIDs(), scores), set.Len(), true
		return nil
	})
	return answer, err
}

// StartPageRank begins a job. It is done at once, unless HoldJobs is set.
func (g *Graph) StartPageRank(ctx context.Context, o links.PageRankOptions) error {
	return g.do(ctx, func() error {
		if err := (rank.Options{Damping: o.Damping, Tolerance: o.Tolerance, MaxRounds: o.MaxRounds}).Validate(); err != nil {
			return fmt.Errorf("%w: %w", links.ErrInvalid, err)
		}
		if g.job != nil && g.job.State == "running" {
			return links.ErrBusy
		}
		g.job = &links.PageRankJob{State: "running", Epoch: g.epoch, Pages: int64(len(g.urls))}
		if !g.HoldJobs {
			g.finish(o)
		}
		return nil
	})
}

// FinishJob ends a held job.
func (g *Graph) FinishJob() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finish(links.PageRankOptions{})
}

// finish computes the scores by their definition, in 100 rounds. mu must be held.
func (g *Graph) finish(o links.PageRankOptions) {
	damping := o.Damping
	if damping == 0 {
		damping = 0.85
	}
	pages := slices.Sorted(maps.Keys(g.urls))
	scores := map[uid.UID]float64{}
	for _, p := range pages {
		scores[p] = 1 / float64(len(pages))
	}
	for g.job.Round = 0; g.job.Round < 100; g.job.Round++ {
		dangling, next := 0.0, map[uid.UID]float64{}
		for _, p := range pages {
			for to := range g.out[p] {
				next[to] += damping * scores[p] / float64(len(g.out[p]))
			}
			if len(g.out[p]) == 0 {
				dangling += scores[p]
			}
		}
		for _, p := range pages {
			next[p] += (1 - damping + damping*dangling) / float64(len(pages))
		}
		scores = next
	}
	g.scores, g.job.State, g.job.Converged = scores, "done", true
}

// PageRank returns the state of the last job. If there was none, the error is ErrNoJob.
func (g *Graph) PageRank(ctx context.Context) (job links.PageRankJob, err error) {
	err = g.do(ctx, func() error {
		if g.job == nil {
			return links.ErrNoJob
		}
		job = *g.job
		return nil
	})
	return job, err
}

// StopPageRank ends a job if it runs. A finished job stays as it is.
func (g *Graph) StopPageRank(ctx context.Context) error {
	return g.do(ctx, func() error {
		if g.job == nil {
			return links.ErrNoJob
		}
		if g.job.State == "running" {
			g.job.State = "stopped"
		}
		return nil
	})
}
