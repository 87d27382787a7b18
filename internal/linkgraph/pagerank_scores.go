// The scores of a PageRank job.

package linkgraph

import (
	"iter"
	"sort"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// scores are the scores of the pages of some cells. Cells without pages are left out.
type scores struct {
	pages  [][]byte      // UIDs by cell, in package ef
	uids   []ef.Sequence // the same, open
	of     [][]float64   // by cell and page
	graph  uint64        // its fingerprint
	result rank.Round
	done   bool // converged
}

// scoresOf returns the scores of a job's result for the pages of cells.
func scoresOf(cells []*cell.Cell, result *rank.Result, graph uint64) (*scores, error) {
	s := &scores{graph: graph, result: result.Round, done: result.Converged}
	if result.Number == 0 {
		s.result.Change = 0 // if there was no round, it is infinite
	}
	for i, c := range cells {
		if c.Len() == 0 {
			continue
		}
		var b ef.Builder
		for ord := range uint32(c.Len()) {
			b.Add(uint64(c.UID(ord)))
		}
		pages := b.AppendTo(nil)
		uids, _, err := ef.Open(pages)
		if err != nil {
			return nil, err
		}
		s.pages, s.uids, s.of = append(s.pages, pages), append(s.uids, uids), append(s.of, result.Scores[i])
	}
	return s, nil
}

// get returns the score of a page, and false if the page is not known.
func (s *scores) get(u uid.UID) (float64, bool) {
	i := sort.Search(len(s.uids), func(i int) bool { return s.uids[i].Last() >= uint64(u) })
	if i == len(s.uids) {
		return 0, false
	}
	page := s.uids[i].Search(uint64(u))
	if s.uids[i].At(page) != uint64(u) {
		return 0, false
	}
	return s.of[i][page], true
}

// batches yields all pages and their scores, some thousand at a time. The slices are valid only
// during the iteration.
func (s *scores) batches() iter.Seq2[[]uid.UID, []float64] {
	return func(yield func([]uid.UID, []float64) bool) {
		const batch = 1 << 12
		var some []uid.UID
		for i := range s.uids {
			first := 0
			for page, u := range s.uids[i].All(0) {
				some = append(some, uid.UID(u))
				if len(some) < batch && page+1 < s.uids[i].Len() {
					continue
				}
				if !yield(some, s.of[i][first:page+1]) {
					return
				}
				some, first = some[:0], page+1
			}
		}
	}
}
