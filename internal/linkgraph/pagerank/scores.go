// The scores of a PageRank job.

package pagerank

import (
	"fmt"
	"iter"
	"sort"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/ef"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
)

// Scores are the scores of pages, in groups of ascending UIDs, such as those of cells.
type Scores struct {
	pages  [][]byte      // UIDs by group, in package ef
	uids   []ef.Sequence // the same, open
	of     [][]float64   // by group and page
	result rank.Round
	done   bool // converged
}

// scoresOf returns the scores of a job's result for the pages of cells.
func scoresOf(cells []*cell.Cell, result *rank.Result) (*Scores, error) {
	s := &Scores{}
	for i, c := range cells {
		pages := make([]uid.UID, c.Len())
		for ord := range uint32(c.Len()) {
			pages[ord] = c.UID(ord)
		}
		if err := s.Add(pages, result.Scores[i]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add adds a group of ascending pages, unless it is empty. It keeps values.
func (s *Scores) Add(pages []uid.UID, values []float64) error {
	if len(pages) == 0 {
		return nil
	}
	var b ef.Builder
	for i, u := range pages {
		if i > 0 && u <= pages[i-1] {
			return fmt.Errorf("%w: pages of scores do not ascend", peer.ErrMessage)
		}
		b.Add(uint64(u))
	}
	data := b.AppendTo(nil)
	uids, _, err := ef.Open(data)
	if err != nil {
		return err
	}
	s.pages, s.uids, s.of = append(s.pages, data), append(s.uids, uids), append(s.of, values)
	return nil
}

// merge adds the groups of another machine.
func (s *Scores) merge(o *Scores) {
	s.pages, s.uids, s.of = append(s.pages, o.pages...), append(s.uids, o.uids...), append(s.of, o.of...)
	sort.Sort(s)
}

// Len, Less and Swap implement sort.Interface for the groups.
func (s *Scores) Len() int { return len(s.uids) }

func (s *Scores) Less(i, j int) bool { return s.uids[i].At(0) < s.uids[j].At(0) }

func (s *Scores) Swap(i, j int) {
	s.pages[i], s.pages[j] = s.pages[j], s.pages[i]
	s.uids[i], s.uids[j] = s.uids[j], s.uids[i]
	s.of[i], s.of[j] = s.of[j], s.of[i]
}

// count returns the number of pages.
func (s *Scores) count() (n int64) {
	for _, of := range s.of {
		n += int64(len(of))
	}
	return n
}

// group returns the first group with a UID at or behind one.
func (s *Scores) group(u uid.UID) int {
	return sort.Search(len(s.uids), func(i int) bool { return s.uids[i].Last() >= uint64(u) })
}

// get returns the score of a page, and false if the page is not known.
func (s *Scores) get(u uid.UID) (float64, bool) {
	i := s.group(u)
	if i == len(s.uids) {
		return 0, false
	}
	page := s.uids[i].Search(uint64(u))
	if s.uids[i].At(page) != uint64(u) {
		return 0, false
	}
	return s.of[i][page], true
}

// nextPages returns the next pages of one group behind a page, at most n, and their scores. There are
// none behind the last page.
func (s *Scores) nextPages(u uid.UID, n int) (pages []uid.UID, values []float64) {
	if u == 1<<64-1 {
		return nil, nil
	}
	i := s.group(u + 1)
	if i == len(s.uids) {
		return nil, nil
	}
	first := s.uids[i].Search(uint64(u) + 1)
	end := min(first+n, len(s.of[i]))
	pages = make([]uid.UID, 0, end-first)
	for _, page := range s.uids[i].All(first) {
		if len(pages) == end-first {
			break
		}
		pages = append(pages, uid.UID(page))
	}
	return pages, s.of[i][first:end]
}

// Batches yields all pages and their scores, some thousand at a time.
func (s *Scores) Batches() iter.Seq2[[]uid.UID, []float64] {
	return func(yield func([]uid.UID, []float64) bool) {
		const batch = 1 << 12
		last := uid.UID(0)
		for {
			pages, values := s.nextPages(last, batch)
			if len(pages) == 0 || !yield(pages, values) {
				return
			}
			last = pages[len(pages)-1]
		}
	}
}
