// Edges from the cells of a graph of hyperlinks.

package path

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Cells are the links of a graph of hyperlinks, in place of the rows of their predicate. A walker knows the
// nodes by their pages then, and names a reached one only if a row needs it.
type Cells struct {
	Graph exec.LinkGraph
	pages []uint64         // by ID; 0 for a node that is no page
	ids   map[uint64]int32 // by page
}

// errCells means that the links cannot be read from cells, so rows must be read.
var errCells = errors.New("the links cannot be read from cells")

// IsOverPredicate reports whether all edges of a path are of one predicate.
func IsOverPredicate(p ast.Path, predicate string) bool {
	parts := func(list []ast.Path) bool {
		return !slices.ContainsFunc(list, func(p ast.Path) bool { return !IsOverPredicate(p, predicate) })
	}
	switch p := p.(type) {
	case *ast.PathIRI:
		return p.IRI == predicate
	case *ast.PathInverse:
		return IsOverPredicate(p.Arg, predicate)
	case *ast.PathRepeat:
		return IsOverPredicate(p.Arg, predicate)
	case *ast.PathSequence:
		return parts(p.Parts)
	case *ast.PathAlternative:
		return parts(p.Parts)
	}
	return false
}

// meet makes nodes of the ends of the next rows, because the graph finds many pages at a time.
func (p *Join) meet() error {
	if p.Walk.Cells == nil {
		return nil
	}
	var ends []string
	for i := p.at; i < min(p.Batch.Len, p.at+p.Chunk); i++ {
		row := p.Batch.Row(i)
		s, o := p.binding(p.Subject, row), p.binding(p.Object, row)
		if s == "" && o == "" {
			return fmt.Errorf("%w: a row binds no end", errCells)
		}
		ends = append(ends, s, o)
	}
	return p.Walk.meet(ends)
}

// ends returns the places of the start and of the end of a task.
func (p *Join) ends(t *pathTask) [2]pattern.Place {
	if t.forward {
		return [2]pattern.Place{p.Subject, p.Object}
	}
	return [2]pattern.Place{p.Object, p.Subject}
}

// meet makes nodes of bindings, which need not differ; "" is none.
func (w *Walker) meet(bindings []string) error {
	// 1. Find the pages of the new ones.
	var fresh []string
	met := map[string]struct{}{}
	for _, binding := range bindings {
		_, known := w.ids[binding]
		if _, ok := met[binding]; !ok && !known && binding != "" {
			met[binding] = struct{}{}
			fresh = append(fresh, binding)
		}
	}
	pages, err := w.Exec.LinkPages(w.Cells.Graph, fresh)
	if err != nil {
		return w.cellError(err)
	}
	// 2. A page may have been reached before.
	for i, binding := range fresh {
		if pages[i] == 0 {
			if _, err := w.id(binding); err != nil {
				return err
			}
			w.Cells.pages = append(w.Cells.pages, 0)
			continue
		}
		id, err := w.idOfPage(pages[i])
		if err != nil {
			return err
		}
		if err := w.Holder.Grow(len(binding) + nodeBytes); err != nil {
			return err
		}
		if w.ids == nil {
			w.ids = make(map[string]int32)
		}
		w.names[id], w.ids[binding] = binding, id
	}
	return nil
}

// cellError returns errCells, unless an error ends the query.
func (w *Walker) cellError(err error) error {
	if ended := w.Exec.Check(); ended != nil {
		return ended
	}
	return fmt.Errorf("%w: %w", errCells, err)
}

// idOfPage returns the ID of the node of a page.
func (w *Walker) idOfPage(page uint64) (int32, error) {
	c := w.Cells
	if id, ok := c.ids[page]; ok {
		return id, nil
	}
	if err := w.Holder.Grow(nodeBytes); err != nil {
		return 0, err
	}
	if c.ids == nil {
		c.ids = make(map[uint64]int32)
	}
	id := int32(len(w.names))
	w.names, c.pages = append(w.names, ""), append(c.pages, page)
	c.ids[page] = id
	return id, nil
}

// cellEdges returns for each node its neighbours by links.
func (w *Walker) cellEdges(from []int32, forward bool) ([][]int32, error) {
	// 1. Read the pages in ascending order, because neighbours are near in memory.
	order := make([]int, 0, len(from))
	for i, node := range from {
		if w.Cells.pages[node] != 0 {
			order = append(order, i)
		}
	}
	page := func(i int) uint64 { return w.Cells.pages[from[i]] }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(page(a), page(b)) })
	pages := make([]uint64, len(order))
	for k, i := range order {
		pages[k] = page(i)
	}
	// 2. Number the ends of each list.
	to := make([][]int32, len(from))
	at, reads := 0, 0
	var failed error // of this walker, and not of the graph
	err := w.Exec.EachLinkList(w.Cells.Graph, w.Holder, pages, !forward, func(_ uint64, list []uint64) error {
		ends := make([]int32, len(list))
		for k, page := range list {
			if ends[k], failed = w.idOfPage(page); failed != nil {
				return failed
			}
		}
		to[order[at]] = ends
		at, reads = at+1, reads+len(list)
		return nil
	})
	w.Plan.AddReads(reads)
	switch {
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, w.cellError(err)
	}
	return to, nil
}

// nameNodes names nodes that were reached by links only.
func (w *Walker) nameNodes(nodes []int32) error {
	var pages []uint64
	for _, node := range nodes {
		if w.names[node] == "" {
			pages = append(pages, w.Cells.pages[node])
		}
	}
	slices.Sort(pages)
	pages = slices.Compact(pages)
	named := 0
	err := w.Exec.EachPageURL(w.Cells.Graph, pages, func(page uint64, binding string) error {
		named++
		w.names[w.Cells.ids[page]] = binding
		return w.Holder.Grow(len(binding))
	})
	if err == nil && named < len(pages) {
		err = fmt.Errorf("%d of the %d pages that links lead to have no URL", len(pages)-named, len(pages))
	}
	return err
}

// nameEnds names the ends that the next tasks give, about a batch of them.
func (p *Join) nameEnds() error {
	var nodes []int32
	skip := p.give
	for _, t := range p.tasks[p.task:] {
		if len(nodes) >= solution.BatchRows {
			break
		}
		if t.end < 0 {
			ends := t.search.ends[t.index][skip:]
			nodes = append(nodes, ends[:min(len(ends), solution.BatchRows)]...)
		}
		skip = 0
	}
	return p.Walk.nameNodes(nodes)
}

// leaveCells makes the walker read rows from now on.
func (p *Join) leaveCells() {
	at := p.at
	p.forget()
	p.at, p.Walk.Cells = at, nil
	p.Plan.Operator = RowsName
}

// Names of the operator in plans.
const (
	RowsName  = "path"
	CellsName = "path over links"
)
