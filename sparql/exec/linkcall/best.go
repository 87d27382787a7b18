// The pages of the whole graph by PageRank, the best first.

package linkcall

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
)

// best is the pages of the graph by their scores, read in parts that grow: a query with a LIMIT needs
// few of them.
type best struct {
	exec   *exec.Execution
	most   int64 // rows that the query probably needs; 0 if it is not known
	holder memory.Holder

	pages    []exec.RankedPage // the best ones
	complete bool              // these are all
	urls     []string          // bindings of the pages from first on
	first    int
}

const (
	firstBest   = 64
	bestGrowth  = 8
	rankedBytes = 2 * 24 // of a page, while the next part is read
)

// solutionAt returns the solution of the i-th best page; ok is false if there are fewer.
func (b *best) solutionAt(i int) (found found, ok bool, err error) {
	for i >= len(b.pages) && !b.complete {
		if err := b.read(); err != nil {
			return found, false, err
		}
	}
	if i >= len(b.pages) {
		return found, false, nil
	}
	if i < b.first || i >= b.first+len(b.urls) {
		if err := b.name(i); err != nil {
			return found, false, err
		}
	}
	found.start, found.first = b.urls[i-b.first], score(b.pages[i].Score)
	return found, true, nil
}

// read reads more of the best pages.
func (b *best) read() error {
	if err := b.exec.Check(); err != nil {
		return err
	}
	n := max(bestGrowth*len(b.pages), firstBest, int(min(b.most, exec.LinksAtOnce)))
	if err := b.holder.Grow((n - len(b.pages)) * rankedBytes); err != nil {
		return err
	}
	ranking, err := b.exec.Options.Links.Rank(b.exec.Ctx, exec.RankRequest{Function: ast.LinkPageRank, Top: n})
	if err != nil {
		return err
	}
	// The pages so far were given already, so they must be the same ones.
	if len(ranking.Pages) < len(b.pages) || !slices.Equal(b.pages, ranking.Pages[:len(b.pages)]) {
		return fmt.Errorf("%w; send it again", exec.ErrScores)
	}
	b.pages, b.complete = ranking.Pages, len(ranking.Pages) < n
	b.holder.ShrinkTo(int64(len(b.pages)) * rankedBytes)
	return nil
}

// name finds the URLs of the i-th page and of some behind it.
func (b *best) name(i int) error {
	some := b.pages[i:min(len(b.pages), i+namesAtOnce)]
	pages := make([]uint64, len(some))
	place := make(map[uint64]int, len(some))
	for k, one := range some {
		pages[k] = one.Page
		place[one.Page] = k
	}
	b.first, b.urls = i, make([]string, len(some))
	return b.exec.EachPageURL(b.exec.Options.Links, pages, func(page uint64, binding string) error {
		b.urls[place[page]] = binding
		return nil
	})
}

// namesAtOnce is the number of pages whose URLs are found together.
const namesAtOnce = 256
