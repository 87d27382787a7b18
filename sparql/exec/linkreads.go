// Reads of a graph of hyperlinks in batches.

package exec

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds of a call of a [LinkGraph]: its links, and its pages.
const (
	LinksAtOnce = 1 << 16
	PagesAtOnce = 4096
)

// LinkPages returns the pages of bindings, 0 for each that is none.
func (q *Execution) LinkPages(graph LinkGraph, bindings []string) ([]uint64, error) {
	pages := make([]uint64, len(bindings))
	var urls []string
	var at []int
	for i, binding := range bindings {
		if t, err := triple.DecodeTerm(solution.BytesOf(binding)); err == nil && t.Kind() == triple.IRI {
			urls, at = append(urls, t.Value()), append(at, i)
		}
	}
	for len(urls) > 0 {
		if err := q.Check(); err != nil {
			return nil, err
		}
		n := min(len(urls), PagesAtOnce)
		some, err := graph.Pages(q.Ctx, urls[:n])
		if err != nil {
			return nil, err
		}
		for i, page := range some {
			pages[at[i]] = page
		}
		urls, at = urls[n:], at[n:]
	}
	return pages, nil
}

// EachPageURL calls do with each page and the binding of its URL, unless the page has gone.
func (q *Execution) EachPageURL(graph LinkGraph, pages []uint64, do func(page uint64, binding string) error) error {
	for len(pages) > 0 {
		if err := q.Check(); err != nil {
			return err
		}
		some := pages[:min(len(pages), PagesAtOnce)]
		urls, err := graph.URLs(q.Ctx, some)
		if err != nil {
			return err
		}
		if len(urls) != len(some) {
			return fmt.Errorf("%d URLs of %d pages", len(urls), len(some))
		}
		for i, url := range urls {
			if url == "" {
				continue
			}
			if err := do(some[i], solution.Encode(triple.NewIRI(url))); err != nil {
				return err
			}
		}
		pages = pages[len(some):]
	}
	return nil
}

// EachLinkList calls do with the list of each page, in order. A call of the graph has few links, unless one
// page has many; h counts these while do runs.
func (q *Execution) EachLinkList(graph LinkGraph, h *memory.Holder, pages []uint64, backward bool, do func(page uint64, list []uint64) error) error {
	for len(pages) > 0 {
		if err := q.Check(); err != nil {
			return err
		}
		// 1. Read the lists of the next pages, or of one with more links than a call should have.
		r := LinkRequest{Pages: pages[:min(len(pages), PagesAtOnce)], Backward: backward, Most: LinksAtOnce}
		lists, err := graph.Links(q.Ctx, r)
		long := 0
		if err == nil && len(lists) == 0 {
			r.Pages, r.Most = pages[:1], 0
			var degrees []int
			if degrees, err = graph.Degrees(q.Ctx, r.Pages, backward); err == nil {
				long = 2 * 8 * degrees[0]
				if err = h.Grow(long); err == nil {
					lists, err = graph.Links(q.Ctx, r)
				}
			}
		}
		if err != nil {
			return err
		}
		// 2. Use them before the next ones are read.
		for i, list := range lists {
			if err := do(pages[i], list); err != nil {
				return err
			}
		}
		h.ShrinkTo(h.Held - int64(long))
		pages = pages[len(lists):]
	}
	return nil
}
