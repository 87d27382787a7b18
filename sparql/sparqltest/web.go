// A graph of hyperlinks in maps.

package sparqltest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
)

// Web is a graph of hyperlinks: slow, small and plainly right, but for its rankings. SALSA and HITS only count
// links within the ranked set, because a test needs scores that depend on the whole set.
type Web struct {
	Names  []string            // of the pages 1, 2 and so on
	Out    map[uint64][]uint64 // ascending
	Scores map[uint64]float64  // of PageRank; nil if there was no job

	Err      error  // of all calls
	Calls    int    // since the beginning
	MostTop  int    // the greatest Top of a ranking
	MostList int    // the most links in a call for whole lists
	OnCall   func() // if not nil, called by each call
}

// NewWeb returns a graph of the pages 1 to n, named by IRI("n1") and so on. A page links to another if
// linked says so.
func NewWeb(n int, linked func(from, to int) bool) *Web {
	w := &Web{Out: map[uint64][]uint64{}, Scores: map[uint64]float64{}}
	for i := range n {
		w.Names = append(w.Names, IRI("n"+strconv.Itoa(i+1)).Value())
		for j := range n {
			if linked(i+1, j+1) {
				w.Out[uint64(i+1)] = append(w.Out[uint64(i+1)], uint64(j+1))
			}
		}
	}
	for i := range n {
		w.Scores[uint64(i+1)] = (float64(len(w.Inlinks(uint64(i+1)))) + 0.5) / float64(2*n)
	}
	return w
}

// Inlinks returns the pages that link to a page.
func (w *Web) Inlinks(page uint64) (in []uint64) {
	for from := range uint64(len(w.Names)) {
		if slices.Contains(w.Out[from+1], page) {
			in = append(in, from+1)
		}
	}
	return in
}

// Linked returns the links of a page.
func (w *Web) Linked(page uint64, backward bool) []uint64 {
	if backward {
		return w.Inlinks(page)
	}
	return w.Out[page]
}

// Sample returns the sample of n links of a page.
func (w *Web) Sample(page uint64, backward bool, n int) []uint64 {
	list := w.Linked(page, backward)
	return list[max(0, len(list)-n):]
}

// Scored returns the scores of a page in a set.
func (w *Web) Scored(page uint64, set []uint64, in, out int) exec.RankedPage {
	one := exec.RankedPage{Page: page, Score: float64(in) / 128, Hub: float64(out) / 128}
	for _, other := range set {
		if slices.Contains(w.Out[other], page) {
			one.Score++
		}
		if slices.Contains(w.Out[page], other) {
			one.Hub++
		}
	}
	return one
}

func (w *Web) called(ctx context.Context) error {
	w.Calls++
	if w.OnCall != nil {
		w.OnCall()
	}
	if w.Err != nil {
		return w.Err
	}
	return ctx.Err()
}

// Pages implements [exec.LinkGraph].
func (w *Web) Pages(ctx context.Context, urls []string) ([]uint64, error) {
	pages := make([]uint64, len(urls))
	for i, url := range urls {
		pages[i] = uint64(slices.Index(w.Names, url) + 1)
	}
	return pages, w.called(ctx)
}

// URLs implements [exec.LinkGraph].
func (w *Web) URLs(ctx context.Context, pages []uint64) ([]string, error) {
	urls := make([]string, len(pages))
	for i, page := range pages {
		urls[i] = w.Names[page-1]
	}
	return urls, w.called(ctx)
}

// Links implements [exec.LinkGraph].
func (w *Web) Links(ctx context.Context, r exec.LinkRequest) (lists [][]uint64, err error) {
	sum := 0
	for _, page := range r.Pages {
		list := w.Linked(page, r.Backward)
		if r.Sample > 0 {
			list = w.Sample(page, r.Backward, r.Sample)
		}
		if sum += len(list); r.Most > 0 && sum > r.Most {
			break
		}
		lists = append(lists, list)
	}
	w.MostList = max(w.MostList, sum)
	return lists, w.called(ctx)
}

// Degrees implements [exec.LinkGraph].
func (w *Web) Degrees(ctx context.Context, pages []uint64, backward bool) ([]int, error) {
	degrees := make([]int, len(pages))
	for i, page := range pages {
		degrees[i] = len(w.Linked(page, backward))
	}
	return degrees, w.called(ctx)
}

// ErrNoScores is the error if there was no job of PageRank.
var ErrNoScores = errors.New("no scores")

// Rank implements [exec.LinkGraph].
func (w *Web) Rank(ctx context.Context, r exec.RankRequest) (ranking exec.Ranking, err error) {
	// 1. SALSA and HITS are of the set.
	if r.Function != ast.LinkPageRank {
		for _, page := range r.Pages {
			ranking.Pages = append(ranking.Pages, w.Scored(page, r.Pages, r.In, r.Out))
		}
		return ranking, w.called(ctx)
	}
	if w.Scores == nil {
		return ranking, ErrNoScores
	}
	// 2. PageRank is of the job.
	pages := r.Pages
	if r.Top > 0 {
		ranking.Total = len(w.Names)
		w.MostTop = max(w.MostTop, r.Top)
		for page := range w.Scores {
			pages = append(pages, page)
		}
	}
	for _, page := range pages {
		if score, ok := w.Scores[page]; ok {
			ranking.Pages = append(ranking.Pages, exec.RankedPage{Page: page, Score: score})
		}
	}
	slices.SortFunc(ranking.Pages, func(a, b exec.RankedPage) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Page, b.Page))
	})
	if r.Top > 0 {
		ranking.Pages = ranking.Pages[:min(r.Top, len(ranking.Pages))]
	}
	return ranking, w.called(ctx)
}
