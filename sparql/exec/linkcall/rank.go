// Rankings of all solutions of a group.

package linkcall

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
)

// Rank gives the rows of its input that bind the page to a page, with its score among the distinct pages
// of all rows. It holds all rows, in files if it may.
type Rank struct {
	Exec  *exec.Execution
	Input exec.Operator
	Call  *algebra.LinkCall
	memory.Holder

	rows   *spill.Queue // nil before the input was read
	row    []string
	scores map[string]exec.RankedPage // by the binding of the page
}

const (
	// maxRanked is the most pages of a ranking.
	maxRanked = 100_000
	// aroundDefault is the number of sampled links of each page if the call has none.
	aroundDefault = 10
	// pageBytes are counted for a page, and vertexBytes for one that may be sampled around it.
	pageBytes   = 160
	vertexBytes = 256
)

func (r *Rank) Next(out *solution.Batch) error {
	if r.rows == nil {
		if err := r.build(); err != nil {
			return failed(r.Call, err)
		}
	}
	for !out.Full() {
		// 1. Take the next row with a page.
		if err := r.Exec.Tick(); err != nil {
			return err
		}
		ok, err := r.rows.Next(r.row)
		if err != nil || !ok {
			return err
		}
		page, ok := r.scores[bound(r.Call.Page, r.row)]
		if !ok {
			continue
		}
		// 2. Bind its scores. The planner made sure that no row of the input binds them.
		out.AddRead(r.row, 0)
		next := out.Row(out.Len - 1)
		next[r.Call.Results[0].Slot] = score(page.Score)
		if r.Call.Function.Hubs() {
			next[r.Call.Results[1].Slot] = score(page.Hub)
		}
	}
	return nil
}

// build reads the input and ranks its pages.
func (r *Rank) build() error {
	r.rows = spill.NewQueue(&r.Exec.Scratch, &r.Holder, r.Exec.Width)
	r.row = make([]string, r.Exec.Width)
	r.scores = map[string]exec.RankedPage{}
	// 1. Take all rows, and their distinct pages.
	var bindings []string
	in := r.Exec.NewBatch()
	defer in.Free()
	for {
		in.Clear()
		if err := r.Exec.Check(); err != nil {
			return err
		}
		if err := r.Input.Next(in); err != nil {
			return err
		}
		if in.Len == 0 {
			break
		}
		for i := range in.Len {
			row := in.Row(i)
			page := bound(r.Call.Page, row)
			if page == "" {
				continue
			}
			if _, ok := r.scores[page]; !ok {
				if err := r.Grow(len(page) + pageBytes); err != nil {
					return err
				}
				page = string(solution.BytesOf(page)) // a copy, so that no chunk of an arena stays for it
				r.scores[page] = exec.RankedPage{}
				bindings = append(bindings, page)
			}
			if err := r.rows.Add(row); err != nil {
				return err
			}
		}
	}
	if err := r.rows.Finish(); err != nil {
		return err
	}
	// 2. Rank them.
	return r.rank(bindings)
}

// rank sets the scores of bindings. Only pages have one.
func (r *Rank) rank(bindings []string) error {
	clear(r.scores)
	pages, err := r.Exec.LinkPages(r.Exec.Options.Links, bindings)
	if err != nil {
		return err
	}
	// 1. Count the pages, and bound what the graph needs for them.
	names := make(map[uint64]string, len(pages))
	known := pages[:0]
	for i, page := range pages {
		if page != 0 {
			names[page] = bindings[i]
			known = append(known, page)
		}
	}
	if len(known) == 0 {
		return nil
	}
	if len(known) > maxRanked {
		return fmt.Errorf("%w: %d pages to rank, and %d are the most; add patterns to its group that leave fewer", exec.ErrLinks, len(known), maxRanked)
	}
	slices.Sort(known) // so that the scores do not depend on the order of the rows
	request := exec.RankRequest{Function: r.Call.Function, Pages: known, In: aroundDefault, Out: aroundDefault}
	for i, n := range r.Call.Numbers {
		if i == 0 {
			request.In = n
		} else {
			request.Out = n
		}
	}
	around := len(known) * (1 + request.In + request.Out) * vertexBytes
	if err := r.Grow(around); err != nil {
		return fmt.Errorf("%w; fewer sampled links than %d and %d need less", err, request.In, request.Out)
	}
	// 2. Rank, and give the scores their bindings.
	ranking, err := r.Exec.Options.Links.Rank(r.Exec.Ctx, request)
	if err != nil {
		return err
	}
	for _, one := range ranking.Pages {
		r.scores[names[one.Page]] = one
	}
	r.ShrinkTo(r.Held - int64(around))
	return nil
}

func (r *Rank) drop() {
	if r.rows != nil {
		r.rows.Close()
		r.rows = nil
	}
	r.scores = nil
	r.Free()
}

func (r *Rank) Reset() { r.drop(); r.Input.Reset() }
func (r *Rank) Close() { r.drop(); r.Input.Close() }
