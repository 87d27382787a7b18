// The graph of hyperlinks for the functions of links.

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// linkGraph implements [exec.LinkGraph] over the graph of a store. Each call gives the slot of its turn back,
// because other machines may compute the answer.
type linkGraph struct {
	open func(context.Context) (links.Graph, error)
}

// linkEdges returns the links that the snapshot of a run has, for its paths; nil if there is no graph. All
// paths of the run have the same links.
func (e *Engine) linkEdges(r *run) func(context.Context) (exec.LinkGraph, error) {
	// The graph has links of the whole default graph, so a user with some graphs reads rows instead.
	if e.opts.LinkEdges == nil || graphrights.FromContext(r.ctx) != nil {
		return nil
	}
	var opened bool
	var edges links.Graph
	var failed error
	return func(ctx context.Context) (exec.LinkGraph, error) {
		if !opened {
			opened = true
			failed = turns.Wait(ctx, func() (err error) {
				edges, err = e.opts.LinkEdges(turns.Detach(ctx), r.snapshot)
				return err
			})
		}
		return linkGraph{func(context.Context) (links.Graph, error) { return edges, failed }}, failed
	}
}

// algorithms are the rankings of the functions.
var algorithms = map[ast.LinkFunction]links.Algorithm{
	ast.LinkSALSA: links.SALSA, ast.LinkHITS: links.HITS, ast.LinkPageRank: links.PageRank,
	ast.LinkWeightedSALSA: links.SALSA, ast.LinkWeightedHITS: links.HITS,
}

// call calls do with the graph, without the slot of the turn.
func (l linkGraph) call(ctx context.Context, do func(ctx context.Context, g links.Graph) error) error {
	return turns.Wait(ctx, func() error {
		ctx := turns.Detach(ctx)
		g, err := l.open(ctx)
		if err != nil {
			return err
		}
		return do(ctx, g)
	})
}

// Pages implements [exec.LinkGraph].
func (l linkGraph) Pages(ctx context.Context, urls []string) (pages []uint64, err error) {
	err = l.call(ctx, func(ctx context.Context, g links.Graph) error {
		uids, err := g.UIDs(ctx, urls)
		pages = numbers(uids)
		return err
	})
	return pages, err
}

// URLs implements [exec.LinkGraph].
func (l linkGraph) URLs(ctx context.Context, pages []uint64) (urls []string, err error) {
	err = l.call(ctx, func(ctx context.Context, g links.Graph) (err error) {
		urls, err = g.URLs(ctx, uids(pages))
		return err
	})
	return urls, err
}

// Links implements [exec.LinkGraph].
func (l linkGraph) Links(ctx context.Context, r exec.LinkRequest) (lists [][]uint64, err error) {
	err = l.call(ctx, func(ctx context.Context, g links.Graph) error {
		all, err := readLinks(ctx, g, r)
		if err != nil {
			return err
		}
		for i := range all.Len() {
			lists = append(lists, numbers(all.At(i)))
		}
		return nil
	})
	return lists, err
}

// readLinks reads lists of a graph. If it cannot bound them, their degrees do.
func readLinks(ctx context.Context, g links.Graph, r exec.LinkRequest) (links.Lists, error) {
	d, pages := direction(r.Backward), uids(r.Pages)
	if r.Sample > 0 {
		return g.SampleLinks(ctx, d, pages, sample.Spec{N: r.Sample, Mode: sample.ModeConsistent})
	}
	if r.Most > 0 {
		if prefix := g.Capabilities().Prefix; prefix != nil {
			return prefix.LinksPrefix(ctx, d, pages, r.Most)
		}
		degrees, err := g.Degrees(ctx, d, pages)
		if err != nil {
			return links.Lists{}, err
		}
		sum, n := 0, 0
		for ; n < len(degrees) && sum+degrees[n] <= r.Most; n++ {
			sum += degrees[n]
		}
		pages = pages[:n]
	}
	return g.Links(ctx, d, pages)
}

func direction(backward bool) links.Direction {
	if backward {
		return links.Backward
	}
	return links.Forward
}

// Degrees implements [exec.LinkGraph].
func (l linkGraph) Degrees(ctx context.Context, pages []uint64, backward bool) (degrees []int, err error) {
	err = l.call(ctx, func(ctx context.Context, g links.Graph) (err error) {
		degrees, err = g.Degrees(ctx, direction(backward), uids(pages))
		return err
	})
	return degrees, err
}

// Rank implements [exec.LinkGraph].
func (l linkGraph) Rank(ctx context.Context, r exec.RankRequest) (ranking exec.Ranking, err error) {
	err = l.call(ctx, func(ctx context.Context, g links.Graph) error {
		request := links.RankRequest{Algorithm: algorithms[r.Function], Pages: uids(r.Pages), In: r.In, Out: r.Out, Mode: sample.ModeConsistent, Top: r.Top, All: r.Top > 0, Weighted: r.Function.Weighted()}
		got, err := g.Rank(ctx, request)
		if errors.Is(err, links.ErrNoJob) {
			return fmt.Errorf("%w; POST /links/pagerank or trefoil links pagerank starts one, and its scores are there when it has ended", err)
		}
		if err == nil && r.Top > 0 {
			var job links.PageRankJob
			job, err = g.PageRank(ctx)
			ranking.Total = int(job.Pages)
		}
		if err != nil {
			return err
		}
		ranking.Pages = ranked(got, r.Function)
		return nil
	})
	return ranking, err
}

// ranked returns the pages of a ranking with their scores. A page without a score of PageRank is not among the
// scored ones: each of these has more than 0.
func ranked(got links.Ranking, f ast.LinkFunction) []exec.RankedPage {
	hubs := make(map[uid.UID]float64, len(got.Hubs))
	if f.Hubs() {
		for _, one := range got.Hubs {
			hubs[one.UID] = one.Score
		}
	}
	pages := make([]exec.RankedPage, 0, len(got.Authorities))
	for _, one := range got.Authorities {
		if f != ast.LinkPageRank || scored(one) {
			pages = append(pages, exec.RankedPage{Page: uint64(one.UID), Score: one.Score, Hub: hubs[one.UID]})
		}
	}
	return pages
}

func scored(page rank.Scored) bool { return page.Score > 0 }

func uids(pages []uint64) []uid.UID { return convert[uid.UID](pages) }

func numbers(pages []uid.UID) []uint64 { return convert[uint64](pages) }

// convert returns pages as another type of numbers.
func convert[To, From ~uint64](pages []From) []To {
	out := make([]To, len(pages))
	for i, page := range pages {
		out[i] = To(page)
	}
	return out
}
